"""Every library that comes as a wheel, in a container with the usual limits: a run, and what the doctor says."""

import json
from ctypes.util import find_library
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.toolchains import resolving
from tests import container

pytestmark = [
    pytest.mark.slow, pytest.mark.beside_others, pytest.mark.needs("mpi"), pytest.mark.needs("user-namespaces"),
    pytest.mark.skipif(find_library("seccomp") is None, reason="there is no libseccomp (Debian: libseccomp2)"),
    pytest.mark.timeout(900),
]  # fmt: skip
CAMPAIGN = str(ROOT / "campaign")
DEFAULT, OTHERS = resolving.DEFAULT_TOOLCHAINS, ("openmpi@4.1.8", "intel@2021.18.1")


@pytest.mark.parametrize(
    "libraries", [DEFAULT, pytest.param(OTHERS, marks=pytest.mark.rare)], ids=("default", "others")
)
def test_a_case_of_each_library_passes(tmp_path: Path, libraries: tuple[str, ...]) -> None:
    toolchains = [word for name in libraries for word in ("--toolchain", name)]
    short = ("--comm-time", "4ms", "--comp-time", "4ms", "--budget-seconds", "32")
    what = ("--collective", "ibcast", "--configuration", "basic", "--network", "shm", "--output", str(tmp_path))
    done = container.run(CAMPAIGN, "run", *toolchains, *what, *short)
    assert done.returncode == 0, done.stdout + done.stderr
    (manifest,) = map(json.loads, (path.read_text() for path in tmp_path.rglob("manifest.json")))
    assert [case["result"] for case in manifest["cases"]] == ["pass"] * len(libraries)
    assert manifest["host"]["refused_calls"] == "process_vm_readv, set_mempolicy"


def test_the_doctor_names_what_is_refused() -> None:
    done = container.run(CAMPAIGN, "doctor", "--no-timing", "--json")
    found = {finding["subject"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found["system calls"]["state"] == "note"
    assert "process_vm_readv, set_mempolicy" in found["system calls"]["seen"]
