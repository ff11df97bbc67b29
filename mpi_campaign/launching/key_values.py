"""The text files that our programs write and read: sizes, and delays (benchmarks/common/base/key_values.h)."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mpi_campaign.errors import CampaignError

MESSAGE, WORK, POINT, DELAY = "message", "work", "point", "delay"

# The values of a line by its key, by the names that they had in JSON.
_VALUES: Mapping[str, Sequence[str]] = {
    MESSAGE: ("target_ns", "message_bytes", "status", "time_ns"),
    WORK: ("target_ns", "work_size", "status", "time_ns"),
    POINT: ("collective", "comm_target_ns", "comp_target_ns", "message_bytes", "work_size"),
    DELAY: ("message_bytes", "partitions", "delay_ratio_millionths", "target_ns", "work_size", "time_ns"),
}
# Of each kind of file: its version in JSON, and that in lines.
_VERSIONS = {"mpi-campaign.sizes": (3, 4), "mpi-campaign.delays": (1, 2)}
_ABOUT = ("ranks", "threads_per_rank", "computation", "bandwidth")


def lines_of(path: Path) -> Mapping[str, list[list[str]]]:
    """The values of all lines, by key; a key without lines has none. Raises OSError, ValueError where it is no text."""
    lines: dict[str, list[list[str]]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        key, *values = line.partition("#")[0].split() or [""]
        lines[key].append(values)
    return lines


def from_json(path: Path) -> str:
    """The text of a file of sizes or delays which an archived run has as JSON. Raises CampaignError, OSError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        schema, version = document["schema"], document["schema_version"]
        if version != _VERSIONS[schema][0]:
            raise CampaignError(f"{path} is of {schema}, version {version}, which is no longer read")
        lines: list[Sequence[Any]] = [("schema", schema, _VERSIONS[schema][1])]
        lines += [(key, document[key]) for key in _ABOUT if key in document]
        for collective, entries in document.get("collectives", {}).items():
            lines += [(MESSAGE, collective, *(entry[name] for name in _VALUES[MESSAGE])) for entry in entries]
        for key, member in ((WORK, "work"), (POINT, "points"), (DELAY, "delays")):
            lines += [(key, *(entry[name] for name in _VALUES[key])) for entry in document.get(member, ())]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CampaignError(f"{path} is no file of sizes ({error!r})") from error
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)
