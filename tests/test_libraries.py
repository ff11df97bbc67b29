"""The registry: what each library is given, and what is known to be impossible."""

from pathlib import Path

import pytest

from mpi_campaign import libraries
from mpi_campaign.libraries import Impossible, Placement, Request, Settings

TWO_CORES = Placement(ranks=2, threads_per_rank=1)


def launched(family: str, version: str, configuration: str, network: str, placement: Placement = TWO_CORES) -> Settings:
    answer = libraries.launch(family, Request(Path("/opt/mpi"), version, configuration, network, placement))
    assert isinstance(answer, Settings), answer
    return answer


def refused(family: str, version: str, configuration: str, network: str) -> str:
    answer = libraries.launch(family, Request(Path("/opt/mpi"), version, configuration, network, TWO_CORES))
    assert isinstance(answer, Impossible)
    return answer.reason


def test_open_mpi_overlaps_over_tcp_only() -> None:
    assert "btl_tcp_progress_thread" in launched("openmpi", "5.0.11", "async", "wire:2gbit").options
    assert "shared memory" in refused("openmpi", "5.0.11", "async", "shm")


def test_open_mpi_renamed_its_shared_memory_transport() -> None:
    assert "vader,self" in launched("openmpi", "4.1.8", "basic", "shm").options
    assert "sm,self" in launched("openmpi", "5.0.11", "basic", "shm").options


@pytest.mark.parametrize(
    ("family", "variable"), [("mpich", "MPIR_CVAR_ASYNC_PROGRESS"), ("intel", "I_MPI_ASYNC_PROGRESS")]
)
@pytest.mark.parametrize("network", ["shm", "wire:1gbit", "native"])
def test_async_is_one_variable_beside_basic(family: str, variable: str, network: str) -> None:
    basic = launched(family, "5.0.2", "basic", network)
    progress = launched(family, "5.0.2", "async", network)
    assert variable not in basic.env
    assert progress == basic + Settings({variable: "1"})


@pytest.mark.parametrize("family", libraries.LIBRARIES)
def test_every_library_binds_ranks_unless_oversubscribed(family: str) -> None:
    bound = launched(family, "5.0", "basic", "shm", Placement(2, 4))
    unbound = launched(family, "5.0", "basic", "shm", Placement(2, 4, oversubscribed=True))
    assert any("4" in word for word in [*bound.options, *bound.env.values()])
    assert bound != unbound


def test_an_unknown_mpi_is_plain_basic() -> None:
    assert launched("mympi", "1.0", "basic", "shm") == Settings()
    assert "libraries.py" in refused("mympi", "1.0", "async", "shm")
    assert "libraries.py" in refused("mympi", "1.0", "basic", "wire:2gbit")


@pytest.mark.parametrize(
    ("family", "text", "version"),
    [
        ("openmpi", "Open MPI v5.0.11, package: Open MPI root@x Distribution, ident: 5.0.11", "5.0.11"),
        ("mpich", "MPICH Version:      5.0.2\nMPICH Release date: x", "5.0.2"),
        ("intel", "Intel(R) MPI Library 2021.18 for Linux* OS\n", "2021.18"),
        ("mpich", "Open MPI v5.0.11", None),
        ("mympi", "whatever 1.0", ""),
    ],
)
def test_the_library_says_its_version(family: str, text: str, version: str | None) -> None:
    assert libraries.reported_version(family, text) == version
