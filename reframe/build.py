"""The build of the benchmarks: a fixture of every test that measures."""

import shlex
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function

from mpi_campaign.children import environ
from mpi_campaign.libraries import launch_environment
from mpi_campaign.libraries.settings import Settings
from mpi_campaign.systems import site
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds
from mpi_campaign.toolchains.spack import installed, provider
from mpi_campaign.toolchains.spack.build import Build


class BuildBenchmarks(rfm.CompileOnlyRegressionTest):
    """The one CMake project, built once per environment, in a folder that stays: a second run compiles nothing.

    With toolchains of Spack's it is Spack that builds it, and the MPI library where that is no external.
    """

    descr = "build the benchmarks"
    build_system: Any = "CMake"  # ReFrame makes an object of it
    sourcesdir = None
    build_time_limit = "10m"

    @property
    def programs(self) -> Path:
        """The folder that they are in when they have been built."""
        return Path(self.current_environ.extras["programs"])

    @run_after("setup")
    def choose_build_system(self) -> None:
        extras = self.current_environ.extras
        if extras["spack"] is None:
            return
        self.made_by = Build.from_json(extras["spack"])
        self.build_time_limit = "12h"  # of an MPI library and all below it
        self.fingerprint = builds.fingerprint()  # before they are read: what changes meanwhile is built the next time
        self.to_install = installed.to_install(self.made_by, self.fingerprint)
        self.build_system = "Spack" if self.to_install else "CustomBuild"

    @run_before("compile")
    def configure(self) -> None:
        if self.current_environ.extras["spack"] is None:
            self.configure_cmake()
        elif self.to_install:
            self.configure_spack()
        else:
            self.build_system.commands = ["echo nothing has changed since Spack built it"]

    def configure_spack(self) -> None:
        """From the lock only. What other benchmarks lack, a source that no network brings, is no fault of ours."""
        build = self.made_by
        ours, *peers = self.to_install
        jobs = f"-j{machine.cores().physical}"
        spack = shlex.quote(build.spack_executable)
        notes = {one: shlex.quote(str(installed.note(one, prefix))) for one, prefix in build.prefixes.items()}
        left = f"{shlex.quote(str(builds.SOURCES))}/build-*-{ours[:7]}"  # objects of sources that were newer then
        self.prebuild_cmds = [
            *environ.script(environ.SPACK, site.exported(self), provider.install_variables(build)),
            f'spack() {{ {spack} --color=never "$@"; }}',
            f'for old in {left}; do if [ -L "$old" ]; then rm -rf "$(readlink -f "$old")" "$old"; fi; done',
            f"mkdir -p {shlex.quote(str(installed.note(ours, build.prefix).parent))}; rm -f {notes[ours]}",
        ]
        self.build_system.environment = build.environment
        # A cached build of ours has the hash of these sources, whatever they were when it was built.
        # One that is there is of other sources; Spack would go by the time that files were last written.
        changed = not installed.is_built(build, self.fingerprint)
        again = ["--overwrite", "-y"] if changed and Path(build.prefix).is_dir() else []
        options = [jobs, "--only-concrete", "--use-buildcache=package:never,dependencies:auto", *again]
        self.build_system.install_opts = [*options, f"/{ours}"]
        install = f"spack -e {build.environment} install {jobs} --only-concrete"
        logs = {one: shlex.quote(str(installed.log(one, prefix))) for one, prefix in build.prefixes.items()}
        self.postbuild_cmds = [
            f"echo {self.fingerprint} > {notes[ours]}",
            *(
                f"{install} /{one} > {logs[one]} 2>&1 && said={installed.INSTALLED} || said={installed.FAILED}; "
                f"cat {logs[one]}; echo $said > {notes[one]}"
                for one in peers
            ),
        ]

    def configure_cmake(self) -> None:
        """By hand, with the toolchain's mpicc."""
        extras = self.current_environ.extras
        self.made_from = builds.made_from(extras["mpicc"])
        if not self.is_dry_run():
            (self.programs / builds.BUILT).unlink(missing_ok=True)  # until all of them are built again
            builds.note_let_in(self.programs)
        self.build_system.builddir = shlex.quote(str(self.programs))
        self.build_system.configuredir = shlex.quote(str(builds.SOURCES))
        self.build_system.flags_from_environ = False
        self.build_system.max_concurrency = None
        self.build_system.config_opts = [
            shlex.quote(option) for option in (*builds.anew(self.programs), *builds.options(extras["mpicc"]))
        ]
        wrapper = builds.environment(extras["family"], extras["version"], extras["prefix"])
        inside = site.let_into(self.current_partition)
        own = launch_environment.own_libraries(Path(extras["prefix"]), Settings(wrapper))
        variables = environ.added(environ.BUILD, wrapper, inside=inside, libraries=own)
        self.prebuild_cmds = environ.script(environ.BUILD, site.exported(self), variables)

    @run_after("compile")
    def note_built(self) -> None:
        if self.current_environ.extras["spack"] is None and not self.is_dry_run():
            builds.note_built(self.programs, self.made_from)

    @sanity_function
    def executables_exist(self) -> Any:
        return sn.assert_true(builds.are_there(self.programs), f"not all programs of {builds.PROGRAMS} were built")
