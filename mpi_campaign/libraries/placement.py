"""Where ranks and their threads are, on nodes of one shape. Pure: nothing here asks a machine."""

import itertools
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class NodeShape:
    """The cores of a node that ranks may use.

    cpus: of each core, its CPUs by the kernel's numbers, in the order in which cores are handed out; () where they are
    not known.
    """

    cores: int
    cpus: tuple[tuple[int, ...], ...] = ()

    @property
    def all_cpus(self) -> tuple[int, ...]:
        """The CPUs of all cores, ascending; () where they are not known."""
        return tuple(sorted(itertools.chain(*self.cpus)))


@dataclass(frozen=True)
class Placement:
    """As many ranks on each of so many nodes; each one's share is `threads_per_rank` cores of its node, on each of
    which one thread of `basic` computes.

    oversubscribed: a node has fewer cores than that; ranks are not bound, and have none of their own.  cpus: those of
    each core of a node, as `NodeShape` has them; () where they are not known, or not to be used.
    crowding: a rank with one core may share it with a progress thread.
    """

    nodes: int
    ranks_per_node: int
    threads_per_rank: int
    oversubscribed: bool = False
    cpus: tuple[tuple[int, ...], ...] = ()
    crowding: bool = False

    @classmethod
    def on(
        cls, node: NodeShape, ranks_per_node: int, threads_per_rank: int, *, nodes: int = 1, crowding: bool = False
    ) -> "Placement":
        """On nodes of that shape; 0 threads per rank: all cores, divided evenly."""
        threads = threads_per_rank or max(1, node.cores // ranks_per_node)
        oversubscribed = ranks_per_node * threads > node.cores
        known = node.cpus if len(node.cpus) == node.cores and not oversubscribed else ()
        return cls(nodes, ranks_per_node, threads, oversubscribed, known, crowding)

    @property
    def ranks(self) -> int:
        """Ranks of all nodes together."""
        return self.nodes * self.ranks_per_node

    @property
    def cores_per_node(self) -> int:
        """Cores that it needs of each node."""
        return self.ranks_per_node * self.threads_per_rank

    @property
    def shares(self) -> tuple[tuple[int, ...], ...]:
        """By local rank, the CPUs of its cores, in the order of cores; () where CPUs are not known."""
        return tuple(tuple(itertools.chain(*cores)) for cores in self._cores_of_ranks)

    @property
    def dedicated_cpus(self) -> tuple[int, ...]:
        """By local rank, the CPU that a configuration keeps for the progress thread: the first one of its last core."""
        return tuple(cores[-1][0] for cores in self._cores_of_ranks)

    def spread(self, nodes: int) -> "Placement | None":
        """The same number of ranks in all, on so many nodes, on no CPUs of their own; None where it cannot be the same
        number on each."""
        if nodes < 1 or self.ranks % nodes:
            return None
        return replace(self, nodes=nodes, ranks_per_node=self.ranks // nodes, cpus=())

    @property
    def _cores_of_ranks(self) -> list[tuple[tuple[int, ...], ...]]:
        each = self.threads_per_rank
        return [self.cpus[rank * each : (rank + 1) * each] for rank in range(self.ranks_per_node)] if self.cpus else []
