# Copyright (c) 2026, the maintainers of the MPI overlap campaign
#
# SPDX-License-Identifier: BSD-3-Clause

import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import (
    Executable,
    InstallError,
    check_outputs,
    conflicts,
    depends_on,
    join_path,
    license,
    requires,
    run_after,
    version,
)


class MpiOverlapBenchmarks(CMakePackage):
    """Measures how MPI libraries overlap nonblocking collectives with computation.

    The programs of the MPI overlap campaign, such as nbc_overlap and hybrid. Each writes one
    record, which the campaign archives and analyses. With them comes the C library
    hybrid_collectives for applications: collectives that keep one copy of the data per node.
    """

    # The clone that has this recipe, because no release is public yet. The first release puts its
    # address here, and a version with its tag and commit below main; no other file names them.
    # The campaign's spack.yaml builds the sources of the clone as they are (develop:) anyway.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))
    homepage = git

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("mpi@3:")
    depends_on("blas")

    # All OpenMP threads call BLAS at the same time.
    requires("^openblas+locking", when="^[virtuals=blas] openblas")
    conflicts("^[virtuals=blas] intel-oneapi-mkl", msg="MKL has no cblas.h: use openblas")

    # The list of programs that CMake builds, one per line.
    programs = "share/mpi_campaign_benchmarks/programs.txt"
    # What an application needs of the library, wherever it lies below the prefix.
    library = (
        "hybrid_collectives.h",
        "libhybrid_collectives.a",
        "libhybrid_collectives_checked.a",
        "hybrid_collectives.pc",
        "hybrid_collectives_checked.pc",
        "hybrid_collectives-config.cmake",
        "hybrid_collectives-config-version.cmake",
        "hybrid_collectives-targets.cmake",
    )
    sanity_check_is_file = [programs]

    @run_after("install")
    def all_is_there(self):
        with open(join_path(self.prefix, self.programs)) as listed:
            names = listed.read().split()
        lacking = [name for name in names if not os.path.isfile(join_path(self.prefix.bin, name))]
        there = {name for _, _, files in os.walk(self.prefix) for name in files}
        lacking += [name for name in self.library if name not in there]
        if lacking:
            raise InstallError(f"not installed: {', '.join(lacking)}")

    @property
    def root_cmakelists_dir(self):
        """The folder of CMakeLists.txt. The source is the benchmarks' folder where `develop:`
        names it, and the whole clone where a version was fetched."""
        is_clone = os.path.isdir(os.path.join(self.stage.source_path, "benchmarks"))
        return "benchmarks" if is_clone else "."

    def cmake_args(self):
        return [
            self.define("CAMPAIGN_TESTS", self.run_tests),
            self.define("CAMPAIGN_WERROR", False),  # untested compilers may warn
            self.define("BLAS_ROOT", self.spec["blas"].prefix),
            self.define("MPI_C_COMPILER", self.mpi_program("mpicc")),
        ]

    def mpi_program(self, name):
        """The path of `mpicc` or `mpiexec` of the MPI library. Debian keeps several libraries in
        one prefix (mpicc.openmpi, mpicc.mpich); other names, such as MadMPI's mpicc.madmpi, are
        those of the library's recipe."""
        mpi = self.spec["mpi"]
        folder, compiler_name = os.path.split(mpi.mpicc)
        usual = join_path(folder, name)
        paths = (f"{usual}.{mpi.name}", join_path(folder, compiler_name.replace("mpicc", name)))
        return next((path for path in paths if os.path.isfile(path)), usual)

    def launch(self, program, *options):
        """Run a program with two ranks, not bound to cores. Returns its output."""
        launcher = Executable(self.mpi_program("mpiexec"))
        if self.spec.satisfies("^[virtuals=mpi] openmpi"):
            launcher.add_default_env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            launcher.add_default_env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            launcher.add_default_arg("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
        launcher.add_default_env("OMP_NUM_THREADS", "1")
        path = join_path(self.prefix.bin, program)
        return launcher("-n", "2", path, *options, output=str.split, error=str.split)

    def test_nbc_overlap(self):
        """two ranks measure a collective and check what they receive"""
        grid = ("--comm-times", "1ms", "--comp-times", "1ms", "--max-repetitions", "9")
        out = self.launch("nbc_overlap", "--collective", "ialltoall", *grid)
        check_outputs([r"r_overhead", r"ialltoall +1 +1 +\d+"], out)

    def test_timing_selfcheck(self):
        """two ranks say how well they can start together"""
        few = ("--only", "clock,start", "--hold", "0.2", "--starts", "20", "--threads", "1")
        check_outputs([r"2 ranks", r"clock", r"start"], self.launch("timing_selfcheck", *few))
