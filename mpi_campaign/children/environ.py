"""The environment of everything that the campaign starts: built from short lists, never inherited.

A shell, a module or a batch system sets dozens of variables, and any of them may send a library to another network, a
launcher to another machine or a thread to another core. So every child gets what stands in `PURPOSES` for what it is,
then what its toolchain and the registry of libraries say, then what a person let in by name: `--env NAME`,
`--env NAME=VALUE`, or `environment=` of a partition in a system's settings. docs/environment.md is the page for people.

This module and what it imports use the standard library only: `campaign` imports it before anything is installed.
"""

import ast
import fnmatch
import functools
import json
import os
import pwd
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mpi_campaign import STATE
from mpi_campaign.errors import CampaignError
from mpi_campaign.schedulers import registry as schedulers

_PERSON = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ",
    "LANG", "LANGUAGE", "LC_*", "TERM", "COLUMNS", "LINES", "NO_COLOR", "CI",
)  # fmt: skip
_NETWORK = (
    "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy",
    "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_CONFIG_*", "NETRC", "SSH_AUTH_SOCK",
    "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME",
)  # fmt: skip
_MODULES = (
    "MODULEPATH", "MODULESHOME", "MODULES_*", "LMOD_*", "__LMOD_*", "LOADEDMODULES", "_LMFILES_", "BASH_FUNC_*",
)  # fmt: skip
# How the commands of batch systems find their servers; not what they say of the job that this process may be in.
_BATCH_CLIENTS = (*schedulers.all_of(lambda scheduler: scheduler.of_clients), "KRB5CCNAME")
_BATCH_JOB = schedulers.all_of(lambda scheduler: scheduler.of_jobs)
_BATCH_DEFAULTS = schedulers.all_of(lambda scheduler: scheduler.defaults_of_jobs)
_BATCH_COMMANDS = schedulers.all_of(lambda scheduler: scheduler.defaults_of_commands)
_OURS = ("MPI_CAMPAIGN_*", "CC", "SPACK_ROOT")

LAUNCH, JOB, BUILD, NETWORK, SPACK, SESSION, TESTS = PURPOSES = (
    "launch", "job", "build", "network", "spack", "session", "tests",
)  # fmt: skip
"""What a child is: a launch on this machine; one in a job of a batch system, which tells launchers their nodes; a
compiler; whatever fetches; Spack; ReFrame, and in it this package; pytest."""

PASSES: Mapping[str, tuple[str, ...]] = {
    LAUNCH: _PERSON,
    JOB: _PERSON + _BATCH_JOB,
    BUILD: (*_PERSON, "GIT_CONFIG_*"),  # whom git trusts: a build asks for its commit
    NETWORK: _PERSON + _NETWORK,
    SPACK: _PERSON + _NETWORK + _MODULES,
    SESSION: _PERSON + _NETWORK + _MODULES + _BATCH_CLIENTS + _OURS,
    TESTS: _PERSON + _NETWORK + _MODULES + _OURS + ("PYTEST_*", "CAMPAIGN_TEST_*", "PIP_*", "DISPLAY"),
}

# Variables that would change a launch. Where they are kept out, they are named at the start, in manifest and records.
_STEERS = (
    *_BATCH_JOB, *_BATCH_DEFAULTS, "OMPI_*", "OPAL_*", "ORTE_*", "PMIX_*", "PRTE_*", "MPICH_*", "MPIR_*", "MPIO_*",
    "MPI_*", "MPIEXEC_*", "HYDRA_*", "PMI_*", "PMI2_*", "I_MPI_*", "FI_*", "UCX_*", "UCC_*", "UCS_*", "HCOLL_*",
    "SHARP_*", "MV2_*", "MVP_*", "PSM_*", "PSM2_*", "PSM3_*", "HFI_*", "IBV_*", "RDMAV_*", "MLX4_*", "MLX5_*", "PIOM_*",
    "NMAD_*", "PADICO_*", "OMP_*", "GOMP_*", "KMP_*", "LIBOMP_*", "OPENBLAS_*", "GOTO_*", "BLIS_*", "MKL_*", "VECLIB_*",
    "HWLOC_*", "LD_*", "MALLOC_*", "GLIBC_TUNABLES", "NUMA_*", "TBB_*", "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH",
    "CFLAGS", "CPPFLAGS", "LDFLAGS", "CMAKE_*", "BASH_FUNC_mpi*", "BASH_FUNC_srun*",
)  # fmt: skip
_STEERS_BUILDS = (
    "PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "CPATH", "C_INCLUDE_PATH", "*FLAGS",
    "CMAKE_*", "PKG_CONFIG_*", "*_CC", "*_CFLAGS", "*_LDFLAGS", "*_LIBS",
)  # fmt: skip
_STEERS_NOTHING = ("HOSTNAME", "ENVIRONMENT", "MPI_CAMPAIGN_*", *_BATCH_CLIENTS)

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|JWT", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FORMS = "NAME, with the value that it has in this shell, or NAME=VALUE"

LET_IN = "MPI_CAMPAIGN_LET_IN"
"""The variable that tells children what was let in: {name: value}, null for the value that the variable has."""

LIBRARIES = "LD_LIBRARY_PATH"
NEEDED = "MPI_CAMPAIGN_LIBRARIES"
"""The variable that tells children which folders of LD_LIBRARY_PATH are let in because a tool needs them."""

LAUNCH_HOME = STATE / "home"
"""HOME of launches: launchers and libraries read settings below it."""

# Settings of launchers and libraries in a person's home; no launch sees them.
_HOME_FILES = (
    ".openmpi/mca-params.conf", ".prte/mca-params.conf", ".pmix/mca-params.conf", ".mpiexec.hydra.conf", "ucx.conf",
)  # fmt: skip

# Options of a person's pip that say where packages come from, not where they go.
_PIP = (
    "index-url", "extra-index-url", "no-index", "find-links", "trusted-host", "proxy", "cert", "client-cert", "timeout",
    "default-timeout", "retries", "cache-dir", "keyring-provider",
)  # fmt: skip
_PIP_SECTIONS = ("global", "install", ":env:")  # the last section that has an option wins
_PIP_SECONDS = 60.0

Requested = Mapping[str, str | None]


def asked(texts: Iterable[str]) -> dict[str, str | None]:
    """The variables that `NAME` and `NAME=VALUE` let in; None stands for the value that NAME has. Raises CampaignError
    for any other text."""
    by_name: dict[str, str | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not _NAME.fullmatch(name) or "\0" in text:
            raise CampaignError(f"environment variable '{text}' is not of the form {_FORMS}")
        if name == "PATH":  # in a launch it would hide the toolchain's launcher
            raise CampaignError(
                "PATH is not let in: this shell's passes, behind the toolchain's own programs; set it there"
            )
        by_name[name] = value if equals else None
    return by_name


def resolved(texts: Iterable[str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The texts of `asked`, each as NAME=VALUE. Raises CampaignError for a NAME that has no value."""
    by_name = asked(texts)
    for name, value in by_name.items():
        if value is None and name not in environ:
            raise CampaignError(f"--env {name}: it is not set in this shell: set it, or give --env {name}=VALUE")
    return tuple(f"{name}={environ[name] if value is None else value}" for name, value in by_name.items())


def requested(environ: Mapping[str, str] = os.environ) -> Requested:
    """The variables that were let in, read from LET_IN. Raises CampaignError where that cannot be read."""
    text = environ.get(LET_IN, "")
    try:
        inside = json.loads(text or "{}")
    except ValueError:
        inside = None
    if not isinstance(inside, dict) or not all(
        _NAME.fullmatch(name) and isinstance(value, str | None) for name, value in inside.items()
    ):
        raise CampaignError(f"{LET_IN}='{text}' is no object of names and values: unset it, and use --env")
    return inside


def passes(name: str, purpose: str) -> bool:
    """Whether a child for this purpose gets a variable of this process without it being let in."""
    return is_among(name, PASSES[purpose])


def is_among(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name fits one of these patterns, such as SLURM_*."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def built(
    purpose: str, *own: Mapping[str, str], environ: Mapping[str, str] = os.environ, libraries: str = ""
) -> dict[str, str]:
    """The whole environment of a child.

    own: variables that the child needs; the last mapping wins. In launches and builds, variables that were let in
    replace them; LD_LIBRARY_PATH does in all children.  libraries: folders of the toolchain's own libraries, which come
    before those of an LD_LIBRARY_PATH that was let in.
    """
    passing = {name: value for name, value in environ.items() if passes(name, purpose)}
    variables = {"PATH": os.defpath, **_of_nameless(), **passing}
    return variables | added(purpose, *own, inside=requested(environ), environ=environ, libraries=libraries)


def added(
    purpose: str,
    *own: Mapping[str, str],
    inside: Requested,
    environ: Mapping[str, str] = os.environ,
    libraries: str = "",
) -> dict[str, str]:
    """The variables that a child gets beside those that pass. Arguments as in `built`."""
    beside = {"HOME": str(launch_home())} if purpose in (LAUNCH, JOB) else {}
    if purpose == BUILD:
        beside["LC_ALL"] = "C.UTF-8"  # compilers tell their errors in the language that `causes` reads
    for variables in own:
        beside |= variables
    for name, given in inside.items():
        value = environ.get(name) if given is None else given
        if value is not None and (purpose in (LAUNCH, JOB, BUILD) or name == LIBRARIES):
            first = (libraries or beside.get(name, "")) if name == LIBRARIES else ""
            beside[name] = _joined(first, value) if name == LIBRARIES else value
    return beside


def let(texts: Iterable[str], of_system: Requested) -> None:
    """Let variables in: from now on, launches and builds of this process and of its children get what a person names,
    and what the system names for the network. Raises CampaignError for a text that names no variable."""
    _let({**of_system, **asked(texts)})


def need(folders: Iterable[str]) -> None:
    """Let in folders of LD_LIBRARY_PATH without which a tool does not start; `let` leaves them in."""
    os.environ[NEEDED] = _joined(os.environ.get(NEEDED, ""), *folders)
    _let(dict(requested()))


def _joined(*paths: str) -> str:
    """Search paths one after the other, each folder once."""
    return ":".join(dict.fromkeys(filter(None, ":".join(paths).split(":"))))


def _let(inside: dict[str, str | None]) -> None:
    given, needed = inside.get(LIBRARIES, ""), os.environ.get(NEEDED, "")
    if needed and given is not None:
        inside[LIBRARIES] = _joined(given, needed)
    os.environ.pop(LET_IN, None)
    if inside:
        os.environ[LET_IN] = json.dumps(inside)


@functools.cache
def _of_nameless() -> dict[str, str]:
    """What a user has who is not in the system's list of users, as in a container: compilers' wrappers and ReFrame ask
    for a name and a home."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        name = str(os.getuid())
        return {"USER": name, "LOGNAME": name, "HOME": str(launch_home())}
    return {}


def launch_home() -> Path:
    """HOME of launches: an empty folder of this clone."""
    LAUNCH_HOME.mkdir(parents=True, exist_ok=True)
    return LAUNCH_HOME


def script(purpose: str, kept: Iterable[str], variables: Mapping[str, str]) -> list[str]:
    """Lines for bash that leave a child only the variables that pass, those of these names, and these variables.

    Functions of a shell go too: one that is called mpiexec would be started instead of the launcher. The variables are
    written here rather than given to ReFrame, which carries out what stands in a value between `$(` and `)`.
    """
    names = "|".join(dict.fromkeys((*PASSES[purpose], *kept)))
    return [
        "builtin unset -f $(builtin compgen -A function)",
        f'for name in $(compgen -e); do case "$name" in {names}) ;; *) unset "$name" 2>/dev/null ;; esac; done',
        *(f"export {name}={shlex.quote(value)}" for name, value in variables.items()),
    ]


def steers(name: str) -> bool:
    """Whether a variable would change a launch or a build."""
    return is_among(name, _STEERS) and not is_among(name, _STEERS_NOTHING)


def is_of_batch_system(name: str) -> bool:
    """Whether a variable describes a job of a batch system, or is a default of its commands."""
    return is_among(name, (*_BATCH_JOB, *_BATCH_DEFAULTS, *_BATCH_COMMANDS))


def steers_builds(name: str) -> bool:
    """Whether a compiler or CMake would build a different program with this variable."""
    return is_among(name, _STEERS_BUILDS)


def kept_out(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables of this process that would change a launch and are kept out: {name: value}. Files in a person's home
    that launchers and libraries read are listed too, by path."""
    inside = requested(environ)
    text_by_name = {
        name: for_record(name, value)
        for name, value in sorted(environ.items())
        if steers(name) and name not in inside and not passes(name, LAUNCH)
    }
    if "HOME" not in inside:
        home = Path(environ.get("HOME") or "/nonexistent")
        text_by_name |= {f"~/{name}": "a file" for name in _HOME_FILES if (home / name).is_file()}
    return text_by_name


def for_record(name: str, value: str) -> str:
    """A variable's value for a record. A value that looks like a secret is left out."""
    return "(not told: a secret)" if _SECRET.search(name) else value


def as_recorded(environ: Mapping[str, str] = os.environ) -> dict[str, dict[str, str]]:
    """For the manifest and the records: names and values of what was kept out of launches, and of what was let in."""
    inside = requested(environ)
    values = {name: environ.get(name, "") if value is None else value for name, value in sorted(inside.items())}
    return {"kept_out": kept_out(environ), "let_in": values}


def summary(kept: Mapping[str, str], inside: Requested) -> list[str]:
    """Lines for the start of a run: one about variables that were kept out, one about those that were let in. A line
    about no variables is left out."""
    lines = []
    if kept:
        files = ", --env HOME the files" * any(name.startswith("~") for name in kept)
        lines.append(f"kept out of launches: {_in_short(list(kept))} (--env NAME lets one in{files})")
    if inside:
        lines.append(f"let into launches: {', '.join(inside)}")
    return lines


def _in_short(names: Sequence[str]) -> str:
    """Names in a line. Of more than three with the same beginning, as in a batch job, the first and how many more."""
    families = {
        name: next((pattern for pattern in _STEERS if fnmatch.fnmatchcase(name, pattern)), name) for name in names
    }
    counts = Counter(families.values())
    words = []
    for name, family in families.items():
        if counts[family] > 3:
            words.append(f"{name} and {counts[family] - 1} more of {family}")
            counts[family] = 0
        elif counts[family]:
            words.append(name)
    return ", ".join(words)


def clean_libraries() -> None:
    """Hide from the libraries of this process what would change them. `os.environ` keeps what launches may be let in.
    One thread of OpenBLAS is enough here. Where it may start no more, it interrupts the process."""
    for name in os.environ:
        if not passes(name, SESSION):
            os.unsetenv(name)
    os.putenv("OPENBLAS_NUM_THREADS", "1")
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull, "MPLCONFIGDIR": str(STATE / "matplotlib")}


def of_pip(python: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The whole environment of a pip. From the person's pip settings it takes index, proxy and certificates only. Other
    settings (`--user`, a target, constraints) would put packages elsewhere.  python: the interpreter of the pip."""
    base = built(NETWORK, environ=environ)
    names = {"PIP_CONFIG_FILE", *map(_pip_variable, _PIP)}
    sources = {name: value for name, value in environ.items() if name in names}
    try:
        done = subprocess.run(
            [python, "-I", "-m", "pip", "config", "list"],
            capture_output=True,
            check=False,
            timeout=_PIP_SECONDS,
            env={**base, **sources, "PIP_QUIET": "0", "PIP_USER": "0"},  # else it lists less
            stdin=subprocess.DEVNULL,
        )
        if done.returncode == 0:
            sources = pip_variables(done.stdout.decode(errors="replace"))
    except (OSError, subprocess.TimeoutExpired):
        pass
    return {**base, **sources, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INPUT": "1"}


def pip_variables(listed: str) -> dict[str, str]:
    """The settings in `pip config list` that say where packages come from, as environment variables."""
    ranked: dict[str, tuple[int, str]] = {}
    for line in listed.splitlines():
        where, equals, text = line.partition("=")
        section, _, option = where.rpartition(".")
        if not equals or section not in _PIP_SECTIONS or option not in _PIP:
            continue
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
        rank = _PIP_SECTIONS.index(section)
        if isinstance(value, str) and value and rank >= ranked.get(option, (0, ""))[0]:
            ranked[option] = rank, value
    return {_pip_variable(option): value for option, (_, value) in ranked.items()}


def _pip_variable(option: str) -> str:
    """The environment variable of an option of pip."""
    return f"PIP_{option.upper().replace('-', '_')}"


def assignment(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The variables that were let in, as words for `env` on a command line that can be typed; else none."""
    inside = requested(environ)
    return (f"{LET_IN}={json.dumps(dict(inside))}",) if inside else ()
