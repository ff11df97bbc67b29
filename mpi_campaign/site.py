"""What the settings file of a system is made with; `systems/<system>/settings.py` imports nothing else of ours.

A site writes that file and keeps it, so this name stays wherever the parts behind it move.
"""

from mpi_campaign.systems.site import local_processor, partition, site

__all__ = ["local_processor", "partition", "site"]
