"""Words that tell on whose machine a run was made, and what stands for them in a public copy.

Folders are replaced where paths begin (`/home/me/x` -> `/HOME/x`). A name of a host, a user or an account is replaced
as a whole word. A name that is an ordinary word too (`node`, `root`) is replaced only where the text says that it is
one (`root@node`, `"host": "node"`), so that no other text is damaged. What replaces a word depends on it and on a
secret key alone: the same word is the same everywhere, and nobody without the key can try out what it was.
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
from postprocess.records.format import SCHEMA_FOLDER

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
    "mail": "mail-{}",
    "address": "address-{}",
    "hardware": "hardware-{}",
}
SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "etc", "dev", "proc", "sys", "opt", "boot")
"""What lies there is the same on many machines, and stays."""
RUN_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")

# Keys of JSON whose values are names.
_NAMES = {
    "host": "host", "hostname": "host", "nodes": "host", "job_nodelist": "host", "nodelist": "host",
    "slurm_nodelist": "host", "slurm_job_nodelist": "host", "slurmd_nodename": "host",
    "user": "user", "username": "user", "logname": "user", "slurm_job_user": "user",
    "account": "account", "slurm_job_account": "account", "slurm_account": "account",
}  # fmt: skip
# Keys whose values look like addresses, and are versions.
_VERSIONS = {"version", "package_version", "blas", "library", "mpi_library_version", "compiler", "kernel", "firmware"}

# Words that some machine or account is called, and that mean something else in most texts.
_WORD = re.compile(r"[^\W_]+")
_ORDINARY = Path(__file__).with_name("ordinary_words.txt")
"""What hosts and users are called too."""


@cache
def _vocabulary() -> frozenset[str]:
    """Ordinary words, in small letters: those of _ORDINARY, of the schemas, and of names that the campaign gives."""
    values = [value for axis in AXES.values() for value in axis.values]
    ours = [*registry.LIBRARIES, *CONFIGURATIONS, *suites.SUITES, *BENCHMARKS, *values]
    texts = [path.read_text(encoding="utf-8") for path in sorted(SCHEMA_FOLDER.glob("*.json"))]
    texts.append(_ORDINARY.read_text(encoding="utf-8"))
    return frozenset(word.lower() for text in (*texts, *ours) for word in _WORD.findall(text))


def is_ordinary(name: str) -> bool:
    """Whether a name may stand for something else in a text."""
    return len(name) < 3 or name.isdigit() or name.lower() in _vocabulary()


def namer(key: bytes) -> Namer:
    """Aliases that depend on this key."""

    def alias(kind: str, word: str) -> str:
        said = f"{kind} {word.lower()}".encode("utf-8", "surrogateescape")
        return FORMS[kind].format(hmac.new(key, said, "sha256").hexdigest()[:8])

    return alias


@dataclass(frozen=True)
class Originals:
    """What is to be replaced. Folders are absolute paths; a host may have its domain.

    facts: words, in small letters, of what the run's processor, compiler and the like are called.
    """

    clones: frozenset[str] = frozenset()
    homes: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()

    def __or__(self, other: "Originals") -> "Originals":
        return Originals(*(getattr(self, one.name) | getattr(other, one.name) for one in fields(self)))

    @property
    def names(self) -> Mapping[str, frozenset[str]]:
        """By kind; of hosts with and without their domains."""
        hosts = {part for host in self.hosts for part in (host, host.partition(".")[0])}
        return {"host": frozenset(hosts), "user": self.users, "account": self.accounts}

    @property
    def distinct(self) -> Mapping[str, frozenset[str]]:
        """Those of `names` that are no ordinary words and no facts, which stand for nothing else in any text."""
        return {
            kind: frozenset(name for name in names if not is_ordinary(name) and name.lower() not in self.facts)
            for kind, names in self.names.items()
        }


_FOLDER = r"/[^\s'\"=:;,<>|()\[\]{}]*?"
_SAYS_ACCOUNT = r"(?:--(?:account|project)[= ]['\"]?|#(?:SBATCH|PBS|BSUB|PJM|COBALT)\s+-[AP]\s+|['\"]-A[= ]?)"
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
_NAMED = re.compile(r'"(\w+)"\s*:\s*(?:"([\w.-]+)"|\[((?:\s*"[\w.-]+"\s*,?)+)\])')
_NAME = re.compile(r"[\w.-]+")
_FACT = re.compile(r'"(?:cpu|os|kernel|firmware|compiler|blas|architecture)"\s*:\s*"([^"]*)"')


def found_in(text: str) -> Originals:
    """What a file says of folders, hosts, users and accounts where it can be nothing else."""
    found: dict[str, set[str]] = {one.name: set() for one in fields(Originals)}
    for name, pattern in _FOUND:
        found[name].update(pattern.findall(text))
    for key, one, several in _NAMED.findall(text):
        if kind := _NAMES.get(key.lower()):
            found[f"{kind}s"].update([one] if one else _NAME.findall(several))
    found["clones"] = {f"/{folder.lstrip('/')}" for folder in found["clones"] if folder.strip("/")}
    found["hosts"].discard("localhost")
    found["facts"].update(word.lower() for fact in _FACT.findall(text) for word in _WORD.findall(fact))
    return Originals(*(frozenset(found[one.name]) for one in fields(Originals)))


Rule = tuple[str, str, Callable[[str], str]]
"""Name, pattern without groups, what becomes of that which it finds."""

# Where a word may begin and end. A folder may stand behind an option of a compiler.
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
    """Replaces in the texts of one run. `used` are the aliases that it has put in, as (kind, alias).

    kept: words that stay as they are whatever they look like, toolchains' names for example.
    """

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
        """A text without what is to be replaced. key: under which it stands in JSON."""
        if text in self.kept:
            return text

        def replaced(match: re.Match[str]) -> str:
            rule = str(match.lastgroup)
            stays = match[0] in self.kept or (rule == "address" and key in _VERSIONS)
            return match[0] if stays else self._handlers[rule](match[0])

        return self._pattern.sub(replaced, text)

    def json(self, text: str) -> str:
        """The same of JSON, or of lines of it: all but the strings stays byte by byte."""
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
        """The same of the description of a system: what it says that hosts are called is replaced too."""

        def replaced(match: re.Match[str]) -> str:
            names = re.sub(
                r"(['\"])([^'\"]*\w[^'\"]*)\1", lambda one: f"{one[1]}{self.name('host', one[2])}{one[1]}", match[2]
            )
            return f"{match[1]}{names}]"

        return self.text(_HOST_PATTERNS.sub(replaced, text))

    def name(self, kind: str, word: str) -> str:
        """The alias of a name, or another word of a kind. That of a host with its domain is that of the host."""
        alias = self.alias(kind, word.partition(".")[0] if kind == "host" else word)
        self.used.add((kind, alias))
        return alias

    def _value(self, value: str, key: str) -> str:
        """A string of JSON that stands under a key."""
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
        for kind, said in (("host", _SAYS_HOST), ("user", _SAYS_USER), ("account", _SAYS_ACCOUNT)):
            names, distinct = self.originals.names[kind], self.originals.distinct[kind]
            if names:
                yield f"{kind}_said", f"{said}(?:{_any(names)}){_SAID}", partial(self._behind, kind)
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
        """A folder that nothing is known of; which run it is of stays."""
        parts = path.split("/")
        at = next((number for number, part in enumerate(parts) if RUN_NAME.fullmatch(part)), len(parts))
        return "/".join([self.name("path", "/".join(parts[:at]).rstrip("/")), *parts[at:]])

    def _login(self, word: str) -> str:
        user, _, host = word.partition("@")
        return f"{self.name('user', user)}@{self.name('host', host)}"

    def _behind(self, kind: str, word: str) -> str:
        """A word at whose end a name of the kind stands."""
        return self._instead(
            word, kind, max((one for one in self.originals.names[kind] if word.endswith(one)), key=len)
        )

    def _instead(self, word: str, kind: str, name: str) -> str:
        return word[: len(word) - len(name)] + self.name(kind, name)

    def _address(self, word: str) -> str:
        """127.0.0.1 and masks say nothing of a machine."""
        numbers = [int(one) for one in word.split(".")] if ":" not in word else [1]
        return word if numbers[0] in (0, 127, 255) or max(numbers) > 255 else self.name("address", word)


def _variants(originals: Originals) -> Iterator[tuple[str, tuple[str, str]]]:
    """Folders as texts may have them -> their kinds and themselves."""
    own = [folder for folder in (*originals.homes, *originals.clones) if folder.strip("/")]
    apart = [
        one for one in originals.prefixes if not _is_of_the_system(one) and not any(map(Path(one).is_relative_to, own))
    ]
    for kind, folders in (("prefix", apart), ("home", originals.homes), ("clone", originals.clones)):
        for folder in folders:
            bare = folder.rstrip("/")
            for one in (html.escape(bare), bare.replace(" ", "\\ "), urllib.parse.quote(bare), bare):
                if bare:
                    yield one, (kind, bare)  # of a folder that is a home and a clone, the clone counts


def _is_of_the_system(folder: str) -> bool:
    return Path(folder).parts[1:2] == () or Path(folder).parts[1] in SYSTEM_FOLDERS


def _any(words: Iterable[str]) -> str:
    """A pattern of one of these, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=lambda one: (-len(one), one))))


def still_there(originals: Originals, text: str) -> str:
    """A name that is no ordinary word and stands in a text; empty where none does."""
    names = frozenset[str]().union(*originals.distinct.values())
    match = re.search(rf"{_BEGINS}(?i:{_any(names)}){_ENDS}", text) if names else None
    return match[0] if match else ""
