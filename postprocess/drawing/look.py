"""How pages and pictures are asked to look, and how much of a run one page shows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from postprocess.drawing.colour import PALETTES

KINDS = ("svg", "png", "pdf")
"""The formats of pictures."""


@dataclass(frozen=True)
class Look:
    """How pages and pictures look. ``dim`` fades the cells of maps that mean less; ``metrics`` are the names of those
    that are drawn, none of them: the usual ones.

    Raises ValueError, of one line with the legal values, for a palette or a format that there is not. Which metrics
    there are the families know: `registry.look` checks them.
    """

    palette: str = "paper"
    dim: bool = False
    metrics: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("svg", "png")

    def __post_init__(self) -> None:
        check("palette", (self.palette,), PALETTES)
        check("format", self.kinds, KINDS)


def check(what: str, names: Iterable[str], legal: Collection[str]) -> None:
    """Raises ValueError, of one line with the legal values, for a name that is none of them."""
    for name in names:
        if name not in legal:
            raise ValueError(f"no {what} {name!r}: give one of {', '.join(legal)}")


PLAIN = Look()


@dataclass(frozen=True)
class Room:
    """How much a browser lays out without a reader's waiting for it: of a run of more than `whole` points the table has
    `rows` of them at a time, and the maps are of cases with `drawn` at most."""

    whole: int = 1500
    rows: int = 250
    drawn: int = 600


ROOM = Room()
