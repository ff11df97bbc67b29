"""The fields of a network's entry in the registry."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class Proof(Enum):
    """What proves that messages took the network, by the bytes of a record's payload."""

    TCP = "the ranks sent at least the payload over TCP"
    NO_TCP = "the ranks sent less than the payload over TCP"
    LINK = "a link of its own carried at least the payload, and the ranks sent that over TCP"
    NONE = "nothing is known of the way of messages"


@dataclass(frozen=True)
class Network:
    """One network.

    title: for people.
    proof: what verification requires of a record.
    without_settings: a library needs no rule for it. The network of a library's own choice, and what each has.
    chosen_by_library: the library chooses transports, and may have threads for them that the campaign does not know.
    of_one_node: its ranks are on one node.
    between_nodes: it is about ranks on several nodes.

    usual_rate: of a network with a rate, as in wire:2gbit, where none is given; empty where it has no rate.
    version: of a network that was made in another way before, what follows the rate in its name, as in
    wire:2gbit:duplex: it is another network in comparisons and references.
    check_rate: raises ValueError, with the legal forms, for a text that is no rate.
    settle_ns: returns, for a rate, the idle time in ns after which a pause of any length changes nothing.
    launcher: a module of `mpi_campaign.launching`, which makes the network and executes the whole launch in it. It
    takes `--rate RATE`, and `--report FILE` for the bytes that its link carried. Empty where launches need none.
    works, without_it: in words, that it can be had, and what runs use where it cannot.

    usual: where a system has it, runs use it unless they ask for another one.
    instead: the network of such runs where it cannot be had, and of benchmarks that are about memory within a node.
    """

    title: str
    proof: Proof = Proof.NONE
    without_settings: bool = False
    chosen_by_library: bool = False
    of_one_node: bool = False
    between_nodes: bool = False

    usual_rate: str = ""
    version: str = ""
    check_rate: Callable[[str], object] | None = None
    settle_ns: Callable[[str], int] | None = None
    launcher: str = ""
    works: str = ""
    without_it: str = ""

    usual: bool = False
    instead: str = ""
