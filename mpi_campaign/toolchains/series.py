"""Libraries in order, from a good one to a bad one: releases, revisions of a repository, or any that are named.

A revision is built by a command of the user's into a prefix under .campaign/revisions, which is kept.
"""

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign import STATE, files
from mpi_campaign.children import asking
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries.versions import numbers, order
from mpi_campaign.toolchains import resolving

BUILT = STATE / "revisions"
REVISION, PREFIX = "{revision}", "{prefix}"
LETTERS = 12
"""Of the name of a revision: so many letters of its hash."""
_OF_SPACK = re.compile(r"(?P<name>[\w-]+)@(?P<version>\d+(\.\d+)*)(?P<rest>.*)", re.DOTALL)
BUILD_SECONDS = 6 * 3600.0
DONE, FAILED = "is-built", "why-not"
"""Files in the folder of a build."""


@dataclass(frozen=True)
class Series:
    """names: of the libraries, in order.  have: the toolchain of a name, as `campaign run` takes it. It builds what has
    to be built, and raises CampaignError where that fails."""

    names: tuple[str, ...]
    have: Callable[[str], str] = str


def of_toolchains(words: Sequence[str], provider: str, say: Callable[[str], None]) -> Series:
    """Toolchains as they are named; of two releases of a library, as wheels or of Spack with the same variants and
    dependencies, all releases from the first to the second.

    say: as of `resolving.expanded`.  Raises CampaignError where the words are no series.
    """
    if len(words) < 2 or len(set(words)) < len(words):
        raise CampaignError(f"{' '.join(words)}: name a good one and a bad one, and each of them once")
    if len(words) > 2:
        return Series(tuple(words))
    if provider == "spack":
        return _between_of_spack(words[0], words[1], say)
    good, bad = (resolving.existing(resolving.parse(text), say) for text in words)
    kinds = {(spec.family, spec.flavour) for spec in (good, bad)}
    if good.prefix or bad.prefix or len(kinds) > 1 or good.family not in resolving.WHEELS:
        raise CampaignError(
            f"{words[0]} and {words[1]} are not two releases of a library: name those between them too, in order, or "
            "give --build"
        )
    first, last = numbers(good.version), numbers(bad.version)
    if order(good.version) >= order(bad.version):
        raise CampaignError(f"{good.toolchain} is not before {bad.toolchain}: the good one comes first")
    ends = (".".join(map(str, end)) for end in (first, last))
    try:
        releases = resolving.expanded(f"{good.family}@{':'.join(ends)}", say)
    except CampaignError:  # both are candidates, or no registry answers
        releases = []
    between = [f"{name}{good.flavour}" for name in releases if first < numbers(name.partition("@")[2]) < last]
    return Series((good.toolchain, *between, bad.toolchain))


def _between_of_spack(good: str, bad: str, say: Callable[[str], None]) -> Series:
    """The versions that Spack knows from one to another, where nothing but the version differs; else both as they are.
    Raises CampaignError."""
    one, other = map(_OF_SPACK.fullmatch, (good, bad))
    if one is None or other is None or (one["name"], one["rest"]) != (other["name"], other["rest"]):
        return Series((good, bad))
    first, last = (numbers(end["version"]) for end in (one, other))
    if first >= last:
        raise CampaignError(f"{good} is not before {bad}: the good one comes first")
    known = resolving.expanded_by_spack(f"{one['name']}@{one['version']}:{other['version']}{one['rest']}", say)
    between = [name for name in known if first < numbers(name.partition("@")[2]) < last]
    return Series((good, *between, bad))


@dataclass(frozen=True)
class Builder:
    """How the revisions of a repository are built.

    library: the name of the library that they are.  command: of a shell, with REVISION and PREFIX; it runs in the
    repository.  say: is told what is built.  Raises CampaignError where a part of it is missing.
    """

    repository: Path
    library: str
    command: str
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        if lacking := [name for name in (REVISION, PREFIX) if name not in self.command]:
            raise CampaignError(
                f"--build '{self.command}' has no {' and no '.join(lacking)}: it builds a revision into a prefix"
            )
        if not resolving.NAME.fullmatch(self.library):
            raise CampaignError("--library NAME: say which library --build builds, such as openmpi or mpich")

    def series(self, ends: Sequence[str], *, between: bool) -> Series:
        """Two revisions.  between: and those between them, along first parents. Raises CampaignError."""
        if len(ends) != 2:
            raise CampaignError(f"{' '.join(ends)}: with --build, give two revisions")
        one, other = (self._git(end, "rev-parse", "--verify", f"{end}^{{commit}}") for end in ends)
        if one == other:
            raise CampaignError(f"{ends[0]} and {ends[1]} are the same revision")
        later = [other]
        if between:
            if self._git(ends[0], "merge-base", one, other) != one:
                raise CampaignError(f"{ends[0]} is not before {ends[1]}: the good revision comes first")
            later = self._git(ends[1], "rev-list", "--first-parent", "--reverse", f"{one}..{other}").split()
        revisions = {revision[:LETTERS]: revision for revision in (one, *later)}
        return Series(tuple(revisions), lambda name: self._built(name, revisions[name]))

    def _git(self, end: str, *words: str) -> str:
        answer = asking.ask(["git", "-C", self.repository, *words])
        if not answer.good:
            raise CampaignError(f"{end} in {self.repository}: git says '{answer.why}'; give revisions of a repository")
        return answer.stdout.strip()

    def _built(self, name: str, revision: str) -> str:
        """The toolchain of a revision, built now or earlier. Raises CampaignError where it does not build."""
        facts = "\0".join((str(self.repository), self.library, self.command))
        place = BUILT / f"{self.library}-{name}-{hashlib.sha256(facts.encode()).hexdigest()[:8]}"
        prefix, log = place / "prefix", place / "build.log"
        with resolving.locked(self.say):  # a second campaign waits here, and finds it built
            if not (place / DONE).exists() and not (place / FAILED).exists():
                self.say(f"building {name}, its output in {log}")
                shutil.rmtree(place, ignore_errors=True)
                prefix.mkdir(parents=True)
                command = self.command.replace(REVISION, revision).replace(PREFIX, shlex.quote(str(prefix)))
                done = asking.ask(["sh", "-c", command], env=os.environ, seconds=BUILD_SECONDS, cwd=self.repository)
                log.write_text(f"{command}\n{done.text}")
                why = f"{name} does not build: {done.why} (to try again, delete {place})"
                files.write_atomically(place / (DONE if done.good else FAILED), "" if done.good else why)
        if why := files.read(place / FAILED):
            raise CampaignError(why)
        return f"{self.library}@git.{name}={prefix}"  # a hash may begin with digits, as a version does
