"""The benchmarks' own unit tests under ctest: the default compiler, clang, and under the sanitizers."""

import json
import shlex
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds, resolving
from tests.support import build_benchmarks, succeed

pytestmark = pytest.mark.slow


def pass_under_ctest(build: Path) -> None:
    ctest = str(ROOT / ".venv" / "bin" / "ctest")
    succeed(ctest, "--test-dir", str(build), "--output-on-failure", "--no-tests=error")


def test_unit_tests_under_the_sanitizers(tmp_path: Path) -> None:
    options = ("-DCAMPAIGN_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug")
    pass_under_ctest(build_benchmarks(tmp_path, resolving.DEFAULT_TOOLCHAINS[1], *options, target="unit_tests"))


def compile_lines(build: Path) -> list[list[str]]:
    """How a build folder compiles each source, one way of each, without an output."""
    entries = json.loads((build / "compile_commands.json").read_text())
    lines = {entry["file"]: shlex.split(entry["command"]) for entry in entries}
    return [[*line[: line.index("-o")], "-c", file] for file, line in lines.items()]


@pytest.mark.needs("clang")
def test_clang_warns_of_nothing(tmp_path: Path) -> None:
    """It only looks at the sources: it finds what it warns of before it would generate code."""
    export = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    build = build_benchmarks(
        tmp_path, resolving.DEFAULT_TOOLCHAINS[1], export, compiler=shutil.which("clang"), target="build_info"
    )
    lines = compile_lines(build)
    assert {path.name for path in (ROOT / "benchmarks").rglob("*.c")} <= {Path(line[-1]).name for line in lines}
    with ThreadPoolExecutor(machine.cores().physical) as pool:
        for _ in pool.map(lambda line: succeed(*line, "-fsyntax-only", "-Werror"), lines):
            pass


@pytest.mark.rare
@pytest.mark.needs("clang")
def test_unit_tests_as_clang_builds_them(tmp_path: Path) -> None:
    clang = shutil.which("clang")
    pass_under_ctest(build_benchmarks(tmp_path, resolving.DEFAULT_TOOLCHAINS[1], compiler=clang, target="unit_tests"))


def test_unit_tests_of_the_default_compiler(built: Path) -> None:
    pass_under_ctest(built)


@pytest.mark.parametrize("toolchain", resolving.DEFAULT_TOOLCHAINS)
def test_the_usual_libraries_have_every_collective(build_for: Callable[[str], Path], toolchain: str) -> None:
    """These builds are those of the tests that launch ranks: they are made here, where others share the machine."""
    folder = build_for(toolchain)
    assert (folder / "nbc_overlap").is_file()
    assert all(name.startswith("MPIX_") for name in builds.missing_functions(folder))  # extensions of some libraries
