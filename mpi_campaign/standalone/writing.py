"""Writes a case as a folder that stands alone: `reproducer.c`, `run.sh` and `README.md`."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2

from mpi_campaign.archive.run_folders import REPRODUCER, RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching.wire import (
    BY_PORTS,
    CONGESTION_CONTROL,
    HEADERS_BYTES,
    LONGEST_MTU,
    QUEUE_PACKETS,
    USUAL_SOCKET_BYTES,
    buffers_words,
)
from mpi_campaign.libraries.launchers.rank_variables import LOCAL_RANKS, TOLD_TO_RANKS
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.registry import LIBRARIES, UNKNOWN
from mpi_campaign.libraries.settings import Request
from mpi_campaign.networks import rates
from mpi_campaign.standalone.choosing import WARM_UP, Case, Interval, Shown
from postprocess.drawing.text import clean, duration_and_interval, plural, ratio
from postprocess.records.fields import Json
from postprocess.records.header import Header, kind_of, version_in_short

TEMPLATES = Path(__file__).parent / "templates"
SOURCE, SCRIPT, README = "reproducer.c", "run.sh", "README.md"
MOST_CPUS = 64
_PREFIX = "$prefix"
"""In the script, where the library is installed."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)


def write(shown: Shown, folder: RunFolder, manifest: Json, target: Path) -> list[Path]:
    """Write a point of a case into a new or empty folder; returns the files. Raises CampaignError."""
    program, case = shown.program, shown.case
    good = "above" if program.larger_is_better else "below"
    facts = {
        **_shared(case, folder, manifest, _results(shown)),
        "better": _side(shown.against[0]) if shown.against else None,
        "by_time": shown.by_time,
        "part": program.part,
        **shown.values,
        "question": _of_comment(shown.values["question"]),
        "formula": program.formula,
        "passes": "it ends" if shown.hang else f"{program.metric} is {good} {shown.bound}",
        "hang": bool(shown.hang),
        "metric": program.metric,
        "bound": shown.bound,
        "compared": ">" if program.larger_is_better else "<",
        "found": _of_comment(f"{_found(shown)}, with {case.name}, in {folder.run}"),
        "cpus": (cpus := list(_cpus(case.header))),
        "most_cpus": max(map(len, cpus)),
        "local_ranks": LOCAL_RANKS,
        "repetitions": shown.repetitions,
        "warm_up": WARM_UP,
    }
    return _write(facts, _ENVIRONMENT.get_template(program.template).render(facts), target)


def source_of_wrong_data(case: Case, folder: RunFolder) -> str:
    """The program that a benchmark wrote when it found wrong data; empty where it wrote none."""
    logs = (folder.path / "logs" / f"{Path(str(launch['record'])).stem}.{REPRODUCER}" for launch in case.launches)
    return next((path.read_text(encoding="utf-8") for path in logs if path.is_file()), "")


def write_wrong_data(case: Case, source: str, folder: RunFolder, manifest: Json, target: Path) -> list[Path]:
    """Write such a program into a new or empty folder; returns the files. Raises CampaignError."""
    reason = next((str(launch["reason"]) for launch in case.launches if launch.get("reason")), "wrong data")
    facts = {
        **_shared(case, folder, manifest, {"found": reason}),
        "question": "Are the data there when MPI says so?",
        "formula": "Every word that is received is compared with the one that was sent.",
        "passes": "all data are right",
        "better": None,
        "by_time": False,
        "hang": False,
        "repetitions": 0,
    }
    return _write(facts, source, target)


def _write(facts: Mapping[str, Any], source: str, target: Path) -> list[Path]:
    texts = {
        SOURCE: source,
        SCRIPT: _ENVIRONMENT.get_template(f"{SCRIPT}.j2").render(facts),
        README: _ENVIRONMENT.get_template(f"{README}.j2").render(facts),
    }
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise CampaignError(f"{target} is not empty: give a new folder")
        for name, text in texts.items():
            (target / name).write_text(text, encoding="utf-8")
        (target / SCRIPT).chmod(0o755)
    except OSError as error:
        raise CampaignError(f"{target} cannot be written ({error.strerror}): give another folder") from error
    return [target / name for name in texts]


def _shared(case: Case, folder: RunFolder, manifest: Json, results: Mapping[str, str]) -> dict[str, Any]:
    """The values of the script and of the README."""
    header = case.header
    return {
        "library": _of_comment(version_in_short(header.mpi_library_version) or header.toolchain),
        "ranks": header.ranks,
        "nodes": header.nodes,
        "own": _side(header),
        "wire": _wire(header),
        "facts": list(_table(case, results, folder, manifest)),
    }


def _of_comment(text: str) -> str:
    """A text from an archive, which may be anybody's, so that it does not end a comment."""
    return clean(text).replace("*/", "* /")


def _cpus(header: Header) -> Iterator[list[int]]:
    """The CPUs of each rank of the first node. Of more than MOST_CPUS the last ones are left out."""
    for place in header.placement:
        if place.node == 0:
            ends = [list(map(int, part.split("-"))) for part in re.findall(r"\d{1,5}(?:-\d{1,5})?", place.cpuset)]
            yield [cpu for part in ends for cpu in range(part[0], part[-1] + 1)][:MOST_CPUS] or [0]


def _side(header: Header) -> dict[str, list[tuple[str, str]]]:
    """What a library is told: `variables`, and `of_prefix`, which hang on where it is installed."""
    name, _, version = header.toolchain.partition("@")
    library = LIBRARIES.get(name, UNKNOWN)
    request = Request(Path(_PREFIX), version, "basic", "native", Placement(header.ranks, 1, 1))
    prefix = f"{header.metadata.get('prefix') or '/nowhere'}/"
    recorded = {
        name: value.replace(prefix, f"{_PREFIX}/")
        for name, value in header.environment.items()
        if value.startswith(prefix)
    }
    of_prefix = {**recorded, **library.always(request).env}
    return {
        "variables": list(_variables(header)),
        "of_prefix": [(name, value) for name, value in of_prefix.items() if _is_of_prefix(name, value)],
    }


def _is_of_prefix(name: str, value: str) -> bool:
    """Whether a variable hangs on the prefix, in plain words: those of an archive may be anybody's."""
    return bool(_NAME.fullmatch(name) and value.startswith(_PREFIX) and re.fullmatch(r"\$prefix[\w./:$-]*", value))


def _variables(header: Header) -> Iterator[tuple[str, str]]:
    """The environment of the library, for a shell. Folders of the machine and what a launcher tells its ranks are left
    out."""
    library = LIBRARIES.get(header.toolchain.partition("@")[0], UNKNOWN)
    own = {name: value for name, value in header.environment.items() if not value.startswith("/")}
    for name, value in sorted({**own, **library.as_root}.items()):
        if _NAME.fullmatch(name) and not TOLD_TO_RANKS.search(name):
            yield name, shlex.quote(clean(value))


def _wire(header: Header) -> Mapping[str, Any] | None:
    """The wire of a case; None where its network was none."""
    if kind_of(header.network) != "wire":
        return None
    rate = header.network.split(":")[1]
    try:
        packet = rates.packet_bytes(rate)
    except ValueError as error:
        raise CampaignError(f"network {clean(header.network)}: {error}") from error
    return {
        "rate": rate,
        "mtu": min(packet, LONGEST_MTU),
        "segment": packet + HEADERS_BYTES,
        "burst": rates.burst_bytes(rate),
        "control": CONGESTION_CONTROL,
        "queue": QUEUE_PACKETS,
        "buffers": buffers_words(USUAL_SOCKET_BYTES),
        "directions": f"{len(BY_PORTS)}," + ",".join(" ".join(map(str, one)) for one in BY_PORTS),
    }


def _interval(one: Interval) -> str:
    return f"{ratio(one.value)} [{ratio(one.low)}, {ratio(one.high)}]"


def _found(shown: Shown) -> str:
    return f"it hung in {shown.hang}" if shown.hang else f"{shown.program.metric} {_interval(shown.measured)}"


def _results(shown: Shown) -> dict[str, str]:
    """The ratio that was measured, and that of the other library; or where it hung."""
    if shown.hang:
        return {"found": _found(shown)}
    metric, measured = shown.program.metric, shown.measured
    alike, points = shown.alike
    results = {
        metric: f"{_interval(measured)}, 95 %, {plural(measured.launches, 'launch')}: {shown.expected}",
        "points": f"{alike} of {points} do so; this is the clearest",
    }
    if shown.against is not None:
        header, its = shown.against
        head, value, between = f"{metric} of {header.toolchain}", _interval(its), "both"
        if shown.by_time:
            head, between = f"time with {header.toolchain}", f"1 and {ratio(measured.value)}"
            value = duration_and_interval(its.value, its.low, its.high)
        results[head] = f"{value}, {plural(its.launches, 'launch')}; the bound is in the middle between {between}"
    return results


def _table(case: Case, results: Mapping[str, str], folder: RunFolder, manifest: Json) -> Iterator[tuple[str, str]]:
    """What must be known of the numbers, for Markdown."""
    header, host, campaign = case.header, manifest.get("host", {}), manifest.get("campaign", {})
    beside = ", which share their cores with progress threads" if header.shared_core else ""
    rows = {
        "case": case.name,
        **results,
        "ranks": f"{header.ranks} on {plural(header.nodes, 'node')}{beside}",
        "library": version_in_short(header.mpi_library_version),
        "machine": f"{host.get('cpu')}, {plural(int(host.get('cores') or 0), 'core')}, {host.get('os')}, Linux "
        f"{host.get('kernel')}",
        "measured": f"{header.started_utc}, run {folder.run}, campaign at commit {str(campaign.get('commit'))[:12]}",
    }
    for head, text in rows.items():
        yield clean(head), clean(text).replace("|", "\\|")
