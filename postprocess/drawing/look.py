"""Settings for the look of pages and pictures, and for how much of a run a page shows at a time."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from postprocess.drawing.colour import PALETTES

KINDS = ("svg", "png", "pdf")
"""The formats of pictures."""
USUAL_KINDS = ("svg", "png")
"""Those of pictures that are asked for without a format."""


@dataclass(frozen=True)
class Look:
    """The look of pages and pictures.

    palette: a name in `PALETTES`.
    dim: whether cells of maps that mean less are faded.
    metrics: the names of the metrics to draw; empty: the usual ones. `registry.look` checks the names.
    kinds: formats of pictures, from `KINDS`; empty: none is drawn.

    Raises ValueError, in one line with the legal values, for an unknown palette or format.
    """

    palette: str = "paper"
    dim: bool = False
    metrics: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check("palette", (self.palette,), PALETTES)
        check("format", self.kinds, KINDS)


def check(what: str, names: Iterable[str], legal: Collection[str]) -> None:
    """Raise ValueError, in one line with the legal values, if a name is not legal. `what` names the setting."""
    for name in names:
        if name not in legal:
            raise ValueError(f"no {what} {name!r}: give one of {', '.join(legal)}")


PLAIN = Look()


@dataclass(frozen=True)
class Room:
    """How many points a page shows at a time, so that a browser lays it out without a noticeable delay.

    whole: a run of at most this many points is shown on a single page.
    rows: the points in a page of the table of a larger run.
    drawn: the most points in a page of the maps of a larger run; a page has at least one case.
    light: of a page of more characters than these, what is folded is packed.
    """

    whole: int = 150
    rows: int = 25
    drawn: int = 50
    light: int = 300_000


ROOM = Room()
