"""What is a batch system's own is named in its entry alone."""

import re

from mpi_campaign import ROOT
from mpi_campaign.schedulers import registry


def test_no_other_module_names_what_is_a_batch_systems_own() -> None:
    """Slurm is named elsewhere too: `slurm_description` asks it what it has, and a cluster in a box runs it."""
    others = [one for one in registry.SCHEDULERS if not one.is_described]
    words = {command[0] for one in others for command in (one.start, one.cancel) if command}
    words -= {one.name for one in others}  # by which launchers name it too
    variables = {name.removesuffix("*") for one in others for name in (*one.of_jobs, *one.of_clients) if "_" in name}
    pattern = re.compile("|".join(rf"\b{re.escape(word)}" for word in sorted(words | variables)))
    naming = [
        path
        for folder in ("mpi_campaign", "reframe", "postprocess")
        for path in (ROOT / folder).rglob("*.py")
        if path.parent.name != "schedulers" and pattern.search(path.read_text())
    ]
    assert naming == []
