"""The ReFrame sessions of a run, one after the other: on this machine, or inside of one job of a batch system."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mpi_campaign.archive import run_folders
from mpi_campaign.running import leftovers, reframe_session, same_sizes
from mpi_campaign.running.reframe_session import Event, Outcome, Session
from mpi_campaign.running.same_sizes import TakenOver


@dataclass(frozen=True)
class Order:
    """A session to carry out.

    words: ReFrame's command line.  sizes: what its launches take over, once earlier sessions have ended.  whose: of
    whom sizes are expected, for a message where there are none; empty where none are expected.  launches: how many of
    each case there are after it, if the run may then end because it can tell its libraries apart; else 0.
    """

    words: tuple[str, ...]
    sizes: tuple[TakenOver, ...] = ()
    whose: str = ""
    launches: int = 0


@dataclass(frozen=True)
class Done:
    """A session that was carried out.  outcomes: how each test ended.  broken: why ReFrame itself failed; empty where
    it did not."""

    began_utc: str
    ended_utc: str
    session: Session
    outcomes: tuple[Outcome, ...]

    @property
    def broken(self) -> str:
        return why_broken(self.session, self.outcomes)


def why_broken(session: Session, outcomes: Sequence[Outcome]) -> str:
    """Why ReFrame itself failed, rather than a test; empty where it did not."""
    of_tests = any(outcome.failed or outcome.aborted for outcome in outcomes)
    if session.exit_code == 0 or of_tests or session.interrupted:
        return ""
    return f"ReFrame ended with {session.exit_code}: {session.complaint}"


def carry_out(
    orders: Sequence[Order],
    place: Path,
    say: Callable[[str], None],
    on_event: Callable[[int, Event], None],
    on_tick: Callable[[], None],
) -> Iterator[Done]:
    """Carry out sessions in their order, and yield each when it has ended. The last one is interrupted, broken or the
    last of the orders.

    place: the folder in which sessions write SESSION_FILES; the next one replaces them.  say: is given a line for each
    case without sizes, and one about nodes where killed ranks may have left files.  on_event: is called with the number
    of the session, from 0, and each of its events.
    """
    for number, order in enumerate(orders):
        began = run_folders.now_utc()
        without = same_sizes.hand_over(order.sizes)
        for case in without if order.whose else ():
            say(f"{order.whose} has no sizes for {case}: this run finds them")
        for name in run_folders.SESSION_FILES:
            (place / name).unlink(missing_ok=True)
        session = reframe_session.run(list(order.words), partial(on_event, number), on_tick, leftovers.command())
        for line in leftovers.not_cleaned(session.output):
            say(line)
        outcomes = tuple(reframe_session.outcomes(place / run_folders.REPORT))
        done = Done(began, run_folders.now_utc(), session, outcomes)
        yield done
        if session.interrupted or done.broken:
            return


def append_output(log: Path, output: Sequence[str]) -> None:
    """Add what a session of ReFrame printed to a log."""
    with log.open("a", encoding="utf-8") as file:
        file.write("\n".join(output) + "\n")
