"""A public copy of a run tells nothing of whose it is, and says the same of everything else."""

import hashlib
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign.archive import consistency, provenance, public_copy, run_folders, store
from mpi_campaign.archive.aliases import Originals, Replacer, found_in, namer, still_there
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from postprocess.records.run import load_run
from tests.archives import archived, fail, name_of, rewrite
from tests.support import Command, refused

HOME, CLONE, HOST, USER, ACCOUNT = "/home/jdoe", "/home/jdoe/my campaign", "nid0017", "jdoe", "p4711"
SECRETS = ("jdoe", "nid0017", "cluster7", "p4711", "10.1.2.3", "aa:bb:cc:dd:ee:01", "secret-lab")
LOG = f"""launched by: {USER}@{HOST}
working directory: '{CLONE}'
[{HOST}:01234] pml_ucx: no route from 10.1.2.3 to {HOST}.cluster7.example.org (aa:bb:cc:dd:ee:01)
#SBATCH --account={ACCOUNT} --mail-user=j.doe@secret-lab.org
/scratch/jdoe/tmp/x: ranks {HOST}[0017-0019] wait in /usr/lib/x and {HOME}/y
"""


def run_of_somebody(root: Path, day: int = 2) -> RunFolder:
    """A run whose second collective failed, with names and folders of somebody everywhere."""
    toolchain: dict[str, Any] = {
        "toolchain": "openmpi@5.0.11", "provider": "prefix", "environment": "openmpi-5_0_11", "packages": [],
        "prefix": f"{HOME}/openmpi", "spack": None,
    }  # fmt: skip
    manifest = {
        "host": {"name": HOST, "cpu": "A CPU", "cores": 2},
        "sessions": [
            {"host": {"name": HOST}, "began_utc": "2026-11-02T02:00:00Z", "ended_utc": "2026-11-02T02:30:00Z"}
        ],
        "seen": {"nodes": [HOST, "nid0018"], "variables": {}, "builds": {}},
        "reframe_command": f"'{CLONE}/.venv/bin/reframe' -C '{CLONE}/systems/local/settings.py'",
        "toolchains": [toolchain],
    }
    run = archived(root, name_of(day), launches=1, manifest=manifest, host=HOST, command_line=[f"{CLONE}/.campaign/x"])
    fail(run, "ireduce", "run")
    said = run_folders.read_manifest(run)
    logs = run.archived / "logs"
    logs.mkdir(exist_ok=True)
    for case in said["cases"]:
        stem = Path(case["record"]).name.removesuffix(".jsonl")
        (logs / f"{stem}.out").write_text(LOG)
    (logs / "reframe.log").write_text(LOG)
    (run.archived / "junit.xml").write_text(
        f'<testsuite errors="0" hostname="{HOST}" id="0"><a b="{CLONE}/x"/></testsuite>'
    )
    (run.archived / "reframe-report.json").write_text(json.dumps({"session_info": {"user": USER, "hostname": HOST}}))
    run_folders.seal(run.archived, said)
    return run


def all_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Names and texts of all files."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes().decode("utf-8", "replace")


@pytest.fixture
def original(tmp_path: Path) -> RunFolder:
    return run_of_somebody(tmp_path / "results")


@pytest.fixture
def copy(original: RunFolder, tmp_path: Path, inside: Command) -> RunFolder:
    pack, elsewhere = tmp_path / "public.tar.xz", tmp_path / "elsewhere"
    done = inside("results", "export", str(original.path), "--public", "-o", str(pack))
    assert (done.returncode, done.stdout.strip()) == (0, str(pack)), done.stderr
    done = inside("results", "import", str(pack), "--output", str(elsewhere))
    assert done.returncode == 0, done.stderr
    return RunFolder(elsewhere, "here", original.run)


def test_nothing_in_a_copy_tells_whose_it_is(copy: RunFolder) -> None:
    for name, text in all_of(copy.path):
        assert not [secret for secret in SECRETS if secret in text], name
    texts = dict(all_of(copy.path))
    log = next(text for name, text in texts.items() if "ireduce" in name and name.endswith(".out"))
    node, user = (re.search(rf"{kind}-[0-9a-f]{{8}}", log) for kind in ("node", "user"))
    assert node, log
    assert user, log
    assert f"launched by: {user[0]}@{node[0]}\nworking directory: '/CLONE'\n[{node[0]}:01234] pml_ucx" in log
    assert "and /HOME/y" in log
    assert "in /usr/lib/x" in log
    for text in texts.values():
        assert "hostname=" not in text or f'hostname="{node[0]}"' in text
    assert run_folders.read_manifest(copy)["host"]["name"] == node[0]
    assert {place.host for record in load_run(copy.path).records for place in record.header.placement} == {node[0]}


def test_a_copy_says_what_was_replaced_and_left_out(original: RunFolder, copy: RunFolder) -> None:
    said = run_folders.read_manifest(copy)["public"]
    assert said["aliases"]["clone"] == ["/CLONE"]
    assert {"host", "user", "account", "home", "path", "mail", "address", "hardware"} <= set(said["aliases"])
    left_out = [name for names in said["left_out"].values() for name in names]
    assert sorted(said["left_out"]) == ["logs_of_passed_cases", "reframe_reports", "tables"]
    kept = {str(path.relative_to(copy.path)) for path in copy.path.rglob("*") if path.is_file()}
    there = {str(path.relative_to(original.path)) for path in original.path.rglob("*") if path.is_file()}
    assert kept | set(left_out) == there
    assert not kept.intersection(left_out)
    assert [name for name in left_out if "ibcast" in name and name.startswith("logs/")]
    assert not [name for name in left_out if "ireduce" in name]


def test_a_copy_says_the_same_as_the_run(original: RunFolder, copy: RunFolder, inside: Command) -> None:
    assert inside("results", "verify", str(copy.path)).returncode == 0
    for words in ((), ("--json",), ("--impact",), ("--peers",)):
        told, again = (inside("show", str(run.path), *words) for run in (original, copy))
        assert (again.returncode, again.stdout) == (told.returncode, told.stdout)
    ours = inside("show", str(original.path), "--provenance").stdout
    theirs = inside("show", str(copy.path), "--provenance").stdout
    node = run_folders.read_manifest(copy)["host"]["name"]
    assert theirs == ours.replace(HOST, node).replace(CLONE, "/CLONE").replace(HOME, "/HOME")
    before, after = ({case["case"]: case["result"] for case in run_folders.read_manifest(run)["cases"]}
                     for run in (original, copy))  # fmt: skip
    assert before == after


def test_a_copy_is_compared_as_the_run_is_and_not_counted_beside_it(
    tmp_path: Path, original: RunFolder, copy: RunFolder, inside: Command
) -> None:
    other = archived(tmp_path / "results", name_of(5), launches=3, factor=1.3)
    told, again = (inside("compare", str(run.path), str(other.path), "--json") for run in (original, copy))
    assert again.stdout.replace(str(copy.path), str(original.path)) == told.stdout
    assert again.returncode == told.returncode == 0
    kept, problems = consistency.together([copy, original, other])
    assert kept == [copy, other]
    assert [one for one in problems if "left out: it is a copy of" in one]


def test_a_public_copy_made_public_stays_as_it_is(copy: RunFolder, tmp_path: Path) -> None:
    first, again = tmp_path / "first.tar.xz", tmp_path / "again.tar.xz"
    for target in (first, again):
        store.export(copy, target, public=True)
    assert first.read_bytes() == again.read_bytes()
    with tarfile.open(first) as pack:
        pack.extractall(tmp_path / "unpacked")
    before, after = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (copy.path, tmp_path / "unpacked" / copy.run)
    )
    assert before == after


def test_what_cannot_be_made_public_is_refused(tmp_path: Path, original: RunFolder, inside: Command) -> None:
    pack = tmp_path / "public.tar.xz"

    def export(run: RunFolder) -> Any:
        return inside("results", "export", str(run.path), "--public", "-o", str(pack))

    said = run_folders.read_manifest(original)
    (original.archived / "logs" / "core").write_bytes(b"\x7fELF\0\0")
    run_folders.seal(original.archived, said)
    refused(export(original), "cannot be made public", "logs/core is no text")
    (original.archived / "logs" / "core").unlink()
    run_folders.seal(original.archived, said)
    assert not pack.exists()
    rewrite(original, {**said, "system": f"of-{HOST}"})
    refused(export(original), f"'of-{HOST}'", "by which it is compared", "under another name")
    rewrite(original, said)
    nowhere = tmp_path / "nowhere"
    done = inside("results", "export", str(original.path), "--public", "-o", str(nowhere / "public.tar.xz"))
    refused(done, "nowhere/public.tar.xz cannot be written", "-o")
    assert not nowhere.exists()
    (original.archived / "junit.xml").unlink()
    refused(export(original), "junit.xml: missing", "nothing was exported")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_lock_that_names_a_folder_is_checked_by_the_copys_digest(tmp_path: Path, original: RunFolder) -> None:
    lock, said = original.archived / provenance.lock_of("openmpi-5_0_11"), run_folders.read_manifest(original)
    lock.parent.mkdir()
    lock.write_text(json.dumps({"external": {"path": f"{HOME}/mpi", "module": None}}))
    said["toolchains"][0]["spack"] = {"lock_sha256": hashlib.sha256(lock.read_bytes()).hexdigest()}
    run_folders.seal(original.archived, said)
    copy = tmp_path / "copy"
    public_copy.write(original, copy)
    lock = copy / provenance.lock_of("openmpi-5_0_11")
    assert json.loads(lock.read_text()) == {"external": {"path": "/HOME/mpi", "module": None}}
    spack = json.loads((copy / "manifest.json").read_text())["toolchains"][0]["spack"]
    assert spack["lock_sha256"] == hashlib.sha256(lock.read_bytes()).hexdigest()


def test_the_key_of_the_aliases_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_copy, "KEY", tmp_path / "state" / "key")
    first = public_copy._key()
    assert public_copy._key() == first
    assert len(first) == public_copy.KEY_BYTES
    assert public_copy.KEY.stat().st_mode & 0o077 == 0
    assert [path.name for path in public_copy.KEY.parent.iterdir()] == ["key"]


# -- what is replaced, and what is not --

ORIGINALS = Originals(
    clones=frozenset({CLONE, "/work"}), homes=frozenset({HOME, "/root"}), prefixes=frozenset({"/data/sw/mpi-5"}),
    hosts=frozenset({HOST, "nid0018.cluster7.example.org", "a", "a1", "node", "vm", "xeon"}),
    users=frozenset({USER, "root"}), accounts=frozenset({ACCOUNT, "gpu"}), facts=frozenset({"intel", "xeon"}),
)  # fmt: skip


def replacer() -> Replacer:
    return Replacer(ORIGINALS, namer(b"key"), kept=frozenset({"openmpi@main.dev"}))


def masked(text: str) -> str:
    """Aliases without their digits."""
    return re.sub(r"\b(node|user|account|mail|address|hardware|PATH|PREFIX)-[0-9a-f]{8}\b", r"\1-X", text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/home/jdoe/my campaign/.campaign/x", "/CLONE/.campaign/x"),
        ("-C '/home/jdoe/my campaign/systems'", "-C '/CLONE/systems'"),
        ("/home/jdoe/my\\ campaign/x", "/CLONE/x"),
        ("-I/home/jdoe/include:/home/jdoe", "-I/HOME/include:/HOME"),
        ("PATH=/work/bin:/root/bin:/usr/bin", "PATH=/CLONE/bin:/HOME/bin:/usr/bin"),
        ("file:///home/jdoe/x", "file:///HOME/x"),
        ("/data/sw/mpi-5/bin/mpicc", "/PREFIX-X/bin/mpicc"),
        ("/data/sw/mpi-5.1/bin", "/PATH-X"),
        ("/scratch/p/20261121T224108Z-554aa3/records", "/PATH-X/20261121T224108Z-554aa3/records"),
        ("/tmp/ompi.nid0017.1000/pid", "/PATH-X"),
        ("nid0017:~> on nid0018.cluster7.example.org, NID0017", "node-X:~> on node-X, node-X"),
        ("nid0017.cluster7.example.org", "node-X"),
        ("nid[0017-0018,0020]", "node-X"),
        ("root@vm, jdoe@vm, alice@nid0017", "user-X@node-X, user-X@node-X, user-X@node-X"),
        ("[vm:01234] and [a:7]", "[node-X:01234] and [node-X:7]"),
        ('hostname="vm" id', 'hostname="node-X" id'),
        ("mpiexec@vm: proxy:0:0@node: x", "mpiexec@node-X: proxy:0:0@node-X: x"),
        ("~root/x, USER=root", "~user-X/x, USER=user-X"),
        ("#SBATCH -A gpu\n--account=gpu, -p gpu", "#SBATCH -A account-X\n--account=account-X, -p gpu"),
        ("mail j.doe@lab.example.org", "mail mail-X"),
        ("10.1.2.3:80, 192.168.0.0/24 fe80::1:2", "address-X:80, address-X/24 address-X"),
        ("aa:bb:cc:dd:ee:01 and 0002:c903:000e:0b72", "hardware-X and hardware-X"),
        ("Serial Number: VMware-42, serial: 4711X", "Serial Number: hardware-X, serial: hardware-X"),
    ],
)
def test_replaced(text: str, wanted: str) -> None:
    assert masked(replacer().text(text)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "a[3] = node[0]; Xeon and xeon, an Intel Xeon",
        "a rank on a node of a vm waits: the root of the tree, nodes, vms, roots, a-b, node-1, root_rank, rootless",
        "https://docs.open-mpi.org/en/v5.0.x/root/node and http://127.0.0.1:9/simple",
        "OpenBLAS 0.3.34.481.3, version 1.13.2.0, libfabric-1.13.2.0, openmpi@5.0.11, mpich@4.3.2",
        "package: Open MPI user@localhost Distribution, 127.0.0.1/8,sppp, 255.255.255.0",
        "12:34:56, 2026-11-23T10:05:03Z, 2026-11-25-10-11-12, -m 2043328:2043328, 0-3,8",
        "and/or, 1.5 MiB/s, a/work/b, ./work, work, home/jdoe0, jdoes, xjdoe, nid00170, p47110",
        "osu %configuration=basic /1098cca6 @local:wire+openmpi-5_0_11, 'gcc -O3 -DNDEBUG'",
        "openmpi@main.dev",
        "/usr/lib/x86_64-linux-gnu/libc.so.6 /opt/mvapich2/bin /proc/self/status /dev/null",
    ],
)
def test_not_damaged(text: str) -> None:
    assert replacer().text(text) == text


WORDS = ["a", "node", "vm", "root", "the", "of", "rank", "/usr/lib", "3.5", "ibcast", "wire:2gbit", *"=:;,.()[]-_\n"]
NAMES = [HOST, USER, ACCOUNT, "nid0018", CLONE, HOME, "/root", "10.1.2.3", "/scratch/x/y", "root@vm", "j.doe@lab.org"]
some_text = st.lists(st.sampled_from([*WORDS, *NAMES, " "]), max_size=12).map("".join)


@given(some_text)
def test_nothing_is_replaced_twice_and_no_name_stays(text: str) -> None:
    made = replacer()
    once = made.text(text)
    assert made.text(once) == once
    assert not still_there(ORIGINALS, once)
    assert CLONE not in once.replace("/HOME", "")


@given(st.lists(st.sampled_from([one for one in WORDS if one.isalnum()]), max_size=20).map(" ".join))
def test_ordinary_words_stay_whatever_hosts_are_called(text: str) -> None:
    assert replacer().text(text) == text


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | some_text
    | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.sampled_from(["x", "t_ns", "sizes"]), inside),
    max_leaves=12,
)


@given(json_values)
def test_of_json_only_strings_change(value: Any) -> None:
    text = json.dumps(value)
    made = replacer().json(text)

    def by_hand(one: Any) -> Any:
        if isinstance(one, str):
            return replacer().text(one)
        if isinstance(one, list):
            return [by_hand(each) for each in one]
        return {key: by_hand(each) for key, each in one.items()} if isinstance(one, dict) else one

    assert json.loads(made) == by_hand(value)
    assert re.sub(r'"(?:[^"\\]|\\.)*"', '""', made) == re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)


def test_names_in_json_are_found_by_their_keys() -> None:
    text = '{"placement": [{"host": "vm"}], "seen": {"nodes": ["vm", "a"]}, "user": "root", "name": "vm", "nodes": 2}'
    assert found_in(text).hosts == {"vm", "a"}
    made = json.loads(Replacer(found_in(text), namer(b"key")).json(text))
    assert masked(json.dumps(made)) == masked(text).replace('"host": "vm"', '"host": "node-X"').replace(
        '["vm", "a"]', '["node-X", "node-X"]'
    ).replace('"root"', '"user-X"')
    assert made["placement"][0]["host"] == made["seen"]["nodes"][0] != made["seen"]["nodes"][1]


def test_variables_of_a_job_do_not_tell_the_cluster_the_login_node_and_the_project() -> None:
    job = {
        "SLURM_CLUSTER_NAME": "jupiter", "SLURM_WORKING_CLUSTER": "jupiter:ctl1:6817:9728:109",
        "SLURM_SUBMIT_HOST": "login3", "SLURM_JOB_UID": "20117", "SLURM_JOB_QOS": "long", "PBS_O_HOST": "login3.lab",
        "SLURM_JOB_ID": "12", "SLURM_JOB_CPUS_PER_NODE": "64(x2)", "SLURM_JOB_PARTITION": "cpu", "SGE_CELL": "",
    }  # fmt: skip
    text = json.dumps({"kept_out": job, "system": "jupiter", "log": "submitted on login3"})
    once = Replacer(found_in(text), namer(b"key")).json(text)
    masked_job = json.loads(re.sub(r"-[0-9a-f]{8}", "-X", once))["kept_out"]
    assert masked_job == job | {
        "SLURM_CLUSTER_NAME": "cluster-X", "SLURM_WORKING_CLUSTER": "cluster-X", "SLURM_SUBMIT_HOST": "node-X",
        "SLURM_JOB_UID": "user-X", "SLURM_JOB_QOS": "account-X", "PBS_O_HOST": "node-X",
    }  # fmt: skip
    assert json.loads(once)["system"] == "jupiter"  # a name that somebody chose here
    assert "login3" not in once


def test_a_description_of_a_system_keeps_its_form() -> None:
    text = (
        "site = {'systems': [{'name': 'big', 'hostnames': ['login\\\\d+.big.edu'], 'access': ['--account=p4711']}]}\n"
    )
    made = masked(Replacer(found_in(text), namer(b"key")).settings(text))
    assert made == "site = {'systems': [{'name': 'big', 'hostnames': ['node-X'], 'access': ['--account=account-X']}]}\n"


def test_aliases_depend_on_the_key_alone() -> None:
    first, other = namer(b"1"), namer(b"2")
    assert first("host", "nid0017") == namer(b"1")("host", "NID0017") != first("host", "nid0018")
    assert first("host", "nid0017") != other("host", "nid0017")


def test_a_run_that_grows_cannot_be_exported(tmp_path: Path, original: RunFolder) -> None:
    original.archived.rename(original.partial)
    with pytest.raises(CampaignError, match="is not complete"):
        store.export(original, tmp_path / "x.tar.xz", public=True)
