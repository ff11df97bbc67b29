"""Batch systems in whose jobs a campaign has only the node on which it was started. What is known of them keeps their
variables out of launches, and names out of public copies."""

from mpi_campaign.schedulers.scheduler import Scheduler

COBALT = Scheduler(title="Cobalt", directive="COBALT", of_jobs=("COBALT_*",))
FUJITSU = Scheduler(title="Fujitsu TCS", directive="PJM")
