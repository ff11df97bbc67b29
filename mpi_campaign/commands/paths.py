"""Paths that a person gives to a command."""

import os
from pathlib import Path
from typing import Any

import click

from mpi_campaign.errors import CampaignError
from mpi_campaign.launching import node_agent


class Kept(click.Path):
    """The archive, or a file or folder that a command writes for a person.

    In a cluster in a box, a path in a folder that ends with the box raises CampaignError: what a command wrote there
    would be lost, and what this machine has there is not seen.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if node_agent.HEAD_VARIABLE in os.environ and _ends_with_box(path):
            name = max(param.opts, key=len) if param is not None else "path"
            raise CampaignError(
                f"{name} {path}: this folder is in the memory of the cluster in a box, and ends with it; take one that "
                "all nodes share, such as the folder in which the cluster was started"
            )
        return path


def _ends_with_box(path: Path) -> bool:
    from mpi_campaign.systems import nodes_in_hand  # noqa: PLC0415 - it loads what makes namespaces

    return nodes_in_hand.ends_with_box(path)
