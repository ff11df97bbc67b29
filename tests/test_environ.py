"""What children get of this shell, what they do not, and what a person lets in."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign.children import environ
from mpi_campaign.errors import CampaignError
from mpi_campaign.systems import site
from mpi_campaign.systems.known_systems import Partition
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import resolving
from postprocess.records import variables
from postprocess.verdicts.history import manifest_changes
from tests.archives import archived, name_of
from tests.support import MPI, Command, refused, succeed

# Of a site's shell: each would change a launch.
POISON = {
    "UCX_TLS": "rc,dc_x,knem", "OMPI_MCA_pml": "ucx", "OMPI_MCA_btl_tcp_if_exclude": "lo,docker0",
    "FI_PROVIDER": "psm3",
    "I_MPI_DEBUG": "5", "I_MPI_HYDRA_BOOTSTRAP": "slurm", "HYDRA_LAUNCHER": "slurm", "MPIR_CVAR_ASYNC_PROGRESS": "1",
    "MPICH_ASYNC_PROGRESS": "1", "MV2_ENABLE_AFFINITY": "1", "PRTE_MCA_plm": "slurm", "PMIX_MCA_gds": "hash",
    "PMI_RANK": "3", "SLURM_JOB_ID": "7", "SLURM_NODELIST": "node[1-4]", "PBS_NODEFILE": "/var/spool/nodes",
    "PE_HOSTFILE": "/var/spool/hosts", "LSB_HOSTS": "a b", "OAR_NODEFILE": "/var/nodes", "FLUX_JOB_ID": "1",
    "OMP_PROC_BIND": "close", "GOMP_CPU_AFFINITY": "0", "KMP_AFFINITY": "compact", "OPENBLAS_NUM_THREADS": "8",
    "MKL_NUM_THREADS": "8", "LD_PRELOAD": "/lib/tool.so", "LD_LIBRARY_PATH": "/opt/other/lib", "LD_AUDIT": "/lib/a.so",
    "MALLOC_ARENA_MAX": "1", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "HWLOC_XMLFILE": "/tmp/a.xml",
    "CFLAGS": "-O0", "CPATH": "/opt/other/include", "CMAKE_GENERATOR": "Unix Makefiles",
}  # fmt: skip
# Neither steers a launch, and none of it is anybody's business in one.
OTHERS = {
    "GIT_DIR": "/x/.git", "PYTHONPATH": "/x", "RFM_CONFIG_FILES": "/x", "BASH_ENV": "/x", "AWS_SECRET_ACCESS_KEY": "s",
}  # fmt: skip
PERSON = {"PATH": "/usr/bin:/bin", "HOME": "/home/user", "USER": "user", "TMPDIR": "/scratch", "LC_ALL": "C.UTF-8"}
PROXIES = {"https_proxy": "http://proxy:3128", "SSL_CERT_FILE": "/etc/site.pem", "REQUESTS_CA_BUNDLE": "/etc/site.pem"}
SHELL = {**PERSON, **PROXIES, **POISON, **OTHERS}


def let(**variables: str | None) -> dict[str, str]:
    return {**SHELL, environ.LET_IN: json.dumps(variables)}


def test_a_launch_gets_what_is_a_persons_and_nothing_that_steers_it() -> None:
    found = environ.built(environ.LAUNCH, environ=SHELL)
    assert found == {**PERSON, "HOME": str(environ.LAUNCH_HOME)}
    assert list(environ.LAUNCH_HOME.iterdir()) == []


@pytest.mark.parametrize("purpose", [one for one in environ.PURPOSES if one != environ.JOB])
def test_no_child_but_one_in_a_job_gets_what_steers_a_launch(purpose: str) -> None:
    found = environ.built(purpose, environ=SHELL)
    assert not set(found) & (set(POISON) | set(OTHERS))
    assert found["PATH"] == SHELL["PATH"]


def test_a_job_gets_what_its_batch_system_says_and_nothing_else_of_the_shell() -> None:
    found = environ.built(environ.JOB, environ=SHELL)
    of_the_job = {
        "SLURM_JOB_ID", "SLURM_NODELIST", "PBS_NODEFILE", "PE_HOSTFILE", "LSB_HOSTS", "OAR_NODEFILE", "FLUX_JOB_ID",
    }  # fmt: skip
    assert set(found) == {*PERSON, *of_the_job}


def test_a_child_of_a_shell_without_a_path_finds_the_systems_programs() -> None:
    assert environ.built(environ.BUILD, environ={}) == {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


def test_proxies_and_certificates_go_where_a_network_is_used() -> None:
    for purpose in (environ.NETWORK, environ.SPACK, environ.SESSION):
        assert PROXIES.items() <= environ.built(purpose, environ=SHELL).items()
    for purpose in (environ.LAUNCH, environ.BUILD):
        assert not PROXIES.keys() & environ.built(purpose, environ=SHELL).keys()


def test_the_order_is_what_passes_then_the_childs_own_then_what_was_let_in() -> None:
    own = {"UCX_TLS": "tcp", "OMP_NUM_THREADS": "2"}
    assert environ.built(environ.LAUNCH, own, environ=SHELL)["UCX_TLS"] == "tcp"
    found = environ.built(environ.LAUNCH, own, environ=let(UCX_TLS="sm", LD_PRELOAD=None, NOT_SET=None))
    assert (found["UCX_TLS"], found["OMP_NUM_THREADS"], found["LD_PRELOAD"]) == ("sm", "2", SHELL["LD_PRELOAD"])
    assert "NOT_SET" not in found
    assert "UCX_TLS" not in environ.built(environ.NETWORK, environ=let(UCX_TLS="sm"))


def test_the_toolchains_own_libraries_come_before_those_that_were_let_in() -> None:
    found = environ.built(environ.LAUNCH, environ=let(LD_LIBRARY_PATH=None), libraries="/opt/mpi/lib")
    assert found["LD_LIBRARY_PATH"] == "/opt/mpi/lib:/opt/other/lib"


@pytest.fixture
def in_need(tmp_path: Path) -> Callable[[Path, str], Path]:
    """Makes a program that needs a shared library in a folder of its own, and then becomes another program."""
    (tmp_path / "private").mkdir()

    def compiled(name: str, text: str, *options: str) -> None:
        (tmp_path / "text.c").write_text(text)
        succeed(str(machine.compiler()), "text.c", "-o", name, *options, cwd=tmp_path)

    def make(program: Path, becomes: str) -> Path:
        compiled("private/libprivate.so", "int answer(void) { return 42; }\n", "-shared", "-fPIC")
        text = "#include <unistd.h>\nint answer(void);\nint main(int n, char **words) "
        text += f'{{ words[0] = "{becomes}"; return n && answer() == 42 ? execv(words[0], words) : 1; }}\n'
        compiled(str(program), text, "-Lprivate", "-lprivate")
        return tmp_path / "private"

    return make


def test_the_folders_of_libraries_that_a_tool_needs_are_found_and_let_in(
    in_need: Callable[[Path, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = in_need(tmp_path / "cc", str(machine.compiler()))
    for name in (environ.LET_IN, environ.NEEDED):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    with pytest.raises(CampaignError, match=r"libprivate.so.*no folder of LD_LIBRARY_PATH in this shell helps"):
        machine.compiler()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{private}:/usr/lib")
    assert machine.compiler() == tmp_path / "cc"
    environ.let(("A=b",), {})
    assert environ.as_recorded()["let_in"] == {"A": "b", "LD_LIBRARY_PATH": str(private)}
    assert all(environ.built(purpose)["LD_LIBRARY_PATH"] == str(private) for purpose in environ.PURPOSES)


def test_an_installed_library_whose_launcher_does_not_start_is_refused_each_time(
    in_need: Callable[[Path, str], Path], tmp_path: Path, campaign: Command
) -> None:
    mpi = resolving.resolve(resolving.parse(MPI), print)
    (tmp_path / "bin").mkdir()
    for name in ("include", "lib", "bin/mpicc"):
        (tmp_path / name).symlink_to(Path(mpi.prefix) / name)
    private = in_need(tmp_path / "bin" / "mpiexec", mpi.mpiexec)
    words = ("run", "--dry-run", "--toolchain", f"{MPI}={tmp_path}", "--network", "shm", "--configuration", "basic")
    assert campaign(*words, env={"LD_LIBRARY_PATH": f"/nowhere:{private}"}).returncode == 0
    refused(campaign(*words), "does not start", "libprivate.so", "LD_LIBRARY_PATH")


def test_what_was_kept_out_and_let_in_is_recorded_by_name_and_value() -> None:
    recorded = environ.as_recorded(let(UCX_TLS="sm", LD_PRELOAD=None))
    assert recorded["let_in"] == {"LD_PRELOAD": "/lib/tool.so", "UCX_TLS": "sm"}
    assert recorded["kept_out"] == {name: POISON[name] for name in sorted(POISON) if name not in recorded["let_in"]}


def test_a_secret_is_kept_out_without_its_value() -> None:
    assert environ.kept_out({"SLURM_JWT": "eyJ"}) == {"SLURM_JWT": "(not told: a secret)"}


def test_settings_in_a_home_are_kept_out_and_named(tmp_path: Path) -> None:
    (tmp_path / ".openmpi").mkdir()
    (tmp_path / ".openmpi" / "mca-params.conf").write_text("btl = nosuch\n")
    assert environ.kept_out({"HOME": str(tmp_path)}) == {"~/.openmpi/mca-params.conf": "a file"}
    assert environ.kept_out({"HOME": str(tmp_path), environ.LET_IN: '{"HOME": null}'}) == {}


# -- what a person types -----------------------------------------------------------------------------------------------


def test_a_name_has_the_shells_value_and_one_without_is_refused() -> None:
    assert environ.resolved(["UCX_TLS", "A=1=2", "B="], SHELL) == ("UCX_TLS=rc,dc_x,knem", "A=1=2", "B=")
    with pytest.raises(CampaignError, match="--env NOT_SET: it is not set in this shell: set it, or give"):
        environ.resolved(["NOT_SET"], SHELL)


@pytest.mark.parametrize("text", ["", "=1", "A B=1", "1A=2", "A-B", "*", "A\n=1"])
def test_what_is_no_variable_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(CampaignError, match="NAME=VALUE"):
        environ.asked([text])


def test_a_path_that_would_hide_the_toolchains_programs_is_refused() -> None:
    for text in ("PATH", "PATH=/nowhere"):
        with pytest.raises(CampaignError, match="PATH is not let in: this shell's passes"):
            environ.asked([text])


@pytest.mark.parametrize("text", ["{", "[]", '{"A": 1}', '{"A B": "1"}', "null"])
def test_a_variable_of_ours_that_is_broken_is_told(text: str) -> None:
    with pytest.raises(CampaignError, match=f"unset it, and use --env|{environ.LET_IN}"):
        environ.requested({environ.LET_IN: text})


def test_a_partition_lets_in_what_its_settings_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCX_NET_DEVICES", "mlx5_0:1")
    entry = site.partition("cpu", "native", environment=["UCX_NET_DEVICES", "FI_PROVIDER=cxi", "NOT_SET"])
    told = entry["extras"]["environment"]
    assert told == {"UCX_NET_DEVICES": None, "FI_PROVIDER": "cxi", "NOT_SET": None}
    here, job = (Partition("cpu", "native", name, "mpiexec", told).requested() for name in ("local", "slurm"))
    assert here == {"UCX_NET_DEVICES": "mlx5_0:1", "FI_PROVIDER": "cxi"}
    assert job == told  # the value that it has on the node


# -- scripts -----------------------------------------------------------------------------------------------------------

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
VALUES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20)


def test_a_script_takes_away_functions_of_a_shell_that_would_be_started_instead() -> None:
    shell = {"BASH_FUNC_mpiexec%%": "() { echo the function; }", "PATH": os.environ["PATH"]}
    lines = [*environ.script(environ.LAUNCH, [], {}), "type -t mpiexec || echo none"]
    done = subprocess.run(["bash", "-c", "\n".join(lines)], env=shell, capture_output=True, text=True, check=True)
    assert "function" not in done.stdout
    assert list(environ.kept_out(shell)) == ["BASH_FUNC_mpiexec%%"]


@given(st.dictionaries(NAMES, VALUES, max_size=6), st.dictionaries(NAMES, VALUES, max_size=3))
def test_a_script_takes_away_all_but_what_passes_and_what_it_set_itself(
    shell: dict[str, str], own: dict[str, str]
) -> None:
    untouchable = {"PATH", "_", "SHLVL", "PWD", "OLDPWD", "SHELLOPTS", "BASHOPTS", "UID", "EUID", "PPID", "IFS", "name"}
    shell = {name: value for name, value in shell.items() if name not in untouchable and "BASH" not in name}
    own = {name: value for name, value in own.items() if name not in untouchable and "BASH" not in name}
    script = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in own.items())
    written = {"WRITTEN_BY_US": "a 'b' $(c) `d`"}
    script += "\n".join(environ.script(environ.LAUNCH, own, written))
    script += f"\n{shlex.quote(sys.executable)} -c 'import os, json; print(json.dumps(dict(os.environ)))'"
    done = subprocess.run(
        ["bash", "-c", script], env={**POISON, **shell, "PATH": os.environ["PATH"]}, capture_output=True, check=True
    )
    left = json.loads(done.stdout)
    for name, value in {**own, **written}.items():
        assert left.pop(name) == value
    assert all(environ.passes(name, environ.LAUNCH) or name in {"_", "SHLVL", "PWD"} for name in left)


# -- pip ---------------------------------------------------------------------------------------------------------------


def test_pip_keeps_where_packages_come_from_and_not_where_they_go() -> None:
    listed = """global.index-url='https://mirror/simple'
install.index-url='https://nearer/simple'
global.user='true'
install.target='/elsewhere'
:env:.constraint='/c.txt'
:env:.cert='/etc/site.pem'
global.cert='/etc/other.pem'
global.extra-index-url='https://a/simple\\nhttps://b/simple'
freeze.proxy='http://no'
nonsense
"""
    assert environ.pip_variables(listed) == {
        "PIP_INDEX_URL": "https://nearer/simple",
        "PIP_CERT": "/etc/site.pem",
        "PIP_EXTRA_INDEX_URL": "https://a/simple\nhttps://b/simple",
    }


def test_a_toolchain_is_installed_where_pip_is_told_to_install_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PIP_USER=1, and the same in a file: pip refuses it beside --prefix. The wheel here is one that was fetched."""
    (tmp_path / "pip.conf").write_text("[install]\nuser = true\ntarget = /nowhere\n[global]\nrequire-virtualenv = 1\n")
    for name, value in {
        "PIP_USER": "1", "PIP_TARGET": str(tmp_path / "target"), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
        "PIP_NO_BINARY": ":all:", "PIP_CONSTRAINT": "/nowhere",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(resolving, "STATE", tmp_path / "state")
    monkeypatch.setattr(resolving, "STORE", tmp_path / "state" / "toolchains.json")
    monkeypatch.setattr(resolving, "TOOLCHAINS", tmp_path / "state" / "toolchains")
    found = resolving.resolve(resolving.parse(resolving.DEFAULT_TOOLCHAINS[1]), print)
    assert Path(found.mpicc).is_file()
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    ("output", "fragments"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement mpich==9 (from versions: 4.3.2, 5.0.2)",
            ["there are: 4.3.2, 5.0.2"],
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement mpich==9 (from versions: none)",
            ["no wheel of mpich for Python 3.", "give an installed MPI as mpich@9=PREFIX"],
        ),
        (
            "Could not fetch URL http://host/mpich/: connection error: no - skipping (from versions: none)",
            ["no package registry can be reached"],
        ),
    ],
)
def test_a_wheel_that_there_is_not_is_no_network_that_is_down(output: str, fragments: list[str]) -> None:
    said = resolving._explain(output, resolving.parse("mpich@9"))
    for fragment in fragments:
        assert fragment in said


# -- what was let in, in manifests -------------------------------------------------------------------------------------


def manifest(**variables: str) -> dict[str, Any]:
    return {
        "environment": {"kept_out": {"OMPI_MCA_pml": "ucx"}, "let_in": variables},
        "options": {"environment": [f"{name}={value}" for name, value in variables.items()]},
    }


def test_a_variable_that_was_let_in_on_one_side_is_a_difference() -> None:
    none, tcp, sm = manifest(), manifest(UCX_TLS="tcp"), manifest(UCX_TLS="sm", A="1")
    assert list(variables.differences([none], [tcp])) == ["let in UCX_TLS: none -> tcp"]
    of_two = ["let in A: none -> 1 or none", "let in UCX_TLS: tcp -> sm or tcp"]
    assert list(variables.differences([tcp], [tcp, sm])) == of_two
    assert list(variables.differences([tcp], [tcp])) == []
    assert manifest_changes(none, tcp) == ["let in UCX_TLS: none -> tcp"]
    assert manifest_changes(sm, none) == ["let in UCX_TLS: sm -> none", "let in A: 1 -> none"]


def test_show_and_the_report_tell_what_was_let_in_and_kept_out(tmp_path: Path, inside: Command) -> None:
    folder = archived(tmp_path, name_of(1), manifest=manifest(UCX_TLS="<tcp>"))
    said = inside("show", str(folder.path), "--provenance").stdout
    assert "let in      UCX_TLS=<tcp>" in said
    assert "kept out    OMPI_MCA_pml=ucx" in said
    page = tmp_path / "report.html"
    assert inside("report", str(folder.path), "-o", str(page)).returncode == 0
    assert "UCX_TLS=&lt;tcp&gt;" in page.read_text()


def test_compare_names_what_was_let_in_on_one_side(tmp_path: Path, inside: Command) -> None:
    none, one = manifest(), manifest(A="1")
    runs = [archived(tmp_path, name_of(day), manifest=given).run for day, given in enumerate((none, one), 1)]
    said = inside("compare", *runs, "--output", str(tmp_path)).stdout
    assert "note: not on the same terms: let in A: none -> 1" in said
