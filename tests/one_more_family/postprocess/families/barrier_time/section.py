"""The section of the report about barriers: the table of all points."""

from postprocess.drawing.curve_view import CurveSection
from postprocess.families.barrier_time.entry import SHOWN  # type: ignore[import-not-found]

SECTION = CurveSection(lambda _table: (), lambda table, most_rows: {"points": SHOWN.view(table, most_rows)})
