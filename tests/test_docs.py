"""The pages: every link leads to a page and a heading that are there, also the pages that code and messages name."""

import re
import subprocess
from pathlib import Path

import pytest

from mpi_campaign import ROOT

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
