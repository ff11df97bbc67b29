"""Records of machines that nobody has, with planted faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tests.postprocess import synthetic

Lines: TypeAlias = list[dict[str, Any]]

NODES = 8
ROUNDS = 5
NOISE = 0.02
USUAL_NS = 5_000_000


def partner(nodes: int, node: int, number: int) -> int:
    """The node that this one meets in a round, by the circle method; itself: none."""
    on_circle = nodes - 1 if nodes % 2 == 0 else nodes
    number %= on_circle
    if node == on_circle:
        return number
    if node == number:
        return on_circle if on_circle < nodes else node
    return (2 * number + on_circle - node) % on_circle


def rounds_of(nodes: int) -> list[int]:
    """The rounds that are usually measured."""
    every = nodes - 1 if nodes % 2 == 0 else nodes
    return [place * every // min(ROUNDS, every) for place in range(min(ROUNDS, every))]


def point(
    index: int = 0,
    part: str = "pair",
    number: int = 0,
    message_bytes: int = 262144,
    nodes: int = NODES,
    slower: Mapping[int, float] | None = None,
    repetitions: int = 21,
    seed: int = 1,
    **changes: Any,
) -> dict[str, Any]:
    """A point of one rank a node.  slower: by node how many times as long it takes, in truth; 1 where it is left out.
    Both nodes of a pair take equally long."""
    rng = np.random.default_rng([seed, index])
    factor = np.array([(slower or {}).get(node, 1.0) for node in range(nodes)])
    partners = [node if part == "alone" else partner(nodes, node, number) for node in range(nodes)]
    calls = 0 if part == "alone" else 10 + number % 3  # rounds differ in it, and launches in what a node computes
    amount = 1 + seed % 3 / 10 if part == "alone" else calls / 10
    times = USUAL_NS * amount * factor * np.exp(NOISE * rng.standard_normal(nodes))
    for node, other in enumerate(partners):
        if other > node:
            times[other] = times[node]
    own_ns = np.round(times).astype(int).tolist()
    series = {"t_slowest_ns": [max(own_ns)] * repetitions, "late_starts": [0] * repetitions}
    parameters = {"part": part, "round": number, "message_bytes": 0 if part == "alone" else message_bytes}
    own = {"partners": partners, "calls": calls}
    medians = {"t_own_ns": own_ns} if repetitions else {}
    line = synthetic.sampled_point(index, parameters, series, own, rank_medians=medians)
    return synthetic.changed(line, **changes)


def record(
    nodes: int = NODES,
    slow_nodes: Mapping[int, float] | None = None,
    slow_links: Mapping[int, float] | None = None,
    slow_paths: Mapping[frozenset[int], float] | None = None,
    slow_switches: Mapping[int, float] | None = None,
    below: int = 0,
    sizes: Sequence[int] = (8, 262144),
    launch: int = 1,
    **header_changes: Any,
) -> Lines:
    """The lines of a complete record: every node alone, then rounds of pairs.

    slow_nodes, slow_links, slow_paths, slow_switches: how many times as long they take, in truth, by node, by node, by
    both nodes, by switch.  below: how many nodes are below one switch; 0: nobody knows.
    """
    links, paths, switches_slow = slow_links or {}, slow_paths or {}, slow_switches or {}

    def together(node: int, other: int) -> float:
        """How many times as long a pair takes."""
        ends = {one // below for one in (node, other)} if below else set()
        uplinks = [switches_slow.get(end, 1.0) for end in ends if len(ends) > 1]
        path = paths.get(frozenset((node, other)), 1.0)
        return max(links.get(node, 1.0), links.get(other, 1.0), path, *uplinks)

    alone = enumerate(rounds_of(nodes))
    points = [point(index, "alone", number, nodes=nodes, slower=slow_nodes, seed=launch) for index, number in alone]
    for number in rounds_of(nodes):
        pairs = {node: together(node, partner(nodes, node, number)) for node in range(nodes)}
        for message_bytes in sizes:
            points.append(point(len(points), "pair", number, message_bytes, nodes, pairs, seed=launch))
    parameters = {"part": ["alone", "pair"], "round": rounds_of(nodes), "message_bytes": list(sizes)}
    switches = {f"node{node}": f"s{node // below}" for node in range(nodes)} if below else {}
    places = synthetic.header(nodes)["placement"]
    placement = [{**place, "node": node, "host": f"node{node}"} for node, place in enumerate(places)]
    usual = {
        "metadata": {"case": {"repeat": launch}, **({"switches": switches} if switches else {})},
        "ranks": nodes, "nodes": nodes, "placement": placement,
    }  # fmt: skip
    return synthetic.whole(synthetic.header_of("whole_machine", parameters, {}, usual | header_changes), points)
