"""The eager limit of the library, as far as it tells one, for the side-by-side with the range that was measured."""

from __future__ import annotations

import math
from typing import Any

from postprocess.records.header import Header

KEY = "eager_limit_variable"
"""The key of a record's metadata that names the MPI_T control variable of the limit on the record's network."""


def eager_limit_of(header: Header) -> tuple[float, str]:
    """The eager limit in bytes, and the control variable that has it; NaN and "" where it cannot be read.

    What the variable counts is the library's business: often the header of the message is included.
    """
    variable: Any = header.metadata.get(KEY)
    text = (header.mpi_variables or {}).get(variable, "") if isinstance(variable, str) else ""
    return (float(int(text)), str(variable)) if text.isdecimal() else (math.nan, "")
