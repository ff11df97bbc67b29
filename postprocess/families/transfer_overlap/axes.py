"""The axes of a point of this family."""

from postprocess.families import axes
from postprocess.families.family import Axis
from postprocess.families.transfer_overlap.record import FAMILY

NONOVERLAP, NOTHING, PIPELINED = "nonoverlap", "nothing", "pipelined"
CONTROLS = (NONOVERLAP, NOTHING)
"""The versions that cannot bring anything: the reference against itself, and an exchange of nothing."""
VARIANT = Axis(
    "variant",
    "version",
    usual="",  # empty for a benchmark without versions of a solver
    of="point",
    values={
        NONOVERLAP: "computes all, then exchanges (White & Bova 1999, figure 10): the reference, against itself",
        NOTHING: "as overlap, with an exchange of nothing on both sides: the negative control",
        "overlap": "computes the interface, starts the exchange, computes the interior, waits (figure 11)",
        "overlap_test": "the same, and calls MPI_Testall while it computes the interior",
        "persistent": "as overlap, with persistent requests",
        "neighborhood": "as overlap, with MPI_Ineighbor_alltoallv",
        "double_buffered": "sends half of the interface while it computes the rest, with MPI_Ialltoallv (Hoefler 2006)",
        PIPELINED: "as overlap, and the sums overlap the product, with MPI_Iallreduce (Ghysels & Vanroose 2014)",
    },
)
"""The version of the solver."""
AXES = axes.FamilyAxes(FAMILY, (VARIANT,), apart=(axes.GRID_POINTS, axes.UNKNOWNS))
