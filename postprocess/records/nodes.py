"""The nodes of a run as its manifest describes them: those of its jobs, or those that it had in hand.

A process on the node has looked at it. A manifest of a run on one machine describes none; `host` is that machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from postprocess.drawing.text import plural, size

Node: TypeAlias = Mapping[str, Any]
"""A node: `host` as in a manifest; `governor`, `siblings` and `c_library` in words."""

COMPARED = ("cpu", "kernel", "os", "cores", "smt", "firmware")
"""The keys of a node's host that should be the same on all nodes, and from run to run."""
COMPARED_WORDS = ("governor", "c_library")
"""The same, beside the host."""
LEAST_MEMORY = 0.02
"""The least relative difference of two nodes' memory that counts. Kernels keep a little more or less for themselves."""


def nodes_of(manifest: Mapping[str, Any]) -> dict[str, Node]:
    """The nodes that a manifest describes, by name; of a name that is there twice, the last one."""
    jobs = [job for job in _list(manifest.get("jobs")) if isinstance(job, dict)]
    nodes = [*_list(manifest.get("nodes")), *(node for job in jobs for node in _list(job.get("nodes")))]
    described = [node for node in nodes if isinstance(node, dict) and isinstance(node.get("host"), dict)]
    return {str(node["host"].get("name")): node for node in described}


def facts_of(node: Node) -> dict[str, str]:
    """What is compared of a node, in words, apart from its memory."""
    host = node["host"]
    return {
        **{name: str(host.get(name)) for name in COMPARED},
        **{name: str(node.get(name)) for name in COMPARED_WORDS},
    }


def memory_of(node: Node) -> int:
    """The memory of a node in bytes; 0 where it is not known."""
    memory = node["host"].get("memory_bytes")
    return memory if type(memory) is int else 0


def is_other_memory(one: int, other: int) -> bool:
    """Whether two nodes differ in memory."""
    return abs(one - other) > LEAST_MEMORY * max(one, other)


def in_words(node: Node) -> str:
    """A line about a node, without its name."""
    host, cores = node["host"], node["host"].get("cores")
    parts = [
        host.get("cpu"),
        f"{plural(cores, 'core') if type(cores) is int else 'cores not known'} (CPUs {host.get('allowed_cpus')})",
        node.get("siblings"),
        f"{size(memory_of(node))} of memory",
        f"{host.get('os')}, kernel {host.get('kernel')}, {node.get('c_library')}",
        f"governor {node.get('governor')}",
    ]
    return "; ".join(map(str, parts))


def differences(nodes: Mapping[str, Node]) -> list[str]:
    """A line for each node that differs from most of the others in what should be the same on all."""
    facts = {name: facts_of(node) for name, node in nodes.items()}
    lines = []
    for what in (*COMPARED, *COMPARED_WORDS):
        values = [of_node[what] for of_node in facts.values()]
        usual = max(values, key=values.count, default="")
        lines += [
            f"{name}: {what.replace('c_library', 'C library')} is {of_node[what]}, on the others {usual}"
            for name, of_node in facts.items()
            if of_node[what] != usual
        ]
    memory = sorted(map(memory_of, nodes.values()))
    usual_memory = memory[len(memory) // 2] if memory else 0
    lines += [
        f"{name}: memory is {size(memory_of(node))}, on the others {size(usual_memory)}"
        for name, node in nodes.items()
        if is_other_memory(memory_of(node), usual_memory)
    ]
    return lines


def changes(before: Mapping[str, Node], after: Mapping[str, Node]) -> list[tuple[str, str, str]]:
    """What differs in nodes that two runs share: the node and what it is, the value before, and the value after."""
    found = []
    for name in before.keys() & after.keys():
        old, new = facts_of(before[name]), facts_of(after[name])
        found += [(f"node {name} {what}", old[what], new[what]) for what in new if old[what] != new[what]]
        one, other = memory_of(before[name]), memory_of(after[name])
        if is_other_memory(one, other):
            found.append((f"node {name} memory", size(one), size(other)))
    return sorted(found)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
