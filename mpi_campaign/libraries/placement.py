"""The placement of ranks and their threads on nodes of the same shape. Pure functions: no machine is asked."""

import itertools
from dataclasses import dataclass

Cpus = tuple[tuple[int, ...], ...]
"""The CPUs of each core of a node, by the kernel's numbers. Cores are in the order in which ranks get them."""
Shares = tuple[tuple[int, ...], ...]
"""The CPUs of each rank of a node, in the order of its cores."""
Numbers = tuple[int, ...]
"""Numbers of nodes, from 1: their places among the nodes that a system has in hand."""


def first(count: int) -> Numbers:
    """The numbers of the first `count` nodes."""
    return tuple(range(1, count + 1))


def numbers_of(node_set: str) -> Numbers:
    """The numbers of nodes from a value of the axis `node_set`, such as 2+3; () for the usual value."""
    return tuple(map(int, node_set.split("+"))) if node_set else ()


@dataclass(frozen=True)
class NodeShape:
    """The cores of a node that ranks may use.

    cpus: () where the CPUs are not known.  by_host: where nodes have different CPUs, those of each host, by the name
    that the host calls itself; cpus is ().  shared: the cores are those of other nodes too, as in a cluster in a box
    with more nodes than cores.
    """

    cores: int
    cpus: Cpus = ()
    by_host: tuple[tuple[str, Cpus], ...] = ()
    shared: bool = False


@dataclass(frozen=True)
class Placement:
    """`ranks_per_node` ranks on each of `nodes` nodes. The share of a rank is `threads_per_rank` cores of its node; in
    `basic`, one thread computes on each of them.

    oversubscribed: a node has fewer cores than its ranks need, or shares them with other nodes; ranks have no cores of
    their own and are not bound.
    cpus, by_host: the CPUs of each core of a node, or of each host, as in `NodeShape`; () where they are not known or
    not used.
    crowding: a rank with one core may share it with a progress thread.
    chosen: the numbers of the nodes, in ascending order; () for the first ones.
    """

    nodes: int
    ranks_per_node: int
    threads_per_rank: int
    oversubscribed: bool = False
    cpus: Cpus = ()
    crowding: bool = False
    by_host: tuple[tuple[str, Cpus], ...] = ()
    chosen: Numbers = ()

    @classmethod
    def on(
        cls,
        node: NodeShape,
        ranks_per_node: int,
        threads_per_rank: int,
        *,
        nodes: int = 1,
        crowding: bool = False,
        chosen: Numbers = (),
    ) -> "Placement":
        """The placement on nodes of that shape. threads_per_rank: 0 divides all cores of a node evenly; it is 1 where
        nodes share cores."""
        threads = threads_per_rank or (1 if node.shared else max(1, node.cores // ranks_per_node))
        oversubscribed = node.shared or ranks_per_node * threads > node.cores
        cpus = node.cpus if len(node.cpus) == node.cores and not oversubscribed else ()
        by_host = () if oversubscribed else node.by_host
        return cls(nodes, ranks_per_node, threads, oversubscribed, cpus, crowding, by_host, chosen)

    @property
    def numbers(self) -> Numbers:
        """The numbers of its nodes."""
        return self.chosen or first(self.nodes)

    @property
    def node_set(self) -> str:
        """The value of the axis `node_set`: 2+3 for nodes 2 and 3; empty for the first ones."""
        return "+".join(map(str, self.chosen))

    @property
    def ranks(self) -> int:
        """The number of ranks on all nodes together."""
        return self.nodes * self.ranks_per_node

    @property
    def cores_per_node(self) -> int:
        """The number of cores that the ranks of a node need."""
        return self.ranks_per_node * self.threads_per_rank

    @property
    def shares(self) -> Shares:
        """The share of each local rank; () where CPUs are not known, or differ between hosts."""
        return self._shares_of(self.cpus)

    @property
    def shares_by_host(self) -> tuple[tuple[str, Shares], ...]:
        """The share of each local rank of each host; () where CPUs do not differ between hosts."""
        return tuple((host, self._shares_of(cpus)) for host, cpus in self.by_host)

    def _shares_of(self, cpus: Cpus) -> Shares:
        return tuple(tuple(itertools.chain(*cores)) for cores in self._cores_of_ranks(cpus))

    @property
    def dedicated_cpus(self) -> tuple[int, ...]:
        """The CPU of each local rank that is kept for a progress thread: the first CPU of its last core. () where CPUs
        are not known, or differ between hosts: then a rank keeps that of its own cores."""
        return tuple(cores[-1][0] for cores in self._cores_of_ranks(self.cpus))

    def _cores_of_ranks(self, cpus: Cpus) -> list[Cpus]:
        each = self.threads_per_rank
        return [cpus[rank * each : (rank + 1) * each] for rank in range(self.ranks_per_node)] if cpus else []
