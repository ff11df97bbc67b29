"""Find Spack, or clone it, and run it so that neither the user's Spack nor its settings are touched."""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign import STATE, files
from mpi_campaign.children import asking, environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.processes import guarded

HOME = STATE / "spack"
SETTINGS = HOME / "settings.json"
OLDEST = (1, 1)  # the first version with `path_override_env_var`, by which spack.yaml finds a system

# Releases that are cloned where there is no Spack. They are known to work together.
SPACK_GIT, SPACK_TAG = "https://github.com/spack/spack.git", "v1.1.0"
PACKAGES_GIT, PACKAGES_TAG = "https://github.com/spack/spack-packages.git", "v2026.06.0"
BUILTIN = Path("repos/spack_repo/builtin")

# Spack reads all its recipes first, on a slow file system for minutes; a clone is fetched over the network.
CALL_SECONDS, CLONE_SECONDS = 900.0, 3600.0

PACKAGES_VARIABLE = "MPI_CAMPAIGN_SPACK_PACKAGES"


@dataclass(frozen=True)
class Spack:
    """An executable `spack`, its version, and the clone of its packages; None where Spack finds them itself."""

    executable: Path
    version: str
    packages: Path | None = None

    @property
    def variables(self) -> dict[str, str]:
        """Variables of every call of Spack: no settings of the user, caches of this clone, a Python that has clingo."""
        return {
            "SPACK_DISABLE_LOCAL_CONFIG": "1",
            "SPACK_USER_CACHE_PATH": str(HOME / "cache"),
            "SPACK_PYTHON": sys.executable,
        }

    def environment(self) -> dict[str, str]:
        """The whole environment of every call of Spack."""
        return environ.built(environ.SPACK, self.variables)

    def call(self, *words: str, folder: Path | None = None) -> asking.Answer:
        """Run a short command of Spack. folder: of the Spack environment in which it runs."""
        where = ("-e", str(folder)) if folder else ()
        command = [str(self.executable), "--color=never", *where, *words]
        return asking.ask(command, env=self.environment(), seconds=CALL_SECONDS)

    def machine(self) -> tuple[str, str]:
        """Platform and operating system of this machine, as Spack calls them; ("", "") where it does not say."""
        platform, _, rest = self.call("arch").stdout.strip().partition("-")
        return platform, rest.rpartition("-")[0]


def versions(package: str) -> list[str]:
    """The versions of a package that Spack knows, the newest first. Raises CampaignError."""
    spack = find()
    with tempfile.TemporaryDirectory() as scope:
        if spack.packages is not None:
            repositories = {"repos": {"builtin": str(spack.packages / BUILTIN)}}
            Path(scope, "repos.yaml").write_text(json.dumps(repositories))
        done = spack.call("-C", scope, "versions", "--safe", package)
    if not done.good:
        raise CampaignError(f"Spack lists no versions of {package}: {done.trouble or complaint(done.text)}")
    return done.stdout.split()


def is_there() -> bool:
    """Whether there is a Spack to use, whatever its version."""
    return _executable(_settings()) is not None


def _executable(settings: Mapping[str, str]) -> Path | None:
    folders = [settings.get("spack"), os.environ.get("SPACK_ROOT")]
    places = [Path(folder, "bin", "spack") for folder in folders if folder]
    on_path = shutil.which("spack")
    places += [*([Path(on_path)] if on_path else []), HOME / "spack" / "bin" / "spack"]
    return next((place.resolve() for place in places if os.access(place, os.X_OK) and place.is_file()), None)


def find() -> Spack:
    """The first Spack among these places: the folder given to `setup`, $SPACK_ROOT, PATH, the clone that `setup` made.
    Raises CampaignError where there is no Spack, or it does not run or is too old."""
    settings = _settings()
    executable = _executable(settings)
    if executable is None:
        raise CampaignError(
            "there is no Spack here (SPACK_ROOT, PATH): put one on PATH, or have it cloned with "
            "./campaign setup --provider spack"
        )
    packages = settings.get("packages") or os.environ.get(PACKAGES_VARIABLE)
    clone = HOME / "spack-packages"
    packages_folder = Path(packages) if packages else clone if clone.is_dir() else None
    return _checked(executable, packages_folder)


def _checked(executable: Path, packages: Path | None) -> Spack:
    spack = Spack(executable, "", packages)
    done = spack.call("--version")
    match = re.match(r"(\d+)\.(\d+)\S*", done.stdout.strip())
    if not done.good or match is None:
        raise CampaignError(f"{executable} does not run: {done.trouble or complaint(done.text)}")
    if (int(match[1]), int(match[2])) < OLDEST:
        raise CampaignError(
            f"{executable} is Spack {match[0]}; {OLDEST[0]}.{OLDEST[1]} or newer is needed: put a newer one on PATH, "
            "or have it cloned with ./campaign setup --provider spack --clone"
        )
    if packages is not None and not (packages / BUILTIN / "repo.yaml").is_file():
        raise CampaignError(
            f"{packages} is not a clone of Spack's packages, it has no {BUILTIN}/repo.yaml: give another folder with "
            "./campaign setup --provider spack --packages FOLDER"
        )
    return Spack(executable, match[0], packages)


def _settings() -> dict[str, str]:
    try:
        document = json.loads(SETTINGS.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CampaignError(f"{SETTINGS} cannot be read ({error}): remove it and start again") from error
    items = document.items() if isinstance(document, dict) else ()
    return {name: value for name, value in items if isinstance(value, str)}


def remember(*, spack: Path | None, packages: Path | None) -> None:
    """Store which Spack, and which clone of its packages, this clone uses. Raises CampaignError for wrong folders."""
    settings = _settings()
    if spack is not None:
        executable = spack / "bin" / "spack"
        if not executable.is_file():
            raise CampaignError(f"{spack} is not a Spack: it has no bin/spack")
        settings["spack"] = str(spack.resolve())
    if packages is not None:
        settings["packages"] = str(packages.resolve())
        if not (packages / BUILTIN / "repo.yaml").is_file():
            raise CampaignError(f"{packages} is not a clone of Spack's packages: it has no {BUILTIN}/repo.yaml")
    HOME.mkdir(parents=True, exist_ok=True)
    files.write_atomically(SETTINGS, json.dumps(settings, indent=1) + "\n")


def clone(say: Callable[[str], None]) -> None:
    """Clone the tested releases of Spack and of its packages, and use them from now on. Raises CampaignError where that
    fails."""
    if shutil.which("git") is None:
        raise CampaignError("Spack cannot be cloned, there is no git on PATH: install git, or put a Spack on PATH")
    HOME.mkdir(parents=True, exist_ok=True)
    for name, address, tag in (("spack", SPACK_GIT, SPACK_TAG), ("spack-packages", PACKAGES_GIT, PACKAGES_TAG)):
        target = HOME / name
        if target.is_dir():
            continue
        say(f"cloning {address} at {tag}")
        new_folder = HOME / f".new-{name}"
        shutil.rmtree(new_folder, ignore_errors=True)
        words = ["git", "clone", "--quiet", "--depth=1", "--branch", tag, address, str(new_folder)]
        done = asking.ask(words, env=environ.built(environ.NETWORK), seconds=CLONE_SECONDS)
        if not done.good:
            raise CampaignError(
                f"{address} cannot be cloned ({done.trouble or complaint(done.stderr)}): on a machine without a "
                "network, give clones that lie here with ./campaign setup --provider spack --spack FOLDER "
                "--packages FOLDER"
            )
        new_folder.rename(target)
    remember(spack=HOME / "spack", packages=HOME / "spack-packages")


def complaint(output: str, longest: int = 600) -> str:
    """Spack's error and the reasons below it, in one line of at most `longest` characters."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    first = next((n for n, line in enumerate(lines) if re.match(r"(==> )?(Error|fatal|error)\b", line)), None)
    if first is None:
        return re.sub(r"^==> (Warning: )?", "", lines[-1]) if lines else "it said nothing"
    quoted: list[str] = []
    for line in lines[first:]:
        if quoted and line.startswith(("==>", "Traceback")):
            break
        quoted.append(re.sub(r"^==> ", "", line))
    text = " ".join(quoted)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def lacks_packages(spack: Spack, folder: Path | None = None) -> str | None:
    """Why Spack knows no packages, in one line; None where it does. folder: of an environment that names them."""
    done = spack.call("list", "openmpi", folder=folder)
    if "openmpi" in done.stdout.split():
        return None
    reason = done.trouble or complaint(done.text)
    return f"Spack has no packages: {reason} ({hint('git clone')})"


def hint(output: str) -> str:
    """What to do about an error of Spack; empty where that is not known."""
    hints = (
        (r"[Pp]ermission denied", "this clone must be writable, and Spack's folder readable"),
        (r"No space left", f"the disk with {HOME} is full"),
        (
            r"git clone|ls-remote|Could not resolve|unable to access|Failed to (clone|fetch).*repo",
            "Spack's packages cannot be cloned: give a clone that lies here with ./campaign setup --provider spack "
            "--packages FOLDER",
        ),
        (r"clingo", "Spack's solver is missing: remove .venv and start again, ./campaign installs it there"),
        (r"externally|buildable|external", "see which externals the system's spack/packages.yaml has"),
        (
            r"URLError|urlopen|[Ff]etch|All fetchers failed",
            "nothing to fetch it from: name a mirror that has it, see docs/spack.md",
        ),
    )
    return next((what for pattern, what in hints if re.search(pattern, output)), "")


def together(
    spack: Spack, jobs: Mapping[Path, Sequence[str]], on_tick: Callable[[], None], at_once: int
) -> dict[Path, str]:
    """Run one command in each environment, several at once. The output of a command goes to `log` in its environment.

    jobs: {folder of the environment: words of the command}.  Returns {folder: output} of the commands that failed.
    Raises KeyboardInterrupt after an interrupt, when all commands have ended.
    """
    HOME.mkdir(parents=True, exist_ok=True)
    listing = HOME / "jobs"
    listing.write_text("".join(f"{folder}\n{' '.join(words)}\n" for folder, words in jobs.items()))
    for folder in jobs:
        (folder / "log").unlink(missing_ok=True)
    script = '"$0" --color=never -e "$1" $2 > "$1/log" 2>&1 || echo "$1"'
    words = ["xargs", "-a", str(listing), "-d", "\\n", "-n", "2", "-P", str(at_once), "sh", "-c", script]
    ended = guarded.run([*words, str(spack.executable)], lambda _line: None, on_tick, env=spack.environment())
    if ended.interrupted:
        raise KeyboardInterrupt
    failed = set(ended.output)
    return {folder: (folder / "log").read_text(errors="replace") for folder in jobs if str(folder) in failed}
