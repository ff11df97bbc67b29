"""The limits of a host that a manifest tells: which of them are compared between runs, and how people read them.

Manifests of older runs tell no limits. A limit that only one of two manifests tells is not compared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from postprocess.drawing.text import size

FREE_SHM = "shm_free_bytes"
"""Bytes that were free when a run began. They differ from run to run and say nothing about the machine."""
NAMES = (
    "cgroup_cpus", "memory_limit_bytes", "shm_bytes", FREE_SHM, "allowed_cpus", "cpuset_cpus", "online_cpus",
    "offline_cpus", "smt", "core_speeds", "refused_calls",
)  # fmt: skip
"""Keys of a manifest's host, as `mpi_campaign.this_machine.host` writes them. Null: no limit, or not visible."""
COMPARED = tuple(name for name in NAMES if name != FREE_SHM)


def value_words(value: object) -> str:
    """A value of a manifest's host as a person reads it."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def known_in_both(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Two manifests' hosts in words, without what is not compared: free bytes, limits that only one manifest tells."""
    left_out = {name for name in NAMES if name == FREE_SHM or name not in before or name not in after}
    kept_before, kept_after = (
        {name: value_words(value) for name, value in host.items() if name not in left_out} for host in (before, after)
    )
    return kept_before, kept_after


def limits_words(host: Mapping[str, Any]) -> str:
    """The limits of a manifest's host in one line; empty where an older manifest tells none."""
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
    """Why a case's times are not those of its cores: in a session of its run a limit of CPU time stopped its ranks.

    Empty where no such limit is known. The times of such a case are like those of an oversubscribed one.
    """
    host, options = (_object(manifest.get(part)) for part in ("host", "options"))
    sessions = manifest.get("sessions")
    hosts = [host, *(_object(_object(one).get("host")) for one in (sessions if isinstance(sessions, list) else ()))]
    cpu_limits = [float(cpus) for one in hosts if isinstance(cpus := one.get("cgroup_cpus"), int | float)]
    cores_of_host = _count(host.get("cores"), 0)
    per_node, threads = (_count(_single(options.get(name)), 0) for name in ("ranks_per_node", "threads_per_rank"))
    ranks = _count(case.get("ranks_per_node"), 0) or per_node or _count(options.get("ranks"), 2)
    cores = ranks * (_count(case.get("cores_per_rank"), 0) or threads or max(1, cores_of_host // ranks))
    cores = min(cores, cores_of_host) if cores_of_host else cores
    if not cpu_limits or not is_starved(min(cpu_limits), cores):
        return ""
    return f"a CPU limit of {min(cpu_limits):g} stopped its ranks on {cores} cores"


def differences(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[str]:
    """The CPUs and limits that differ between two groups of manifests' hosts, a line each, of those that both tell."""
    lines = []
    for name in ("cpu", "cores", *COMPARED):
        old, new = (sorted({value_words(host[name]) for host in hosts if name in host}) for hosts in (before, after))
        if old and new and old != new:
            lines.append(f"host {name}: {' or '.join(old)} -> {' or '.join(new)}")
    return lines


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _single(asked: object) -> object:
    """The value of an option that may be repeated, where it was given once."""
    return asked[0] if isinstance(asked, list) and len(asked) == 1 else None


def _count(value: object, usual: int) -> int:
    """The value where it is a whole number from 1; else the usual one."""
    return value if type(value) is int and value > 0 else usual
