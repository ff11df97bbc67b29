"""The code as its linters and type checker see it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mpi_campaign import ROOT


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (".", "ruff check ."),
        (".", "ruff format --check ."),
        (".", "mypy"),
        ("reframe", "mypy --config-file mypy.ini"),
        (
            "benchmarks/spack_repo",
            "ruff check --isolated --line-length 99 --select E,F,W .",
        ),  # as `spack style` wants it
        ("benchmarks/spack_repo", "ruff format --isolated --line-length 99 --check ."),
    ],
)
def test_clean(folder: str, words: str) -> None:
    command = [sys.executable, "-m", *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / folder, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_c_sources_are_formatted() -> None:
    """As `.clang-format` says. Folders in which Spack builds are not ours."""
    sources = ROOT / "benchmarks"
    own = [path for path in sources.iterdir() if not path.name.startswith(("build-", "spack-build-"))]
    files = sorted(str(path) for folder in own for path in folder.rglob("*.[ch]"))
    command = [str(Path(sys.executable).parent / "clang-format"), "--dry-run", "--Werror", *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


# -- pages -------------------------------------------------------------------------------------------------------------


FILES = subprocess.run(
    ["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, cwd=ROOT, check=True
).stdout.splitlines()
PAGES = [name for name in FILES if name.endswith(".md") and (ROOT / name).is_file()]
CODE = [
    name for name in FILES if name.endswith((".py", ".c", ".h", ".j2", ".yaml", ".toml")) and (ROOT / name).is_file()
]


def prose(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def headings(page: Path) -> set[str]:
    """Of a page, as the anchors that GitHub makes of them."""
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", prose(page), re.M))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link


def test_pages_that_code_names_are_there() -> None:
    named = {
        (name, page) for name in CODE for page in re.findall(r"docs/[\w/-]+\.md", (ROOT / name).read_text("utf-8"))
    }
    assert not [one for one in named if not (ROOT / one[1]).is_file()]
