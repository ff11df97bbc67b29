"""The configurations whose overlap is compared."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Configuration:
    """The thread that progresses communication, and the cores that compute (Denis et al. 2022, sections 6 and 7).

    progress: whose progress thread runs: `none`, the `library`'s or the `application`'s.
    gives_up_core: all cores of a rank's share compute, except the last. The work per thread is that of `basic`.
    bound: the progress thread is to run on that last core.
    """

    title: str
    progress: str = "none"
    gives_up_core: bool = False
    bound: bool = False

    def computing_threads(self, share: int) -> int:
        """The number of computing threads of a rank that has `share` cores: at least 1."""
        return max(1, share - 1) if self.gives_up_core else share

    @property
    def shares_cores(self) -> bool:
        """Whether a progress thread of the library runs on cores that compute."""
        return self.progress == "library" and not self.gives_up_core

    @property
    def without_tests(self) -> str:
        """The reason why the computing thread may not call MPI_Test; empty where it may."""
        if self.progress != "application":
            return ""
        return "the application's progress thread calls MPI_Test already, and no two threads may test one request"


CONFIGURATIONS: Mapping[str, Configuration] = {
    "basic": Configuration("the library as it comes, computation on all cores"),
    "async": Configuration("the library's own progress thread, computation on all cores", progress="library"),
    "dedicated": Configuration(
        "the library's progress thread on a core of its own, computation on the others",
        progress="library",
        gives_up_core=True,
        bound=True,
    ),
    "apphelper": Configuration(
        "a progress thread of the application's on a core of its own, computation on the others",
        progress="application",
        gives_up_core=True,
        bound=True,
    ),
    "dedicated_unbound": Configuration(
        "control: one core not computing, the library's progress thread not bound to it",
        progress="library",
        gives_up_core=True,
    ),
    "basic_reduced": Configuration("control: basic, computation on all cores but one", gives_up_core=True),
}
