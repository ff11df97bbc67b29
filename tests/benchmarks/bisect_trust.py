"""How `campaign bisect` does with a repository of 1,000 commits: by real builds and launches.

    .venv/bin/python -m tests.benchmarks.bisect_trust [--planted 20] [--two 2] [--none 20] [--seed 1] --output FOLDER

Each search has a repository of its own. Its commits are layers over an MPI library, in which MPI_Wait takes longer than
it needs: not at first, and by 10 % more from each planted commit on. One commit in twenty does not build.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from mpi_campaign import ROOT
from mpi_campaign.errors import EXIT_FAILED, EXIT_GOOD
from mpi_campaign.toolchains import resolving
from postprocess.drawing.columns import aligned
from tests.support import SLOW_WAIT

COMMITS = 1000
SLOWER = 0.10
BROKEN = 0.05
MOST_BUILDS = 12
BROKEN_LAYER = "#error of this commit\n"
BUILD = """set -e
cp -as "$REAL"/. "$1"
git show "$2:layer.c" >"$1/layer.c"
"$REAL/bin/mpicc" -shared -fPIC "-DSLOWER=$(git show "$2:slower")" "$1/layer.c" -o "$1/layer.so"
rm "$1/bin/mpiexec"
printf '#!/bin/sh\\nLD_PRELOAD=%s exec %s/bin/mpiexec "$@"\\n' "$1/layer.so" "$REAL" >"$1/bin/mpiexec"
chmod +x "$1/bin/mpiexec"
"""
ASKED = (
    "--configuration", "basic", "--collective", "ibcast", "--comm-time", "4ms", "--comp-time", "4ms", "--minutes", "2",
)  # fmt: skip


def make_repository(place: Path, planted: Sequence[int], broken: Sequence[int]) -> None:
    """A repository whose commit `n` has the tag `c<n>`."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", place], check=True)

    def stream() -> Iterator[str]:
        for number in range(COMMITS):
            slower = SLOWER * sum(number >= first for first in planted)
            files = {
                "layer.c": BROKEN_LAYER if number in broken else SLOW_WAIT,
                "slower": f"{slower}",
                "number": f"{number}",
            }
            yield "commit refs/heads/main\n"
            yield f"mark :{number + 1}\ncommitter nobody <nobody@example.org> {1_700_000_000 + number} +0000\ndata 0\n"
            for name, text in files.items():
                yield f"M 644 inline {name}\ndata {len(text)}\n{text}\n"
            yield f"reset refs/tags/c{number}\nfrom :{number + 1}\n\n"

    subprocess.run(["git", "-C", place, "fast-import", "--quiet"], input="".join(stream()), text=True, check=True)


def searched(place: Path, toolchain: str, planted: Sequence[int], seed: int) -> Mapping[str, object]:
    """What a search in a repository of its own finds."""
    place.mkdir(parents=True)
    inner = [number for number in range(1, COMMITS - 1) if number not in planted]
    make_repository(place / "repository", planted, Random(seed).sample(inner, int(BROKEN * COMMITS)))
    (place / "build.sh").write_text(BUILD)
    real = resolving.resolve(resolving.parse(toolchain), lambda *_: None).prefix
    build = f"REAL={real} sh {place / 'build.sh'} {{prefix}} {{revision}}"
    done = subprocess.run(
        [
            sys.executable, "-m", "mpi_campaign", "bisect", "c0", f"c{COMMITS - 1}", "--library",
            toolchain.partition("@")[0], "--build", build, "--repository", place / "repository", *ASKED, "--json",
            "--output", place / "archive",
        ],
        cwd=ROOT, text=True, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode not in (EXIT_GOOD, EXIT_FAILED):
        raise SystemExit(f"{place}: {done.stderr}")
    answer: Mapping[str, object] = json.loads(done.stdout)
    return answer


def commit(place: Path, revision: object) -> int | None:
    """The number of a commit; None of none."""
    words = ["git", "-C", str(place / "repository"), "show", f"{revision}:number"]
    return int(subprocess.run(words, check=True, text=True, capture_output=True).stdout) if revision else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planted", type=int, default=20)
    parser.add_argument("--two", type=int, default=2)
    parser.add_argument("--none", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--toolchain", default=resolving.DEFAULT_TOOLCHAINS[1])
    parser.add_argument("--output", type=Path, required=True)
    asked = parser.parse_args()
    random = Random(asked.seed)
    kinds = [number for number, times in enumerate((asked.none, asked.planted, asked.two)) for _ in range(times)]
    random.shuffle(kinds)
    rows, right = [], 0
    for search, count in enumerate(kinds):
        planted = sorted(random.sample(range(1, COMMITS), count))
        place, began = asked.output.resolve() / str(search), time.monotonic()
        answer = searched(place, asked.toolchain, planted, search)
        found = commit(place, answer["first_bad"])
        is_right = found == (planted[0] if planted else None) and (answer["rest"] is not None) == (count > 1)
        right += is_right
        said = f"{found or answer['why_none']}{' or one that does not build' * bool(answer['between'])}"
        row = [
            str(search), ", ".join(map(str, planted)) or "none", said,
            "" if answer["rest"] is None else "and another", "right" if is_right else "wrong",
            str(answer["had"]), str(answer["launches"]), f"{time.monotonic() - began:.0f}",
        ]  # fmt: skip
        rows.append(row)
        print(*filter(None, row), flush=True)
    most = max((int(row[5]) for row in rows), default=0)
    print(aligned(["search", "planted", "found", "", "", "built", "launches", "s"], rows, right={5, 6, 7}))
    print(f"{right} of {len(rows)} right; at most {most} built (aim {MOST_BUILDS})")


if __name__ == "__main__":
    main()
