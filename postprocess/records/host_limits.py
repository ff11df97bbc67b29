"""What a manifest says that a run could use of its host: which limits two runs can be compared by, and in which words.

Manifests of older runs say nothing of it: what only one of two manifests tells is not known to be another.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from postprocess.drawing.text import size

FREE_SHM = "shm_free_bytes"
"""How much was free when a run began: another number every time, which says nothing of the machine."""
NAMES = (
    "cgroup_cpus", "memory_limit_bytes", "shm_bytes", FREE_SHM, "allowed_cpus", "cpuset_cpus", "online_cpus",
    "offline_cpus", "smt", "core_speeds",
)  # fmt: skip
"""Keys of a manifest's host, as `mpi_campaign.this_machine.host` writes them; null: none, or not visible."""
COMPARED = tuple(name for name in NAMES if name != FREE_SHM)


def value_words(value: object) -> str:
    """A value of a manifest's host as a person reads it."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def known_in_both(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Two hosts of manifests without what cannot be compared: free bytes, and limits that only one of them tells."""
    left_out = {name for name in NAMES if name == FREE_SHM or name not in before or name not in after}
    kept_before, kept_after = (
        {name: value_words(value) for name, value in host.items() if name not in left_out} for host in (before, after)
    )
    return kept_before, kept_after


def limits_words(host: Mapping[str, Any]) -> str:
    """The limits of a manifest's host in a line; empty where it tells none, as an older one does."""
    if not any(name in host for name in COMPARED):
        return ""
    cpus, memory, shm = host.get("cgroup_cpus"), host.get("memory_limit_bytes"), host.get("shm_bytes")
    cores = "" if cpus is None else f" core{'s' * (cpus != 1)}"
    online = f" of {host['online_cpus']}" if host.get("online_cpus") else ""
    parts = [
        f"CPU limit {value_words(cpus)}{cores}",
        f"memory limit {_bytes(memory)}",
        f"/dev/shm {_bytes(shm)}",
        f"CPUs {value_words(host.get('allowed_cpus'))}{online}",
    ]
    if host.get("offline_cpus"):
        parts.append(f"offline {host['offline_cpus']}")
    if host.get("core_speeds"):
        parts.append(f"speeds {host['core_speeds']}")
    return ", ".join(parts)


def _bytes(value: object) -> str:
    return size(float(value)) if isinstance(value, int | float) else "none"


def is_starved(cgroup_cpus: float | None, cores: int) -> bool:
    """Whether a limit of CPU time stops ranks that compute on so many cores."""
    return cgroup_cpus is not None and cgroup_cpus < cores


def starved_words(manifest: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    """That a limit of CPU time stopped a case's ranks, in any session of its run; empty where none is known to have.

    Then its times are not those of the cores, as if it had been oversubscribed.
    """
    host, options = (_object(manifest.get(part)) for part in ("host", "options"))
    sessions = manifest.get("sessions")
    hosts = [host, *(_object(_object(one).get("host")) for one in (sessions if isinstance(sessions, list) else ()))]
    told = [float(cpus) for one in hosts if isinstance(cpus := one.get("cgroup_cpus"), int | float)]
    there, ranks = (_count(part.get(name), usual) for part, name, usual in ((host, "cores", 0), (options, "ranks", 2)))
    given = options.get("threads_per_rank")
    only = given[0] if isinstance(given, list) and len(given) == 1 else 0
    cores = ranks * (_count(case.get("cores_per_rank"), 0) or _count(only, 0) or max(1, there // ranks))
    cores = min(cores, there) if there else cores
    if not told or not is_starved(min(told), cores):
        return ""
    return f"a CPU limit of {min(told):g} stopped its ranks on {cores} cores"


def differences(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> list[str]:
    """The limits that are not the same in two groups of manifests' hosts, a line each; those that both groups tell."""
    found = []
    for name in COMPARED:
        told = [sorted({value_words(host[name]) for host in hosts if name in host}) for hosts in (one, other)]
        if all(told) and told[0] != told[1]:
            found.append(f"host {name}: {' or '.join(told[0])} -> {' or '.join(told[1])}")
    return found


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object, usual: int) -> int:
    """A number from 1; what is none is the usual one."""
    return value if type(value) is int and value > 0 else usual
