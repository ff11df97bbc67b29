"""The benchmarks' own unit tests under ctest: the default compiler, clang, and under the sanitizers."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.toolchains import builds, resolving
from tests.support import build_benchmarks, succeed

pytestmark = pytest.mark.slow


def pass_under_ctest(build: Path) -> None:
    ctest = str(ROOT / ".venv" / "bin" / "ctest")
    succeed(ctest, "--test-dir", str(build), "--output-on-failure", "--no-tests=error")


def test_unit_tests_under_the_sanitizers(tmp_path: Path) -> None:
    options = ("-DCAMPAIGN_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug")
    pass_under_ctest(build_benchmarks(tmp_path, resolving.DEFAULT_TOOLCHAINS[1], *options))


@pytest.mark.needs("clang")
@pytest.mark.parametrize("run", [False, pytest.param(True, marks=pytest.mark.rare)])
def test_clang_warns_of_nothing_and_its_unit_tests_pass(run: bool, tmp_path: Path) -> None:
    build = build_benchmarks(tmp_path, resolving.DEFAULT_TOOLCHAINS[1], compiler=shutil.which("clang"))
    if run:
        pass_under_ctest(build)


def test_unit_tests_of_the_default_compiler(built: Path) -> None:
    pass_under_ctest(built)


@pytest.mark.parametrize("toolchain", resolving.DEFAULT_TOOLCHAINS)
def test_the_usual_libraries_have_every_collective(build_for: Callable[[str], Path], toolchain: str) -> None:
    """These builds are those of the tests that launch ranks: they are made here, where others share the machine."""
    folder = build_for(toolchain)
    assert (folder / "nbc_overlap").is_file()
    assert all(name.startswith("MPIX_") for name in builds.missing_functions(folder))  # extensions of some libraries
