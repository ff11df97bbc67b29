"""Words that tell on whose machine a run was made, and the aliases that replace them in a public copy.

Folders are replaced where paths begin (`/home/me/x` -> `/HOME/x`). A name of a host, a user or an account is replaced
as a whole word. A name that is an ordinary word too (`node`, `root`) is replaced only where the text says that it is
one (`root@node`, `"host": "node"`), so that no other text is damaged. An alias depends only on the word and on a
secret key: a word has the same alias everywhere, and nobody without the key can find the word by trying.
"""

import hmac
import html
import json
import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from pathlib import Path

from mpi_campaign.libraries import registry
from mpi_campaign.libraries.configurations import CONFIGURATIONS
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.registry import AXES, BENCHMARKS
from mpi_campaign.schedulers.registry import SCHEDULERS
from postprocess.records.description import RECORD, descriptions

Namer = Callable[[str, str], str]
"""The alias of a word, from its kind and the word."""

# What an alias looks like, by kind. There is one clone and one home for whoever reads a copy.
FORMS = {
    "clone": "/CLONE",
    "home": "/HOME",
    "prefix": "/PREFIX-{}",
    "path": "/PATH-{}",
    "host": "node-{}",
    "user": "user-{}",
    "account": "account-{}",
    "cluster": "cluster-{}",
    "mail": "mail-{}",
    "address": "address-{}",
    "hardware": "hardware-{}",
}
SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "etc", "dev", "proc", "sys", "opt", "boot")
"""Folders whose content is the same on many machines. Their paths stay."""
RUN_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")

# Keys of JSON whose values are names.
_NAMES = {
    "host": "host", "hosts": "host", "hostname": "host", "nodes": "host", "job_nodelist": "host", "nodelist": "host",
    "user": "user", "username": "user", "logname": "user", "account": "account",
    **{name.lower(): kind for scheduler in SCHEDULERS for name, kind in scheduler.naming.items()},
}  # fmt: skip
# Variables of batch systems whose whole values tell whose a job is, but which are no words to look for elsewhere:
# numbers, words such as `long`, or the name of the cluster, which somebody may have given to the system here too.
_TELLING = {name.lower(): kind for scheduler in SCHEDULERS for name, kind in scheduler.telling.items()}
# Keys whose values look like addresses but are versions.
_VERSIONS = {"version", "package_version", "blas", "library", "mpi_library_version", "compiler", "kernel", "firmware"}

# Names of some machines and accounts that mean something else in most texts.
_WORD = re.compile(r"[^\W_]+")
_ORDINARY = Path(__file__).with_name("ordinary_words.txt")
"""Ordinary words that are also names of hosts and users."""


@cache
def _vocabulary() -> frozenset[str]:
    """Ordinary words, in small letters: _ORDINARY, those of the programs' descriptions, and names that we give."""
    values = [value for axis in AXES.values() for value in axis.values]
    ours = [*registry.LIBRARIES, *CONFIGURATIONS, *suites.SUITES, *BENCHMARKS, *values]
    texts = [path.read_text(encoding="utf-8") for path in (RECORD, _ORDINARY)]
    texts += [description.text for description in descriptions().values()]
    return frozenset(word.lower() for text in (*texts, *ours) for word in _WORD.findall(text))


def is_ordinary(name: str) -> bool:
    """Whether a name may mean something else in a text."""
    return len(name) < 3 or name.isdigit() or name.lower() in _vocabulary()


def namer(key: bytes) -> Namer:
    """A function that returns aliases, which depend on this key."""

    def alias(kind: str, word: str) -> str:
        text = f"{kind} {word.lower()}".encode("utf-8", "surrogateescape")
        return FORMS[kind].format(hmac.new(key, text, "sha256").hexdigest()[:8])

    return alias


@dataclass(frozen=True)
class Originals:
    """Words to replace. Folders are absolute paths; hosts may have their domains.  facts: words, in small letters, of
    the names of the run's processor, compiler and the like."""

    clones: frozenset[str] = frozenset()
    homes: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()

    def __or__(self, other: "Originals") -> "Originals":
        return Originals(*(getattr(self, field_.name) | getattr(other, field_.name) for field_ in fields(self)))

    @property
    def names(self) -> Mapping[str, frozenset[str]]:
        """The names by kind; hosts with and without their domains."""
        hosts = {part for host in self.hosts for part in (host, host.partition(".")[0])}
        return {"host": frozenset(hosts), "user": self.users, "account": self.accounts}

    @property
    def distinct(self) -> Mapping[str, frozenset[str]]:
        """The `names` that are neither ordinary words nor facts, and so mean nothing else in any text."""
        return {
            kind: frozenset(name for name in names if not is_ordinary(name) and name.lower() not in self.facts)
            for kind, names in self.names.items()
        }


_FOLDER = r"/[^\s'\"=:;,<>|()\[\]{}]*?"
_DIRECTIVE = "|".join(sorted({re.escape(scheduler.directive) for scheduler in SCHEDULERS if scheduler.directive}))
_SAYS_ACCOUNT = rf"(?:--(?:account|project)[= ]['\"]?|#(?:{_DIRECTIVE})\s+-[AP]\s+|['\"]-A[= ]?)"
_FOUND = (
    ("clones", re.compile(rf"({_FOLDER})/\.campaign/")),
    ("homes", re.compile(r"(?<![\w.-])(/(?:home|users|Users)/[\w.-]+)")),
    ("users", re.compile(r"(?<![\w.-])/(?:home|users|Users)/([\w.-]+)")),
    ("users", re.compile(r"launched by:\s+([\w.-]+)@")),
    ("hosts", re.compile(r"launched by:\s+[\w.-]+@([\w.-]+)")),
    ("users", re.compile(r"package: [\w ]+ ([\w.-]+)@[\w.-]+ Distribution")),
    ("hosts", re.compile(r"package: [\w ]+ [\w.-]+@([\w.-]+) Distribution")),
    ("hosts", re.compile(r"<testsuite [^>]*\bhostname=\"([\w.-]+)\"")),
    ("accounts", re.compile(rf"{_SAYS_ACCOUNT}([\w.-]+)")),
)
_NAME_BY_KEY = re.compile(r'"(\w+)"\s*:\s*(?:"([\w.-]+)"|\[((?:\s*"[\w.-]+"\s*,?)+)\])')
_NAME = re.compile(r"[\w.-]+")
_FACT = re.compile(r'"(?:cpu|os|kernel|firmware|compiler|blas|architecture)"\s*:\s*"([^"]*)"')


def found_in(text: str) -> Originals:
    """The folders, hosts, users and accounts of a text, where it says for certain that they are such."""
    originals: dict[str, set[str]] = {field_.name: set() for field_ in fields(Originals)}
    for name, pattern in _FOUND:
        originals[name].update(pattern.findall(text))
    for key, single, several in _NAME_BY_KEY.findall(text):
        if kind := _NAMES.get(key.lower()):
            originals[f"{kind}s"].update([single] if single else _NAME.findall(several))
    originals["clones"] = {f"/{folder.lstrip('/')}" for folder in originals["clones"] if folder.strip("/")}
    originals["hosts"].discard("localhost")
    originals["facts"].update(word.lower() for fact in _FACT.findall(text) for word in _WORD.findall(fact))
    return Originals(*(frozenset(originals[field_.name]) for field_ in fields(Originals)))


Rule = tuple[str, str, Callable[[str], str]]
"""Name, pattern without groups, and the function that returns the replacement of a match."""

# Where a word may begin and end. A folder may follow an option of a compiler without a blank.
_BEGINS, _ENDS = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
_BEGINS_FOLDER = r"(?:(?<![\w./-])|(?<=-[ILB])|(?<=file://))"
_STAY = "|".join([*SYSTEM_FOLDERS, "CLONE", "HOME", "PATH-[0-9a-f]{8}", "PREFIX-[0-9a-f]{8}"])
_DOMAIN = r"(?:(?:\.[A-Za-z][A-Za-z0-9-]*)+\.[A-Za-z]{2,}|\.(?:local|localdomain|internal|lan))"
_SAYS_HOST = (
    r"(?:(?i:\b(?:host|machine|node)(?:name|list)?s?['\"]?\s*[:=]\s*['\"]?)|(?<![\w-])--?(?:hosts?|nodelist|H)[ =]"
    r"|\bmpiexec@|\bproxy:\d+:\d+@)"
)
_SAYS_USER = r"(?i:\b(?:user(?:name)?|logname|login|owner)['\"]?\s*[:=]\s*['\"]?)"
_SAID = r"(?=['\"]|[ \t]*(?:[\n,;.:)\]}]|\Z))"
_PAIR = "[0-9A-Fa-f]{2}"
_HARDWARE = (
    rf"(?<![\w:.-])(?:(?:{_PAIR}:){{5,19}}{_PAIR}|(?=[\d-]*[A-Fa-f])(?:{_PAIR}-){{5}}{_PAIR}"
    r"|(?=[\d:]*[a-f])(?:[0-9a-f]{4}:){3}[0-9a-f]{4})(?![\w:-])"
)
_SERIAL = r"(?i:\bserial(?:[ _-]?(?:number|no\.?))?['\"]?\s*[:=]\s*['\"]?)(?=[A-Za-z-]*\d)[\w-]{4,}"
_ADDRESS = (
    r"(?<![\w.@-])(?<!version )(?<!Version )(?<!release )(?<!ident: )(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\w)"
    r"|(?<![\w:.])(?=[0-9a-f:]*::|(?:[0-9a-f]{1,4}:){7}[0-9a-f])(?:fe80|f[cd][0-9a-f]{2}|2[0-9a-f]{3})"
    r"(?::[0-9a-f]{0,4}){2,7}(?![\w:])"
)
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?')
_HOST_PATTERNS = re.compile(r"(['\"]hostnames['\"]\s*:\s*\[)([^\]]*)\]")


@dataclass
class Replacer:
    """Replaces words in the texts of one run. `used` are the aliases that it has put in, as (kind, alias).  kept: words
    that stay whatever they look like, names of toolchains for example."""

    originals: Originals
    alias: Namer
    kept: frozenset[str] = frozenset()
    used: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._folders = dict(_variants(self.originals))
        rules = [*self._folder_rules(), *self._login_rules(), *self._name_rules(), *self._hardware_rules()]
        self._handlers = {name: handler for name, _, handler in rules}
        self._pattern = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern, _ in rules))

    def text(self, text: str, key: str = "") -> str:
        """A text after replacement. key: the key of the text in JSON."""
        if text in self.kept:
            return text

        def replaced(match: re.Match[str]) -> str:
            rule = str(match.lastgroup)
            stays = match[0] in self.kept or (rule == "address" and key in _VERSIONS)
            return match[0] if stays else self._handlers[rule](match[0])

        return self._pattern.sub(replaced, text)

    def json(self, text: str) -> str:
        """JSON, or lines of JSON, after replacement. Everything but the strings stays byte by byte."""
        key = ""

        def replaced(match: re.Match[str]) -> str:
            nonlocal key
            token, colon = match.groups(default="")
            word = json.loads(token, strict=False)
            key = word.lower() if colon else key
            fresh = self.text(word) if colon else self._value(word, key)
            return match[0] if fresh == word else json.dumps(fresh, ensure_ascii=token.isascii()) + colon

        return _STRING.sub(replaced, text)

    def settings(self, text: str) -> str:
        """The description of a system after replacement. Names that it gives to hosts are replaced too."""

        def replaced(match: re.Match[str]) -> str:
            names = re.sub(
                r"(['\"])([^'\"]*\w[^'\"]*)\1",
                lambda quoted: f"{quoted[1]}{self.name('host', quoted[2])}{quoted[1]}",
                match[2],
            )
            return f"{match[1]}{names}]"

        return self.text(_HOST_PATTERNS.sub(replaced, text))

    def name(self, kind: str, word: str) -> str:
        """The alias of a word of a kind. A host with its domain has the alias of the host."""
        alias = self.alias(kind, word.partition(".")[0] if kind == "host" else word)
        self.used.add((kind, alias))
        return alias

    def _value(self, value: str, key: str) -> str:
        """A string of JSON, with its key, after replacement."""
        if value and (kind := _TELLING.get(key)):
            return self.name(kind, value)
        kind = _NAMES.get(key)
        return self.name(kind, value) if kind and _NAME.fullmatch(value) else self.text(value, key)

    def _folder_rules(self) -> Iterator[Rule]:
        if self._folders:
            pattern = rf"{_BEGINS_FOLDER}(?:{_any(self._folders)})(?![\w+-])(?!\.\w)"
            yield "folder", pattern, lambda word: self.name(*self._folders[word])
        part = r"[\w.+@%~-]+"
        yield "path", rf"{_BEGINS_FOLDER}/(?!/)(?!(?:{_STAY})(?![\w.+@%~-])){part}(?:/+{part})+/?", self._path

    def _login_rules(self) -> Iterator[Rule]:
        hosts, users = self.originals.names["host"], self.originals.users
        if users:
            at = "|".join(filter(None, [_any(hosts), r"[A-Za-z][\w-]*\d[\w.-]*\w"]))
            yield "login", rf"(?<![\w.+-])(?:{_any(users)})@(?:{at})(?![\w@-])", self._login
        if distinct := self.originals.distinct["host"]:
            yield "login_at", rf"(?<![\w.+-])[A-Za-z][\w.+-]*@(?:{_any(distinct)})(?![\w-])", self._login
        mail = r"(?<![\w.+-])(?!git@)[\w.+-]+(?:@[\w.+-]+)*@(?:[A-Za-z][A-Za-z0-9-]*\.)+[A-Za-z]{2,}(?![\w@-])"
        yield "mail", mail, lambda word: self.name("mail", word)

    def _name_rules(self) -> Iterator[Rule]:
        for kind, introduction in (("host", _SAYS_HOST), ("user", _SAYS_USER), ("account", _SAYS_ACCOUNT)):
            names, distinct = self.originals.names[kind], self.originals.distinct[kind]
            if names:
                yield f"{kind}_said", f"{introduction}(?:{_any(names)}){_SAID}", partial(self._behind, kind)
            if names and kind == "host":
                yield "host_logs", rf"\[(?:{_any(names)})(?=:\d+\])", partial(self._behind, kind)
                lists = {bare for host in distinct if len(bare := host.rstrip("0123456789")) > 1 and bare != host}
                if lists:
                    yield "host_list", rf"{_BEGINS}(?:{_any(lists)})\[[\d,-]+\]", partial(self.name, kind)
            if names and kind == "user":
                yield "user_home", rf"(?<![\w/~])~(?:{_any(names)})(?![\w-])", partial(self._behind, kind)
            if distinct:
                domain = rf"(?:{_DOMAIN}(?![\w-]))?" if kind == "host" else ""
                yield kind, rf"{_BEGINS}(?i:{_any(distinct)}){domain}{_ENDS}", partial(self.name, kind)

    def _hardware_rules(self) -> Iterator[Rule]:
        yield "hardware", _HARDWARE, partial(self.name, "hardware")
        yield "serial", _SERIAL, lambda word: self._instead(word, "hardware", re.split(r"[:=\s'\"]", word)[-1])
        yield "address", _ADDRESS, self._address

    def _path(self, path: str) -> str:
        """A path below an unknown folder after replacement. A name of a run in it stays, and all that follows."""
        parts = path.split("/")
        at = next((number for number, part in enumerate(parts) if RUN_NAME.fullmatch(part)), len(parts))
        return "/".join([self.name("path", "/".join(parts[:at]).rstrip("/")), *parts[at:]])

    def _login(self, word: str) -> str:
        user, _, host = word.partition("@")
        return f"{self.name('user', user)}@{self.name('host', host)}"

    def _behind(self, kind: str, word: str) -> str:
        """A word that ends in a name of the kind, with that name replaced."""
        return self._instead(
            word, kind, max((name for name in self.originals.names[kind] if word.endswith(name)), key=len)
        )

    def _instead(self, word: str, kind: str, name: str) -> str:
        return word[: len(word) - len(name)] + self.name(kind, name)

    def _address(self, word: str) -> str:
        """An address after replacement. 127.0.0.1 and masks stay: they say nothing about a machine."""
        numbers = [int(number) for number in word.split(".")] if ":" not in word else [1]
        return word if numbers[0] in (0, 127, 255) or max(numbers) > 255 else self.name("address", word)


def _variants(originals: Originals) -> Iterator[tuple[str, tuple[str, str]]]:
    """Spellings of folders in texts, each with (kind, folder)."""
    own_folders = [folder for folder in (*originals.homes, *originals.clones) if folder.strip("/")]
    apart = [
        prefix
        for prefix in originals.prefixes
        if not _is_of_the_system(prefix) and not any(map(Path(prefix).is_relative_to, own_folders))
    ]
    for kind, folders in (("prefix", apart), ("home", originals.homes), ("clone", originals.clones)):
        for folder in folders:
            bare = folder.rstrip("/")
            for spelling in (html.escape(bare), bare.replace(" ", "\\ "), urllib.parse.quote(bare), bare):
                if bare:
                    yield spelling, (kind, bare)  # where a folder is both a home and a clone, the clone counts


def _is_of_the_system(folder: str) -> bool:
    return Path(folder).parts[1:2] == () or Path(folder).parts[1] in SYSTEM_FOLDERS


def _any(words: Iterable[str]) -> str:
    """A pattern that matches any of these words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))


def still_there(originals: Originals, text: str) -> str:
    """A distinct name that a text still contains; empty where there is none."""
    names = frozenset[str]().union(*originals.distinct.values())
    match = re.search(rf"{_BEGINS}(?i:{_any(names)}){_ENDS}", text) if names else None
    return match[0] if match else ""
