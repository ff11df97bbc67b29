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
    """The CMake project, built once per environment in a folder that stays: a second run compiles nothing. For
    toolchains by Spack, Spack builds the project, and the MPI library unless it is an external."""

    descr = "build the benchmarks"
    build_system: Any = "CMake"  # ReFrame makes an object of it
    sourcesdir = None
    build_time_limit = "10m"
    #: Why nothing is built; empty where something is, or may be.
    why_no_build = ""

    @property
    def programs(self) -> Path:
        """The folder that has the programs after the build."""
        return Path(self.current_environ.extras["programs"])

    @run_after("setup")
    def choose_build_system(self) -> None:
        extras = self.current_environ.extras
        if site.is_in_job():  # its nodes may lack a compiler
            self.why_no_build = "it was built before the job was submitted"
        elif extras["spack"] is None:
            names = site.needed_programs()
            if extras["provider"] == "wheels" and builds.is_built(self.programs, extras["mpicc"], names):
                self.why_no_build = "nothing has changed since it was built"
        else:
            self.made_by = Build.from_json(extras["spack"])
            self.build_time_limit = "12h"  # enough for an MPI library and all that it depends on
            self.fingerprint = builds.fingerprint()  # before the build: later changes are built the next time
            self.to_install = installed.to_install(self.made_by, self.fingerprint)
            self.build_system = "Spack"
            if not self.to_install:
                self.why_no_build = "nothing has changed since Spack built it"
        if self.why_no_build:
            self.build_system = "CustomBuild"

    @run_before("compile")
    def configure(self) -> None:
        if self.why_no_build:
            self.build_system.commands = [f"echo {self.why_no_build}"]
        elif self.current_environ.extras["spack"] is None:
            self.configure_cmake()
        else:
            self.configure_spack()

    def configure_spack(self) -> None:
        """Install from the lock only. What other benchmarks lack, such as a source without a network, fails nothing."""
        build = self.made_by
        ours, *peers = self.to_install
        jobs = f"-j{machine.cores().physical}"
        spack = shlex.quote(build.spack_executable)
        notes = {digest: shlex.quote(str(installed.note(digest, prefix))) for digest, prefix in build.prefixes.items()}
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
        logs = {digest: shlex.quote(str(installed.log(digest, prefix))) for digest, prefix in build.prefixes.items()}
        self.postbuild_cmds = [
            f"echo {self.fingerprint} > {notes[ours]}",
            *(
                f"{install} /{digest} > {logs[digest]} 2>&1 && said={installed.INSTALLED} || said={installed.FAILED}; "
                f"cat {logs[digest]}; echo $said > {notes[digest]}"
                for digest in peers
            ),
        ]

    def configure_cmake(self) -> None:
        """By hand, with the toolchain's mpicc."""
        extras = self.current_environ.extras
        self.made_from = builds.made_from(extras["mpicc"])
        if not self.is_dry_run():
            if builds.built(self.programs)[:1] != [self.made_from]:
                (self.programs / builds.BUILT).unlink(missing_ok=True)  # until some of them are built again
            builds.note_requested(self.programs)
        self.build_system.make_opts = site.needed_programs()
        self.build_system.builddir = shlex.quote(str(self.programs))
        self.build_system.configuredir = shlex.quote(str(builds.SOURCES))
        self.build_system.flags_from_environ = False
        self.build_system.max_concurrency = None
        self.build_system.config_opts = [
            shlex.quote(option) for option in (*builds.anew(self.programs), *builds.options(extras["mpicc"]))
        ]
        wrapper = builds.environment(extras["family"], extras["version"], extras["prefix"])
        inside = site.let_into(self.current_partition)
        libraries = launch_environment.own_libraries(Path(extras["prefix"]), Settings(wrapper))
        variables = environ.added(environ.BUILD, wrapper, inside=inside, libraries=libraries)
        self.prebuild_cmds = environ.script(environ.BUILD, site.exported(self), variables)

    @run_after("compile")
    def note_built(self) -> None:
        if self.current_environ.extras["spack"] is None and not self.is_dry_run() and not self.why_no_build:
            builds.note_built(self.programs, self.made_from, site.needed_programs())

    @sanity_function
    def executables_exist(self) -> Any:
        names = [] if self.current_environ.extras["spack"] is not None else site.needed_programs()
        lacks = f"not all programs of {site.NEEDED if names else builds.PROGRAMS} were built"
        return sn.assert_true(builds.are_there(self.programs, names), lacks)
