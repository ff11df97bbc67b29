"""What every `systems/<system>/settings.py` shares: a site configuration for ReFrame made from partitions.

A system file names its partitions and says what kind of network each one is; environments come from the toolchains
that were resolved in this clone, modes from the suites.
"""

import difflib
import importlib.util
import json
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from mpi_campaign import ROOT, STATE
from mpi_campaign.children.environ import Requested, asked, requested
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.planning import suites
from mpi_campaign.planning.benchmarks.choice import as_text
from mpi_campaign.systems.known_systems import JOB
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds, resolving

# Partitions with this feature launch MPI; environments with it have an MPI library.
MPI_FEATURE = "mpi"
LEAST_LOOKS_PER_SECOND = 1
LOOKS_DECAY = 0.02

IN_JOB = "MPI_CAMPAIGN_IN_JOB"
"""A variable that is set in a job of a batch system: ReFrame's launches are then made on the nodes of that job."""
MAX_JOBS = "MPI_CAMPAIGN_MAX_JOBS"
"""A variable with the number of jobs that ReFrame may have in the queue, instead of a partition's own number."""
ORDER = "MPI_CAMPAIGN_ORDER"
"""A variable with names of environments, in the order in which they take turns with each test."""
NEEDED = "MPI_CAMPAIGN_PROGRAMS"
"""A variable with the names of the programs that are needed; without it all are built."""
NAME = re.compile("[A-Za-z_][A-Za-z0-9_-]*")
"""What ReFrame takes for the name of a partition."""
WITHOUT_MPI = "builtin"
"""ReFrame's own environment, for tests that need no toolchain."""


def is_in_job() -> bool:
    """Whether this process runs inside of a job that the campaign has submitted."""
    return IN_JOB in os.environ


def needed_programs() -> list[str]:
    """The programs that are needed; empty: all."""
    return list(filter(None, os.environ.get(NEEDED, "").split(",")))


@lru_cache
def _legal() -> dict[str, frozenset[str]]:
    """Names of the settings that ReFrame's schema knows, of a system, of a partition and of its processor."""
    (package,) = importlib.util.find_spec("reframe").submodule_search_locations  # type: ignore[union-attr,misc]
    schema = json.loads((Path(package) / "schemas" / "config.json").read_text(encoding="utf-8"))
    system = schema["properties"]["systems"]["items"]["properties"]
    partition_ = system["partitions"]["items"]["properties"]
    processor = schema["defs"]["processor_info"]["properties"]
    return {"system": frozenset(system), "partition": frozenset(partition_), "processor": frozenset(processor)}


def _check_names(names: Iterable[str], of: str, owner: str, more: Sequence[str] = ()) -> None:
    """Refuse settings that neither ReFrame nor the campaign knows. of: a key of `_legal`.  more: the campaign's own."""
    legal = [*sorted(_legal()[of]), *more]
    for name in names:
        if name not in legal:
            near = difflib.get_close_matches(name, legal, 1)
            there_is = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(legal)}"
            raise ValueError(f"{owner} has no setting '{name}'; {there_is}")


def partition(name: str, network: str, **settings: Any) -> dict[str, Any]:
    """One partition of a system, with the entries that ReFrame documents in `settings`.

    network: shm, wire, tcp or native, what ranks there communicate over.  environment, one of the settings: what
    launches and builds there are to have, each NAME=VALUE, or NAME for the value that it has where they start.
    nodes, another one: `job` where launches are on the nodes of the job in which the campaign runs, `box` where they
    are on those of a cluster in a box.
    most_nodes, another one: how many nodes a job may have.  time_limit: the longest that a job may ask for.
    """
    if network not in NETWORKS:
        raise ValueError(f"network '{network}' of partition '{name}': one of {', '.join(NETWORKS)}")
    _check_names(settings, "partition", f"partition '{name}'", ("environment", "nodes", "most_nodes"))
    _check_names(settings.get("processor", {}), "processor", f"the processor of partition '{name}'")
    most_nodes, access = settings.get("most_nodes"), settings.get("access", [])
    if not (most_nodes is None or (type(most_nodes) is int and most_nodes >= 1)):
        raise ValueError(f"most_nodes {most_nodes!r} of partition '{name}': a whole number from 1 on, or leave it out")
    if isinstance(access, str):
        raise TypeError(f"access {access!r} of partition '{name}': a list of options, such as ['--partition=cpu']")
    extras = {
        "network": network,
        "environment": asked(settings.pop("environment", ())),
        "nodes": settings.pop("nodes", ""),
        "most_nodes": settings.pop("most_nodes", None),
    }
    entry = {
        "name": name,
        "features": [MPI_FEATURE, network],
        "extras": extras,
        "environs": [*_in_turn(environment["name"] for environment in environments()), WITHOUT_MPI],
        **settings,
    }
    if is_in_job():
        entry |= {"scheduler": "local", "access": [], "max_jobs": 1, "extras": {**extras, "nodes": JOB}}
    elif MAX_JOBS in os.environ:
        entry["max_jobs"] = int(os.environ[MAX_JOBS])
    return entry


def let_into(partition_: Any) -> Requested:
    """The variables that launches and builds on a partition get beside those that pass: variables that its entry names,
    and those that a person lets in."""
    return {**partition_.extras.get("environment", {}), **requested()}


def exported(test: Any) -> list[str]:
    """Names of the variables that a ReFrame test's script sets: those of test, environment and partition."""
    parts = (test.env_vars, test.current_environ.env_vars, test.current_partition.local_env.env_vars)
    return [name for part in parts for name in part]


def local_processor() -> dict[str, Any]:
    """The processor of this machine, so that ReFrame need not detect it and write to the home folder."""
    cores = machine.cores()
    return {
        "num_cpus": len(cores.cpus),
        "num_cpus_per_core": cores.threads_per_core,
        "num_cpus_per_socket": len(cores.cpus),
        "num_sockets": 1,
    }


def environments() -> list[dict[str, Any]]:
    """A ReFrame environment for each resolved toolchain; a placeholder where there is none yet, so that `-l` works."""
    resolved = [_environment(toolchain) for toolchain in resolving.load()]
    return resolved or [{"name": "none-resolved", "features": [], "extras": {}}]


def _environment(toolchain: resolving.Toolchain) -> dict[str, Any]:
    folder = str(resolving.path_folder(toolchain))
    return {
        "name": toolchain.environment,
        "features": [MPI_FEATURE, toolchain.family, toolchain.provider],
        "env_vars": [["PATH", f"{shlex.quote(folder)}:{shlex.quote(f'{sys.prefix}/bin')}:$PATH"]],
        "extras": {
            "toolchain": toolchain.toolchain,
            "family": toolchain.family,
            "version": toolchain.version,
            "provider": toolchain.provider,
            "prefix": toolchain.prefix,
            "mpicc": toolchain.mpicc,
            "packages": [vars(package) for package in toolchain.packages],
            "programs": str(builds.programs(toolchain)),
            "spack": asdict(toolchain.spack) if toolchain.spack else None,
        },
    }


def _in_turn(names: Iterable[str]) -> list[str]:
    """Names of environments in the order of ORDER, those that it lacks at last."""
    order = os.environ.get(ORDER, "").split(",")
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def site(
    name: str,
    partitions: Sequence[Mapping[str, Any]],
    perflog_handlers: Sequence[Mapping[str, Any]] = (),
    **system: Any,
) -> dict[str, Any]:
    """The configuration of one system: its partitions, the resolved environments, the suites as modes.

    perflog_handlers: where the numbers of tests go besides, as ReFrame has it: `{"type": "httpjson", "url": ...}`.
    """
    reframe_state = STATE / "reframe"
    _check_names(system, "system", f"system '{name}'")
    for each, count in Counter(entry["name"] for entry in partitions).items():
        if count > 1 or not NAME.fullmatch(each):
            wrong = f"{count} partitions are called" if count > 1 else "no partition can be called"
            raise ValueError(f"system '{name}': {wrong} '{each}': letters, digits, - and _, and a name for each")
    return {
        "systems": [
            {
                "name": name,
                "descr": system.pop("descr", name),
                "hostnames": system.pop("hostnames", [f"^{name}$"]),
                "prefix": str(reframe_state),
                "partitions": list(partitions),
                **system,
            }
        ],
        "environments": environments(),
        "modes": [
            {
                "name": suite,
                "options": [
                    f"--setvar=grid={entry.grid}",
                    f"--setvar=budget_seconds={entry.case_seconds}",
                    f"--setvar=budget_from={suite}",
                    f"--setvar=time_limit={entry.limit}",
                    *([f"--setvar=points={as_text(entry.points)}"] if entry.points else []),
                ],
            }
            for suite, entry in suites.SUITES.items()
        ],
        # The session that submits jobs has the file open while they run.
        "storage": [
            {"enable": not is_in_job(), "backend": "sqlite", "sqlite_db_file": str(reframe_state / "sessions.db")}
        ],
        "logging": [_logging(str(reframe_state / "perflogs"), perflog_handlers)],
        "general": [
            {
                "check_search_path": [str(ROOT / "reframe")],
                "report_file": str(reframe_state / "report-{sessionid}.json"),
                "resolve_module_conflicts": False,
                "save_log_files": False,
                **_looks(partitions),
            }
        ],
    }


def _looks(partitions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How often ReFrame looks whether a launch has ended: after a tenth of a second, and later less often, so that a
    launch waits for a few per cent of its time. Each look takes a millisecond from the ranks. By default it looks every
    half a second after two, and after a minute every 10 s. Schedulers keep their own pace."""
    local = all(partition.get("scheduler", "local") == "local" for partition in partitions)
    return {"poll_rate_min": LEAST_LOOKS_PER_SECOND, "poll_rate_decay": LOOKS_DECAY} if local else {}


def _logging(perflogs: str, handlers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What ReFrame logs. Each message of a test costs milliseconds: ReFrame looks all its variables up for it. So a
    handler that takes those for debugging would double the time between two launches."""
    plain = "%(message)s"
    return {
        "level": "info",
        "perflog_multiline": True,  # a line per number: columns by number would change from run to run
        "handlers": [
            {"type": "stream", "name": "stdout", "level": "info", "format": plain},
            {"type": "file", "name": os.devnull, "level": "info", "format": plain},
        ],
        "handlers_perflog": [
            {
                "type": "filelog",
                "prefix": "%(check_system)s/%(check_partition)s",
                "basedir": perflogs,
                "level": "info",
                "datefmt": "%FT%T%:z",
                "format": "%(check_job_completion_time)s|%(version)s|%(check_display_name)s|%(check_system)s|"
                "%(check_partition)s|%(check_environ)s|%(check_jobid)s|%(check_result)s|%(check_perf_var)s|"
                "%(check_perf_value)s|%(check_perf_unit)s|%(check_perf_ref)s|%(check_perf_lower_thres)s|"
                "%(check_perf_upper_thres)s",
                "append": True,
            },
            *handlers,
        ],
    }


def python_command() -> str:
    """The interpreter of this environment, quoted for a job script."""
    return shlex.quote(sys.executable)
