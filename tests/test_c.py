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


@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        pytest.param("clang", [], id="clang", marks=pytest.mark.needs("clang")),
        pytest.param(None, ["-DCAMPAIGN_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug"], id="sanitizers"),
    ],
)
def test_unit_tests(compiler: str | None, options: list[str], tmp_path: Path) -> None:
    path = shutil.which(compiler) if compiler else None
    pass_under_ctest(build_benchmarks(tmp_path, resolving.DEFAULT_TOOLCHAINS[1], *options, compiler=path))


def test_unit_tests_of_the_default_compiler(built: Path) -> None:
    pass_under_ctest(built)


@pytest.mark.parametrize("toolchain", resolving.DEFAULT_TOOLCHAINS)
def test_the_usual_libraries_have_every_collective(build_for: Callable[[str], Path], toolchain: str) -> None:
    """These builds are those of the tests that launch ranks: they are made here, where others share the machine."""
    folder = build_for(toolchain)
    assert (folder / "nbc_overlap").is_file()
    assert not builds.missing_functions(folder)
