"""Which combinations of values the suites measure that do not measure all of them."""

from collections.abc import Mapping
from typing import TypeAlias

from postprocess.families.axes import (
    APPROACH,
    COLLECTIVE,
    GRID_POINTS,
    NOISE,
    PROTOCOL,
    RANKS_PER_NODE,
    SEND,
    TEST_INTERVAL,
    UNKNOWNS,
)
from postprocess.families.family import Value

# The approaches of partitioned communication that a first look compares: MPI's own, and the two that need no MPI 4.
FIRST_APPROACHES = ("part", "many", "layer")
# The grids of solvers, by their points: that of White & Bova 1999, and one whose parts do not fit into caches.
FIRST_GRIDS = (10_000,)
GRIDS_OF_SOLVERS = (*FIRST_GRIDS, 1_000_000)
# One unknown per point; and sixteen, whose messages on the larger grid are too long for most libraries' eager protocol.
FIRST_UNKNOWNS = (1,)
UNKNOWNS_OF_SOLVERS = (*FIRST_UNKNOWNS, 16)

Row: TypeAlias = Mapping[str, tuple[Value, ...]]
"""Cases by the values that they have of axes, of `configuration` and of `network`; any value of what is not in it."""

_BASIC, _THREAD = ("basic",), ("async",)
_WITHIN, _WIRE = ("shm",), ("wire",)
ONE_SIDED = tuple(name for name in APPROACH.values if name.startswith("rma_") and name != "rma_fence")
TESTED_EVERY_NS = 100_000
ONE_RANK, TWO_RANKS = 1, 2

PLANTED: Mapping[str, tuple[Row, ...]] = {
    "sync_overlap": (
        {"configuration": _BASIC},
        {"configuration": _THREAD, "network": _WIRE, PROTOCOL.name: ("default",)},
    )
}
"""Progress threads over the wire and with the usual protocol only: the others show nothing that `basic` does not."""

OF_PAPERS: Mapping[str, tuple[Row, ...]] = {
    "nbc_overlap": (
        {"network": _WIRE, TEST_INTERVAL.name: (0,), "configuration": _BASIC},
        {"network": _WIRE, TEST_INTERVAL.name: (0,), COLLECTIVE.name: ("ibcast", "ireduce", "ialltoall")},
        {
            "network": _WIRE,
            TEST_INTERVAL.name: (TESTED_EVERY_NS,),
            "configuration": _BASIC,
            COLLECTIVE.name: ("ibcast",),
        },
        {
            "network": ("wire:50mbit",),
            TEST_INTERVAL.name: (0,),
            "configuration": _BASIC,
            COLLECTIVE.name: ("ialltoall",),
        },
    ),
    "mpi_impact": (
        {
            "network": _WIRE,
            RANKS_PER_NODE.name: (ONE_RANK,),
            "configuration": ("basic", "async", "dedicated"),
        },
    ),
    "partitioned": (
        {"network": _WITHIN, NOISE.name: ("last",), "configuration": _BASIC},
        {"network": _WIRE, NOISE.name: ("none",), "configuration": _BASIC, APPROACH.name: ("many",)},
        {"network": _WIRE, NOISE.name: ("last",), APPROACH.name: FIRST_APPROACHES},
    ),
    "cpu_overhead": ({"network": _WIRE, "configuration": _BASIC},),
    "loggp": ({"network": _WIRE, "configuration": _BASIC},),
    "sync_overlap": (
        {
            "network": _WITHIN,
            "configuration": _BASIC,
            SEND.name: ("early",),
            PROTOCOL.name: ("default", "eager", "copied"),
        },
        {
            "network": _WIRE,
            "configuration": _BASIC,
            SEND.name: ("early",),
            PROTOCOL.name: ("default", "eager", "rendezvous"),
        },
        {"network": _WITHIN, "configuration": _BASIC, PROTOCOL.name: ("default",)},
        {"network": _WIRE, "configuration": _THREAD, PROTOCOL.name: ("default",), SEND.name: ("early",)},
    ),
    "transfer_overlap": (
        {"network": _WIRE, "configuration": _BASIC, GRID_POINTS.name: FIRST_GRIDS, UNKNOWNS.name: UNKNOWNS_OF_SOLVERS},
        {"network": _WIRE, GRID_POINTS.name: (1600,), UNKNOWNS.name: (256,)},
    ),
    "hybrid": ({"network": _WITHIN},),
    "hybrid_kernels": ({"network": _WITHIN},),
}
"""What the findings of the papers need (`postprocess/papers/`)."""
