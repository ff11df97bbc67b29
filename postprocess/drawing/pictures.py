"""The style of pictures for papers and slides, and how they are written."""

import math
import os
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

mpl.rcdefaults()  # a matplotlibrc of the current folder has been read
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "svg.hashsalt": "mpi-campaign",
    "pdf.fonttype": 42,
    "hatch.linewidth": 0.6,
}
_PNG_DPI = 150
_MOST_PIXELS = 40_000_000


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure, whole or not at all, in the format of the path's suffix, and return the path. Raises OSError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    kind = path.suffix[1:]
    width, height = figure.get_size_inches()  # the overview of a run with many cases can be metres wide
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    try:
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            figure.savefig(
                partial,
                format=kind,
                dpi=min(_PNG_DPI, math.sqrt(_MOST_PIXELS / (width * height))),
                metadata=undated.get(kind),
            )
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path
