"""The benchmarks' own unit tests under ctest: the default compiler, clang, and under the sanitizers."""

import shutil
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.toolchains import resolving
from tests.support import build_benchmarks, succeed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        pytest.param(None, [], id="default-compiler"),
        pytest.param("clang", [], id="clang", marks=pytest.mark.needs("clang")),
        pytest.param(None, ["-DCAMPAIGN_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug"], id="sanitizers"),
    ],
)
def test_unit_tests(compiler: str | None, options: list[str], tmp_path: Path) -> None:
    path = shutil.which(compiler) if compiler else None
    build_benchmarks(tmp_path, resolving.DEFAULT_TOOLCHAINS[1], *options, compiler=path)
    ctest = str(ROOT / ".venv" / "bin" / "ctest")
    succeed(ctest, "--test-dir", str(tmp_path), "--output-on-failure", "--no-tests=error")
