"""The eager limit of the library, and its buffers for eager messages, as far as it tells them."""

import math
from typing import Any

from postprocess.records.header import Header

KEY = "eager_limit_variable"
"""The key of a record's metadata that names the MPI_T control variable of the limit on the record's network."""
FRAGMENTS = "fragment_variables"
"""The key of a record's metadata that names the control variables with the number of buffers that the library reserves
for each rank in advance, and with their size."""


def eager_limit_of(header: Header) -> tuple[float, str]:
    """The eager limit in bytes, and the control variable that has it; NaN and "" where it cannot be read.

    What the variable counts is the library's business: often the header of the message is included.
    """
    variable: Any = header.metadata.get(KEY)
    limit = _value(header, variable)
    return (limit, str(variable)) if math.isfinite(limit) else (math.nan, "")


def fragments_of(header: Header) -> tuple[float, float]:
    """The number of buffers that the library reserves for a rank in advance, and their size in bytes; NaN where it
    cannot be read."""
    names: Any = header.metadata.get(FRAGMENTS)
    count, size = names if isinstance(names, list) and len(names) == 2 else (None, None)
    return _value(header, count), _value(header, size)


def _value(header: Header, variable: Any) -> float:
    text = (header.mpi_variables or {}).get(variable, "") if isinstance(variable, str) else ""
    return float(int(text)) if text.isdecimal() else math.nan
