"""Batch systems in whose jobs a campaign has only the node on which it was started. What is known of them keeps their
variables out of launches, and names out of public copies."""

from mpi_campaign.schedulers.scheduler import Scheduler

LSF = Scheduler(
    title="LSF",
    directive="BSUB",
    of_jobs=("LSB_*", "LSF_*", "LS_*"),
    of_clients=("LSF_ENVDIR", "LSF_BINDIR", "LSF_LIBDIR", "LSF_SERVERDIR"),
    naming={"LSB_SUB_HOST": "host", "LSB_SUB_USER": "user"},
)
COBALT = Scheduler(title="Cobalt", directive="COBALT", of_jobs=("COBALT_*",))
FUJITSU = Scheduler(title="Fujitsu TCS", directive="PJM")
