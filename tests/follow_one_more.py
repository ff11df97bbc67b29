"""What a copy of the project makes of the batch system `acme` and the network `verbs`, as JSON: for test_one_more."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from unittest import mock

from mpi_campaign.children import environ
from mpi_campaign.commands import cli
from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import node_agent
from mpi_campaign.libraries import launches
from mpi_campaign.libraries.placement import Placement
from mpi_campaign.libraries.settings import Request
from mpi_campaign.networks.registry import NETWORKS
from mpi_campaign.planning import checks
from mpi_campaign.planning.options import Options
from mpi_campaign.running import batch
from mpi_campaign.schedulers import registry
from mpi_campaign.systems import allocation, known_systems, new_system, nodes_in_hand

JOB = {"ACME_JOB": "12", "ACME_HOSTS": "n1,n2", "ACME_SERVER": "head"}
os.environ.update(JOB)
mock.patch.object(nodes_in_hand, "_looks", lambda hosts, _: [(host, ((0,), (1,))) for host in hosts]).start()
mock.patch.object(new_system, "_externals", lambda _: (None, "no Spack")).start()

hosts = nodes_in_hand.look().of((1, 2))
agent = node_agent.job_command(hosts.variables[node_agent.JOB_VARIABLE], "n2", "true", {}, "/")
new_system.write("mine", force=False, say=print, scheduler="acme")
settings = known_systems.SYSTEMS / "mine" / "settings.py"
settings.write_text(settings.read_text().replace('"tcp"', '"verbs"').replace('"acme"', '"squeue"'))
site = known_systems.load("mine")
checks.check(Options.of(system="mine", network="verbs", partition="cpu-tcp"))
refused = ""
try:
    checks.check(Options.of(system="mine", network="verbs", partition="cpu"))
except CampaignError as error:
    refused = str(error)


def launched(family: str) -> dict[str, object]:
    request = Request(Path("/opt/mpi"), "5.0", "basic", "verbs", Placement(2, 1, 1), hosts=hosts)
    return asdict(launches.launch(family, request))


print()
print(
    json.dumps(
        {
            "found": str(allocation.in_hand()),
            "in words": [registry.find("acme").in_words("acme"), NETWORKS["verbs"].title],
            "started with": agent[:2],
            "to a job": environ.built(environ.JOB),
            "to a session": environ.built(environ.SESSION),
            "to a launch": environ.built(environ.LAUNCH),
            "kept out": environ.kept_out(),
            "submitted to": batch.request_of(
                Options(), known_systems.Partition("cpu", "verbs", "acme", "mpiexec", {})
            ).scheduler.title,
            "partitions": {network: one.name for network, one in site.partitions.items()},
            "refused": refused,
            "mpich": launched("mpich"),
            "openmpi": launched("openmpi"),
            "option": next(one.metavar for one in cli.load_run().params if one.name == "network"),
        }
    )
)
