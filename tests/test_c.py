"""The benchmarks' own unit tests under ctest: gcc or the default compiler, clang, and under the sanitizers."""

import shutil
import subprocess
from pathlib import Path

import pytest
import scipy_openblas32

from mpi_campaign import ROOT, machine, toolchains

pytestmark = pytest.mark.slow

CMAKE = str(ROOT / ".venv" / "bin" / "cmake")
CTEST = str(ROOT / ".venv" / "bin" / "ctest")


def run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        pytest.param("default", [], id="default-compiler"),
        pytest.param("clang", [], id="clang", marks=pytest.mark.needs("clang")),
        pytest.param("default", ["-DCAMPAIGN_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug"], id="sanitizers"),
    ],
)
def test_unit_tests(compiler: str, options: list[str], tmp_path: Path) -> None:
    mpi = toolchains.resolve(toolchains.parse(toolchains.DEFAULT_TOOLCHAINS[1]), print)
    path = str(machine.compiler()) if compiler == "default" else str(shutil.which(compiler))
    ninja = ROOT / ".venv" / "bin" / "ninja"
    where = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", "-S", str(ROOT / "benchmarks"), "-B", str(tmp_path)]
    what = [f"-DCMAKE_C_COMPILER={path}", f"-DMPI_C_COMPILER={mpi.mpicc}"]
    run(CMAKE, *where, *what, f"-DBLAS_ROOT={Path(scipy_openblas32.__file__).parent}", *options)
    run(CMAKE, "--build", str(tmp_path))
    run(CTEST, "--test-dir", str(tmp_path), "--output-on-failure", "--no-tests=error")
