"""`campaign systems init`: write a description of this machine, which people then complete."""

import datetime
import itertools
import platform
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import yaml

from mpi_campaign import ROOT, files
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import launches, registry
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.schedulers import registry as schedulers
from mpi_campaign.schedulers.slurm import SCHEDULER as SLURM
from mpi_campaign.systems import externals, known_systems, slurm_description
from mpi_campaign.systems.slurm_description import Description, Partition, Shape, limit_text
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains.spack import tool
from mpi_campaign.toolchains.spack.matrix import Line
from postprocess.drawing.text import first_of, plural

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
SHOWN_NAMES = 8
TEMPLATES = Path(__file__).parent / "templates"

# How a line begins and ends that says why no batch system is described.
_NOT_FOUND, _THIS_ALONE = "a batch system: ", "; settings.py is for this machine alone"

PACKAGES_HEADING = """\
# What is installed on {name}, as Spack found it. `buildable: false`: nothing else of that name is built.
"""


def write(
    name: str,
    *,
    force: bool,
    say: Callable[[str], None],
    scheduler: str = "",
    launcher: str = known_systems.OWN_LAUNCHER,
) -> str:
    """Write systems/NAME. Returns lines for a person about what was found. say: is called with each step meanwhile.

    scheduler: by ReFrame's name; empty: what is found. That of Slurm is described, of another one there is a template.
    launcher: by ReFrame's name, of a system with Slurm.  Raises CampaignError for an illegal name, where the folder
    exists and `force` is not given, or where the scheduler cannot be described.
    """
    if not NAME.fullmatch(name) or name in known_systems.TAKEN:
        raise CampaignError(
            f"'{name}' is no name for a system: lower-case letters, digits, - and _, a letter first, at most 32; not "
            f"{', '.join(sorted(known_systems.TAKEN))}"
        )
    folder = known_systems.SYSTEMS / name
    if folder.exists() and not force:
        raise CampaignError(f"{folder} is there already: choose another name, or write over it with --force")
    facts = _facts(name)
    slurm, no_slurm = (None, "") if scheduler and not schedulers.find(scheduler).is_described else _slurm(say)
    settings = _settings(facts, slurm, no_slurm, scheduler, launcher)
    installed, why_not = _externals(say)
    texts = {"settings.py": settings}
    if installed is not None:
        mpis = [(spec, configurations(Line(spec))) for spec in installed.libraries]
        texts["spack/definitions.yaml"] = _render("definitions.yaml.j2", {**facts, "mpis": mpis})
        packages = {**installed.packages, "ucx": {"require": "+thread_multiple"}}
        texts["spack/packages.yaml"] = _packages_yaml(name, packages)
    missing = list(installed.missing) if installed is not None else [f"what is installed, for Spack: {why_not}"]
    missing += [no_slurm] if no_slurm else []
    notes = [f"{spec} (MPI)" for spec in installed.libraries] + list(installed.notes) if installed is not None else []
    texts["README.md"] = _render(
        "system.md.j2", {**facts, "spack": installed is not None, "notes": notes, "missing": missing}
    )
    try:
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            files.write_atomically(target, text)
    except OSError as error:
        raise CampaignError(f"{folder} cannot be written ({error.strerror}): this clone must be writable") from error
    lines = [f"{folder.relative_to(ROOT)}: {', '.join(texts)}"]
    lines += [f"  found      {note}" for note in notes]
    lines += [f"  not found  {name}" for name in missing]
    spack = " --provider spack" if installed is not None else ""
    if slurm is not None:
        lines += [f"  partition  {line}" for line in _in_words(slurm)]
        lines.append(f"next: ./campaign systems check {name}")
    elif scheduler:
        lines.append(f"next: complete settings.py, then ./campaign run --system {name} --dry-run")
    else:
        lines.append(f"next: ./campaign run --system {name}{spack} --dry-run")
    return "\n".join(lines)


def _settings(facts: Mapping[str, Any], slurm: Description | None, no_slurm: str, scheduler: str, launcher: str) -> str:
    """The text of settings.py: for Slurm, for another batch system, for this machine alone.  slurm, no_slurm: of
    `_slurm`.  Raises CampaignError where what is asked for needs Slurm, which is not here."""
    if slurm is not None:
        return slurm_settings(facts, slurm, scheduler, launcher)
    if launcher != known_systems.OWN_LAUNCHER:
        raise CampaignError(f"--launcher {launcher} starts ranks in jobs of Slurm only, and there is no Slurm here")
    if not scheduler:
        return _render("settings.py.j2", facts)
    batch = schedulers.find(scheduler)
    if batch.is_described:
        raise CampaignError(f"--scheduler {scheduler}: {no_slurm.removeprefix(_NOT_FOUND).removesuffix(_THIS_ALONE)}")
    named = {
        "scheduler": scheduler,
        "title": batch.title,
        "in_words": batch.in_words(scheduler),
        "access": batch.access,
    }
    return _render(batch.template, {**facts, **named})


def _slurm(say: Callable[[str], None]) -> tuple[Description | None, str]:
    """The cluster whose login node this is; or None, and why Slurm does not describe it."""
    lacking = [command for command in slurm_description.COMMANDS if shutil.which(command) is None]
    if lacking:
        return None, f"{_NOT_FOUND}no {', '.join(lacking)} on PATH{_THIS_ALONE}"
    say("asking Slurm for its partitions")
    try:
        described = slurm_description.ask()
    except CampaignError as error:
        return None, f"{_NOT_FOUND}{error}{_THIS_ALONE}"
    if not any(described.nodes_of(partition.name) for partition in described.partitions):
        return None, f"{_NOT_FOUND}no partition of Slurm has nodes{_THIS_ALONE}"
    return described, ""


def slurm_settings(
    facts: Mapping[str, Any], described: Description, scheduler: str = "", launcher: str = known_systems.OWN_LAUNCHER
) -> str:
    """The text of settings.py for a cluster. The default partition comes first.  facts: of this machine, by the names
    that the template uses.  scheduler, launcher: by ReFrame's names; without a scheduler, the one that fits."""
    partitions: list[dict[str, Any]] = []
    names: set[str] = set()
    for partition in _usual_first(described):
        shape = described.shape_of(partition.name)
        if shape is None:
            continue
        others = sorted({node.name for node in described.nodes_of(partition.name) if node.shape != shape})
        remarks = [f"other nodes than that: {_names(others)}"] if others else []
        remarks += [f"only for the accounts {_names(partition.accounts)}: --account"] if partition.accounts else []
        remarks += [f"Slurm says that it is {partition.state}"] if partition.state != "UP" else []
        limit, count = partition.longest_seconds, len(described.nodes_of(partition.name))
        partitions.append(
            {
                "name": _name_for_reframe(partition.name, names),
                "slurm_name": partition.name,
                "comment": _nodes_in_words(described, partition.name, shape),
                "remarks": remarks,
                "most_nodes": min(count, partition.most_nodes or count),
                "limit": reframe_duration(limit) if limit else "",
                "shape": shape,
            }
        )
    for entry in partitions:
        entry["tcp_name"] = _name_for_reframe(f"{entry['name']}-tcp", names)
    cluster = re.sub(r"[^\w.-]", "-", described.cluster)
    beside = {
        "partitions": partitions,
        "accounting": described.accounting,
        "scheduler": scheduler or ("slurm" if described.accounting else "squeue"),
        "launcher": launcher,
        "descr": f"cluster {cluster}" if cluster else facts["host"],
    }
    return _render(SLURM.template, {**facts, **beside})


def _name_for_reframe(name: str, taken: set[str]) -> str:
    """A name that ReFrame takes for a partition, and that no other one has. It is added to those that are taken."""
    plain = re.sub(r"^(?=[^A-Za-z_])", "_", re.sub(r"[^A-Za-z0-9_-]", "-", name))
    names = itertools.chain([plain], (f"{plain}-{number}" for number in itertools.count(2)))
    free = next(name for name in names if name not in taken)
    taken.add(free)
    return free


def reframe_duration(seconds: int) -> str:
    """A time as ReFrame's settings have it: 1d0h30m0s."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}d{hours}h{minutes}m{rest}s"


def _usual_first(described: Description) -> list[Partition]:
    return sorted(described.partitions, key=lambda partition: not partition.is_default)


def _nodes_in_words(described: Description, partition: str, shape: Shape) -> str:
    nodes = described.nodes_of(partition)
    usable = sum(node.is_usable for node in nodes)
    threads = f" of {shape.threads_per_core} hardware threads" if shape.threads_per_core > 1 else ""
    memory = f", {shape.memory_mebibytes / 1024:.0f} GiB" if shape.memory_mebibytes else ""
    of = f"{plural(usable, 'node')} can be used" + (f" of {len(nodes)}" if usable < len(nodes) else "")
    return f"{of}, each with {plural(shape.cores, 'core')}{threads} on {plural(shape.sockets, 'socket')}{memory}"


def _names(names: Sequence[str]) -> str:
    """Names in a comment, not too many of them."""
    return first_of((re.sub(r"[^\w.-]", "-", name) for name in names), SHOWN_NAMES, " and {} more")


def _in_words(described: Description) -> list[str]:
    """A line for each partition, by its name in the settings."""
    lines = []
    names: set[str] = set()
    for partition in _usual_first(described):
        shape = described.shape_of(partition.name)
        if shape is None:
            lines.append(f"{partition.name}: left out, it has no nodes")
            continue
        limit = partition.longest_seconds
        longest = f"; jobs of at most {limit_text(limit)}" if limit else ""
        name = _name_for_reframe(partition.name, names)
        name += f" (Slurm: {partition.name})" if name != partition.name else ""
        lines.append(f"{name}: {_nodes_in_words(described, partition.name, shape)}{longest}")
    return lines


def _packages_yaml(name: str, packages: Mapping[str, Any]) -> str:
    """The text of packages.yaml, in parts with a comment each."""
    mpis = [entry.package for entry in registry.LIBRARIES.values()]
    parts = {
        "MPI libraries; a version, or variants, that definitions.yaml has and that are not here are built": mpis,
        "what every thread computes with": ["openblas"],
        "UCX, where it is built, is called by two threads at a time": ["ucx"],
        "compilers": externals.COMPILERS,
    }
    others = [package for package in packages if not any(package in names for names in parts.values())]
    parts["tools that builds need; remove what is better built"] = sorted(others)
    lines = [PACKAGES_HEADING.format(name=name), "packages:\n"]
    for comment, names in parts.items():
        part = {name: packages[name] for name in names if name in packages}
        text = yaml.safe_dump(part, sort_keys=False, width=110) if part else ""
        lines += [f"  # {comment}\n" * bool(part), *(f"  {line}\n" for line in text.splitlines())]
    return "".join(lines)


def _externals(say: Callable[[str], None]) -> tuple[externals.Externals | None, str]:
    """The packages that Spack finds; or None, and why: there is no Spack, or Spack cannot look."""
    try:
        return externals.find(tool.find(), say), ""
    except CampaignError as error:
        return None, str(error)


def configurations(line: Line) -> str:
    """A comment: the configurations that a library supports, and their networks where not all networks do."""
    placement = Placement(1, 2, 2, cpus=((0,), (1,), (2,), (3,)))
    words = []
    needing_none = {name for name, network in NETWORKS.items() if network.without_settings}
    for name in ("basic", "async", "dedicated", "apphelper"):
        limits = launches.limits(line.family, name, placement)
        if len(limits) < len(NETWORKS):
            words.append(f"{name}(tcp)" if needing_none <= limits.keys() else name)
    return " ".join(words)


def _facts(name: str) -> dict[str, Any]:
    cores = machine.cores()
    host = platform.node() or "localhost"
    packages = {
        files.read(machine.SYS_CPU / f"cpu{cpu}" / "topology" / "physical_package_id") or "0" for cpu in cores.cpus
    }
    return {
        "name": name,
        "host": re.sub(r"[^\w.-]", "-", host),
        "host_pattern": re.escape(host).replace('"', ""),
        "cpu": machine.cpu_model(),
        "os": str(machine.host_facts()["os"]),
        "cores": cores.physical,
        "cpus": len(cores.cpus),
        "threads": cores.threads_per_core,
        "sockets": max(1, len(packages)),
        "networks": [
            {"name": name, "title": network.title, "refusal": machine.network_refusal(name) or ""}
            for name, network in NETWORKS.items()
            if network.of_one_node
        ],
        "date": datetime.date.today().isoformat(),
    }


def _render(template: str, facts: Mapping[str, Any]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(template).render(facts)
