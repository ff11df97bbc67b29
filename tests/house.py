"""How large the project is, beside what was aimed at: `python -m tests.house` in a clone. It fails for nothing."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/*", "benchmarks/tests/*")
FAMILY = ROOT / "postprocess" / "families" / "family.py"
LISTED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
FILES = [name for name in LISTED.stdout.splitlines() if (ROOT / name).is_file()]


def matching(*patterns: str, but: tuple[str, ...] = ()) -> list[str]:
    """Tracked files by patterns of their whole paths, in which `*` stands for slashes, too."""
    return [
        name
        for name in FILES
        if any(fnmatch(name, one) for one in patterns) and not any(fnmatch(name, one) for one in but)
    ]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def lines(names: Iterable[str]) -> int:
    return sum(text(name).count("\n") for name in names)


def longest(names: Iterable[str]) -> str:
    """Lines and name of the longest file."""
    count, name = max(((lines([name]), name) for name in names), default=(0, "no file"))
    return f"{count:,} ({name})"


def fields(name: str) -> int:
    """Annotated fields of a class in FAMILY."""
    tree = ast.parse(FAMILY.read_text(encoding="utf-8"))
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return sum(isinstance(node, ast.AnnAssign) for node in found.body)


def rows() -> list[tuple[str, str, str]]:
    """What is counted, what it is now, what was aimed at."""
    code = matching("*.py", "*.c", "*.h", but=("results/*",))
    of_tests = [name for name in code if any(fnmatch(name, one) for one in TESTS)]
    shown = matching("postprocess/drawing/*.py", "postprocess/families/*.py")
    curves = [name for name in shown if " ax.plot(" in text(name) or ".errorbar(" in text(name)]
    schemas = [name for name in matching("*.schema.json") if "generated" not in text(name)[:1000].lower()]
    runs = sum((ROOT / name).stat().st_size for name in matching("results/*.tar.*"))
    unpacked = sum((ROOT / name).stat().st_size for name in matching("results/example/*/*"))
    return [
        ("lines of product code: *.py, *.c, *.h", f"{lines(set(code) - set(of_tests)):,}", "72,000"),
        ("lines of tests", f"{lines(of_tests):,}", "34,000"),
        ("words of *.md", f"{sum(len(text(name).split()) for name in matching('*.md')):,}", "75,000"),
        ("tracked files", f"{len(FILES):,}", "1,300"),
        ("packed runs; runs that are folders, MB", f"{runs / 1e6:.1f}; {unpacked / 1e6:.1f}", "10; 1"),
        ("lines of JSON Schemas written by hand", f"{lines(schemas):,}", "0"),
        ("fields of Family", str(fields("Family")), "20"),
        ("longest main.c of a family, lines", longest(matching("benchmarks/*/main.c")), "200"),
        ("longest module of planning, lines", longest(matching("mpi_campaign/planning/*.py")), "300"),
        ("modules that draw curves of points", str(len(curves)), "1"),
    ]


def main() -> None:
    """Print the table."""
    table = [("", "now", "aim at most"), *rows()]
    widths = [max(len(row[column]) for row in table) for column in range(2)]
    for what, now, aim in table:
        print(f"{what:<{widths[0]}}  {now:<{widths[1]}}  {aim}")


if __name__ == "__main__":
    main()
