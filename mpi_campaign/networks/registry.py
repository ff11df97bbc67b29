"""The networks, an entry each. What a library needs for one is in the library's entry."""

from collections.abc import Mapping

from mpi_campaign.networks import rates
from mpi_campaign.networks.network import Network, Proof

NETWORKS: Mapping[str, Network] = {
    "shm": Network("shared memory of one node", Proof.NO_TCP, without_settings=True, of_one_node=True),
    "wire": Network(
        "TCP over a loopback in a network namespace of its own, with a limited rate in each direction",
        Proof.LINK,
        of_one_node=True,
        usual_rate="2gbit",
        version="duplex",  # until 2026-11 one bucket, a larger one, was for both directions
        check_rate=rates.bytes_per_second,
        settle_ns=rates.settle_ns,
        launcher="wire",
        works="a rate-limited loopback in a namespace of its own works",
        without_it="shared memory, over which most libraries overlap nothing without a progress thread",
        usual=True,
        instead="shm",
    ),
    "tcp": Network("TCP between nodes, shared memory within each", Proof.TCP, between_nodes=True),
    "native": Network("whatever the library chooses on this system", without_settings=True, chosen_by_library=True),
}


def kind(network: str) -> str:
    """The name of a network, such as wire:2gbit, without its rate."""
    return network.partition(":")[0]


def of(network: str) -> Network:
    """The entry of a network such as wire:2gbit. Raises KeyError."""
    return NETWORKS[kind(network)]


def rate(network: str) -> str:
    """The rate of a network such as wire:2gbit or wire:2gbit:duplex; empty where it names none."""
    version = NETWORKS[kind(network)].version if kind(network) in NETWORKS else ""
    rate_and_version = network.partition(":")[2]
    return rate_and_version.removesuffix(f":{version}") if version else rate_and_version


def without_version(network: str) -> str:
    """A network such as wire:2gbit:duplex as a person asks for it: wire:2gbit."""
    return ":".join(filter(None, (kind(network), rate(network))))


def with_rate(name: str, rate: str = "") -> str:
    """The network of that name with a rate, by default the usual one, where it has one."""
    network = NETWORKS[name]
    return ":".join(filter(None, (name, rate or network.usual_rate, network.version))) if network.usual_rate else name
