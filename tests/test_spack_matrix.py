"""What spack.yaml, the systems' definitions and the recipe say, and what a name on the command line means in them."""

import hashlib
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mpi_campaign import ROOT
from mpi_campaign.errors import CampaignError
from mpi_campaign.libraries import registry
from mpi_campaign.running import case_results
from mpi_campaign.running.reframe_session import Outcome
from mpi_campaign.systems import known_systems, new_system
from mpi_campaign.this_machine import machine
from mpi_campaign.toolchains import builds, peers, resolving, series
from mpi_campaign.toolchains.spack import environment, installed, matrix, provider, tool
from mpi_campaign.toolchains.spack.build import Build
from mpi_campaign.toolchains.spack.matrix import Line, Matrix
from tests.support import spack_build

ROWS = Matrix(
    Path("systems/here/spack"),
    (
        Line("openmpi@5.0 fabrics=ucx"),
        Line("openmpi@4.1.8"),
        Line("mpich@5.0 device=ch4"),
        Line("mpich@5.0 device=ch4 +vci ^libfabric fabrics=tcp"),
        Line("intel-oneapi-mpi@2021.17.0"),
        Line("nmad +mpi"),
    ),
    ("osu-micro-benchmarks",),
)

BUILD = spack_build(
    environment="/clone/.campaign/spack/environments/local/openmpi_5.0",
    mpi_spec="openmpi@5.0.8 fabrics=ucx",
    repositories=(("campaign", "d" * 40), ("builtin", "")),
    peers=(("osu-micro-benchmarks", "f" * 32, "/opt/osu"),),
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("openmpi@5.0", "openmpi@5.0 fabrics=ucx"),
        ("openmpi@5.0.8", "openmpi@5.0.8 fabrics=ucx"),
        ("openmpi@4.1.8", "openmpi@4.1.8"),
        ("mpich@5.0+vci", "mpich@5.0 device=ch4 +vci ^libfabric fabrics=tcp"),
        ("mpich@5.0.1+vci", "mpich@5.0.1 device=ch4 +vci ^libfabric fabrics=tcp"),
        ("mpich@4.2.3+vci", "mpich@4.2.3 +vci"),
        ("intel@2021.17.0", "intel-oneapi-mpi@2021.17.0"),
        ("madmpi", "nmad +mpi"),
        ("cray-mpich@8.1", "cray-mpich@8.1"),
        ("openmpi@5.0.8^ucx@1.18", "openmpi@5.0.8 fabrics=ucx ^ucx@1.18"),
        ("openmpi@5.0.8 ^ucx@1.18", "openmpi@5.0.8 fabrics=ucx ^ucx@1.18"),
        ("mpich@5.0+vci^libfabric@2.1", "mpich@5.0 device=ch4 +vci ^libfabric@2.1 fabrics=tcp"),
    ],
)
def test_a_name_means_a_line_of_the_matrix_or_refines_one(text: str, spec: str) -> None:
    assert matrix.choose(text, ROWS).spec == spec


RANGES = Matrix(
    Path("systems/here/spack"),
    (Line("openmpi@5: fabrics=ucx"), Line("openmpi@4.1:4.9 +cuda"), Line("mpich netmod=ucx"), Line("mpich@4.3 +vci")),
    (),
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("openmpi@5.0.8", "openmpi@5.0.8 fabrics=ucx"),
        ("openmpi@4.1.8", "openmpi@4.1.8 +cuda"),
        ("openmpi@4.0.7", "openmpi@4.0.7"),
        ("openmpi@5:", "openmpi@5: fabrics=ucx"),
        ("mpich@5.0.2", "mpich@5.0.2 netmod=ucx"),
        ("mpich@4.3.1", "mpich@4.3.1 +vci"),  # the line that says more
    ],
)
def test_a_line_of_a_range_of_versions_or_of_any_is_refined_like_another(text: str, spec: str) -> None:
    assert matrix.choose(text, RANGES).spec == spec
    assert all(matrix.choose(RANGES.name(line), RANGES) == line for line in RANGES.lines)


@pytest.mark.parametrize(
    ("versions", "inside", "outside"),
    [
        ("5.0", ["5.0", "5.0.8", "5.0-1"], ["5.01", "5.1", "5", "4.9"]),
        ("5.0.0", ["5.0.0"], ["5.0", "5.0.1"]),
        ("4.1:4.9", ["4.1", "4.1.8", "4.9.3"], ["4.10", "4.0.9", "5"]),
        ("5:", ["5", "5.0.8", "6.1"], ["4.1.8"]),
        (":4", ["4.1.8", "3"], ["5", "5.0.8"]),
        ("4.1.6,5.0", ["4.1.6", "5.0.2"], ["4.1.8", "5.1"]),
        ("", ["5.0.8", "main"], []),
        ("2.3.7", ["2.3.7", "2.3.7-1"], ["2.3.70"]),
        ("2025-03-18", ["2025-03-18"], ["2025-03-19"]),
    ],
)
def test_which_versions_a_spec_contains(versions: str, inside: list[str], outside: list[str]) -> None:
    assert [one for one in inside if not matrix.contains(versions, one)] == []
    assert [one for one in outside if matrix.contains(versions, one)] == []


@pytest.mark.parametrize(
    "text",
    [
        "mpich@5.0", "mpich@5.0+vci", "mpich@5.0.1+vci", "mpich@4.2.3+vci", "openmpi@4.1.6", "openmpi@5.0.8^ucx@1.18",
        "mpich@5.0+vci^libfabric@2.1",
    ],
)  # fmt: skip
def test_a_variant_that_was_asked_for_stays_in_the_name(text: str) -> None:
    assert ROWS.name(matrix.choose(text, ROWS)) == text


def test_lines_that_differ_in_a_dependency_are_two_libraries() -> None:
    lines = tuple(Line(f"openmpi@5.0.10 fabrics=ucx ^ucx@{version} ^pmix@5") for version in ("1.18", "1.19"))
    rows = Matrix(Path("systems/here/spack"), lines, ())
    assert [rows.name(line) for line in lines] == ["openmpi@5.0.10^ucx@1.18", "openmpi@5.0.10^ucx@1.19"]
    assert [matrix.choose(rows.name(line), rows) for line in lines] == list(lines)


def test_a_library_is_called_by_its_version_without_what_its_packager_added() -> None:
    rows = matrix.matrix("general")
    (line,) = (one for one in rows.lines if one.package == "mvapich2")
    assert "-" in line.version
    assert matrix.choose(f"mvapich2@{line.version.partition('-')[0]}", rows) == line


@pytest.mark.parametrize("text", ["", "open mpi", "openmpi@", "openmpi@5.0=/usr", "Openmpi@5", "openmpi@5.0;rm", "mpc"])
def test_what_is_no_name_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(CampaignError) as refused:
        matrix.choose(text, ROWS)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_refused_or_means_one_spec(text: str) -> None:
    try:
        line = matrix.choose(text, ROWS)
    except CampaignError:
        return
    assert matrix.SPEC.fullmatch(line.spec)
    assert not re.search(r"[;$`'\"\n]", line.spec)


def scopes() -> list[Path]:
    found = (ROOT / "systems").glob("*/spack/definitions.yaml")
    return sorted(path.parent for path in found if not path.parts[-3].startswith("tmp-"))  # another test's


@pytest.mark.parametrize("scope", scopes(), ids=lambda scope: scope.parent.name)
def test_every_system_names_libraries_that_differ_by_name(scope: Path) -> None:
    rows = matrix.matrix(scope.parent.name)
    names = [rows.name(line) for line in rows.lines]
    assert len(set(names)) == len(names)
    assert all(matrix.choose(name, rows) == line for name, line in zip(names, rows.lines, strict=True))


def test_the_general_matrix_has_every_library_that_spack_has() -> None:
    there = {line.family for line in matrix.matrix("general").lines}
    assert there == set(registry.LIBRARIES) - {"craympich", "parastation"}


def test_a_toolchains_environment_is_the_matrix_with_one_library() -> None:
    line = matrix.choose("mpich@5.0+vci", matrix.matrix("general"))
    one = environment.of("general", line, ["osu-micro-benchmarks"])
    made = yaml.safe_load(one.text(Path("/packages")))["spack"]
    assert made["specs"] == [f"{matrix.PACKAGE}@main ^{line.spec}", f"osu-micro-benchmarks ^{line.spec}"]
    assert made["concretizer"] == {"unify": True, "reuse": "dependencies"}
    assert made["repos"]["builtin"] == "/packages/repos/spack_repo/builtin"
    assert all(Path(path).is_absolute() for path in (*made["include"], *made["repos"].values()))
    assert made["develop"][matrix.PACKAGE]["path"] == str(ROOT / "benchmarks")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (None, "has no `spack:`: see docs/spack.md"),
        ({"repos": ["/mine"]}, "`repos` must have names, as it came"),
        ({"develop": {"hwloc": ["/mine"]}}, "`hwloc` must have names, as it came"),
    ],
)
def test_a_changed_matrix_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any] | None, says: str
) -> None:
    whole = yaml.safe_load(matrix.MANIFEST.read_text())["spack"]
    monkeypatch.setattr(matrix, "MANIFEST", tmp_path / "spack.yaml")
    matrix.MANIFEST.write_text(yaml.safe_dump({"spack": {**whole, **changed} if changed is not None else None}))
    with pytest.raises(CampaignError, match=re.escape(says)):
        environment.of("general", Line("openmpi@5.0"), ()).text(None)


def test_what_is_developed_beside_ours_stays_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = yaml.safe_load(matrix.MANIFEST.read_text())["spack"]
    monkeypatch.setattr(matrix, "MANIFEST", tmp_path / "spack.yaml")
    whole["develop"] |= {"hwloc": None, "ucx": {"spec": "ucx@main", "path": "$HOME/ucx"}}
    matrix.MANIFEST.write_text(yaml.safe_dump({"spack": whole}))
    made = yaml.safe_load(environment.of("general", Line("openmpi@5.0"), ()).text(None))["spack"]["develop"]
    assert made["hwloc"] == {}
    assert made["ucx"] == {"spec": "ucx@main", "path": "$HOME/ucx"}


def test_a_lock_is_made_anew_when_what_it_was_made_from_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tmp_path / "package.py"
    recipe.write_text("one")
    monkeypatch.setattr(environment, "RECIPE", recipe)
    one = environment.Environment(tmp_path / "environment", "general", Line("openmpi@5.0"), ())
    one.prepare(None)
    assert not one.is_concretized(None)
    one.lock.write_text("{}")
    assert one.is_concretized(None)
    assert not one.is_concretized(Path("/other/packages"))
    recipe.write_text("two")
    assert not one.is_concretized(None)
    recipe.write_text("one")
    assert one.is_concretized(None)
    one.forget()
    assert not one.is_concretized(None)
    assert one.lock.read_text() == "{}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The empty folder of Spack's settings of the only system, `here`."""
    monkeypatch.setattr(matrix, "SYSTEMS", tmp_path / "systems")
    scope = tmp_path / "systems" / "here" / "spack"
    scope.mkdir(parents=True)
    matrix.matrix.cache_clear()
    yield scope
    matrix.matrix.cache_clear()


def test_a_mirror_and_the_list_change_no_lock(here: Path) -> None:
    one = environment.Environment(here.parent, "here", Line("openmpi@5.0"), ())
    before = one.digest(None)
    for name in ("mirrors.yaml", "definitions.yaml"):
        (here / name).write_text(name)
        assert one.digest(None) == before
    (here / "packages.yaml").write_text("packages: {}\n")
    assert one.digest(None) != before


def test_another_release_of_the_operating_system_has_a_lock_of_its_own(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = environment.Environment(here.parent, "here", Line("openmpi@5.0"), ())
    before = one.digest(None)
    monkeypatch.setattr(machine, "os_release", lambda: "debian 13")
    assert one.digest(None) != before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"definitions: [", "cannot be read"),
        (b"definitions: [null]", "is not a list of lists with names"),
        (b"definitions: [{mpis: [null]}]", "'None' is not a Spack spec"),
        (b"definitions: [{mpis: [mpich], when: 'True'}]", "`when` is Spack's alone to decide"),
        (b"definitions: [{mpis: [mpich device=ch3, mpich device=ch4]}]", "'mpich device=ch4' are both called mpich"),
    ],
)
def test_a_list_that_cannot_be_used_is_one_line(here: Path, text: bytes, says: str) -> None:
    (here / matrix.DEFINITIONS).write_bytes(text)
    with pytest.raises(CampaignError, match=re.escape(says)) as refused:
        matrix.matrix("here")
    assert "\n" not in str(refused.value)


def test_lines_without_a_version_are_told_apart_by_their_switches(here: Path) -> None:
    (here / matrix.DEFINITIONS).write_text("definitions: [{mpis: [nmad +mpi, nmad +mpi +pioman]}]")
    rows = matrix.matrix("here")
    assert [rows.name(line) for line in rows.lines] == ["madmpi", "madmpi+pioman"]
    assert [matrix.choose(rows.name(line), rows) for line in rows.lines] == list(rows.lines)


def test_another_benchmark_is_known_by_its_package_whatever_its_version() -> None:
    rows = Matrix(Path("x"), (Line("mpich"),), ("osu-micro-benchmarks@7.5", "intel-mpi-benchmarks"))
    assert rows.beside(["osu-micro-benchmarks", "hpl"]) == ["osu-micro-benchmarks@7.5"]


def test_plain_spack_has_the_packages_that_setup_clones() -> None:
    """In a folder of its own: which packages a lock was made from must not depend on who fetched them."""
    builtin = yaml.safe_load((matrix.GENERAL / "repos.yaml").read_text())["repos"]["builtin"]
    assert (builtin["git"], builtin["tag"]) == (tool.PACKAGES_GIT, tool.PACKAGES_TAG)
    assert os.path.normpath(matrix.GENERAL / builtin["destination"]) == str(tool.HOME / "packages")


ARCH = {"platform": "linux", "platform_os": "debian12", "target": platform.machine()}


def lock_text(**changes: Any) -> str:
    """A lock as Spack writes it, as far as it is looked at; changes are of the library's node."""
    here = {"arch": ARCH, "parameters": {}, "version": "main"}
    ours = {**here, "name": matrix.PACKAGE, "parameters": {"dev_path": str(ROOT / "benchmarks")}}
    mpi = {**here, "name": "openmpi", "version": "5.0.10", **changes}
    return json.dumps({"roots": [{"hash": "a", "spec": "x"}], "concrete_specs": {"a": ours, "b": mpi}})


def debian(folder: Path) -> tool.Spack:
    """A Spack that stands on Debian 12."""
    return tool.Spack(fake_spack(folder / "spack", "echo linux-debian12-zen3") / "bin" / "spack", "1.1.0")


OTHER = "aarch64" if platform.machine() == "x86_64" else "x86_64"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a lock of Spack's"),
        ('{"concrete_specs": {"a": 1}, "roots": []}', "is not a lock of Spack's"),
        ('{"concrete_specs": {}, "roots": []}', f"has no {matrix.PACKAGE}: give the spack.lock of a run"),
        (lock_text(parameters=[]), "is not a lock of Spack's"),
        (lock_text(parameters={"dev_path": "/x"}), "whose benchmarks lie in /x"),
        (lock_text(name="mpich"), "has no openmpi, not openmpi@5.0"),
        (lock_text(version="5.1.0"), "has openmpi@5.1.0, not openmpi@5.0"),
        (lock_text(arch={**ARCH, "platform_os": "rhel9"}), "is for linux-rhel9, this machine is linux-debian12: leave"),
        (lock_text(external={"path": "/no/openmpi"}), "takes openmpi@5.0.10 from /no/openmpi, which is not there"),
        (lock_text(arch={**ARCH, "target": OTHER}), f"is for {OTHER}, this machine is "),
    ],
)
def test_a_lock_of_something_else_is_refused(tmp_path: Path, text: str, says: str) -> None:
    lock = tmp_path / "spack.lock"
    lock.write_text(text)
    one = environment.Environment(tmp_path / "environment", "general", Line("openmpi@5.0"), ())
    with pytest.raises(CampaignError, match=re.escape(says)):
        one.take(lock, debian(tmp_path))
    assert not one.lock.exists()


@pytest.mark.parametrize("spec", ["openmpi@5.0", "openmpi@5.0.10", "openmpi"])
def test_a_lock_of_this_place_is_taken(tmp_path: Path, spec: str) -> None:
    lock = tmp_path / "spack.lock"
    lock.write_text(lock_text())
    one = environment.Environment(tmp_path / "environment", "general", Line(spec), ())
    one.take(lock, debian(tmp_path))
    assert one.is_concretized(None)
    assert one.lock.read_text() == lock.read_text()


CONCRETIZES = """case "$4 $3" in
concretize*/.new-bad) echo "==> Error: no such package"; exit 1 ;;
concretize*) echo '{"spack": {"version": "1.1.0", "type": "git", "commit": "abc"}}' > "$3/spack.lock" ;;
python*) echo '{"spack": {"version": "9.9", "commit": "def"}, "repositories": [{"root": "/x"}], "roots": []}' ;;
esac"""


def test_its_own_lock_is_taken_and_kept(tmp_path: Path) -> None:
    one = environment.Environment(tmp_path / "environment", "general", Line("openmpi@5.0"), ())
    one.folder.mkdir()
    one.lock.write_text(lock_text(external={"path": "/usr"}))
    one.take(one.lock, debian(tmp_path))
    assert one.is_concretized(None)
    assert one.lock.read_text() == lock_text(external={"path": "/usr"})


def test_a_lock_stays_until_there_is_another(alone: Path) -> None:
    spack = tool.Spack(fake_spack(alone / "spack", CONCRETIZES) / "bin" / "spack", "1.1.0")
    good, bad = (environment.Environment(alone / name, "general", Line("openmpi@5.0"), ()) for name in ("good", "bad"))
    for one in (good, bad):
        one.folder.mkdir()
        one.lock.write_text("old")
    with pytest.raises(CampaignError, match=r"cannot be concretized: Error: no such package; .*/\.new-bad/log$"):
        environment.concretize(spack, [bad, good], lambda _line: None, lambda: None, 1)
    assert good.is_concretized(None)
    assert not bad.is_concretized(None)
    assert bad.lock.read_text() == "old"
    assert (bad.draft.folder / "log").read_text() == "==> Error: no such package\n"


def test_a_lock_is_of_the_commits_that_it_was_made_with(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Spack, as the lock says; of packages, as they were then."""
    spack = tool.Spack(fake_spack(alone / "spack", CONCRETIZES) / "bin" / "spack", "1.1.0")
    one = environment.Environment(alone / "one", "general", Line("openmpi@5.0"), ())
    monkeypatch.setattr(machine, "commit_of", lambda _folder: "then")
    environment.concretize(spack, [one], lambda _line: None, lambda: None, 1)
    monkeypatch.setattr(machine, "commit_of", lambda _folder: "now")
    found = one.description(spack)
    assert found["spack"] == {"version": "1.1.0", "commit": "abc"}
    assert found["repositories"] == [{"root": "/x", "commit": "then"}]


def noted(digest: str, prefix: str, said: str) -> None:
    """As a build script does it."""
    path = installed.note(digest, prefix)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{said}\n")


def test_whoever_installs_into_a_prefix_says_so_for_all(alone: Path) -> None:
    build = replace(BUILD, prefix=str(alone / "ours"), peers=())
    assert installed.to_install(build, "sources") == [build.hash]
    (alone / "ours" / "bin").mkdir(parents=True)
    noted(build.hash, build.prefix, "sources")
    assert installed.to_install(build, "sources") == []
    assert installed.to_install(replace(build, environment="/another"), "sources") == []
    assert installed.to_install(build, "later sources") == [build.hash]
    (alone / "elsewhere" / "bin").mkdir(parents=True)
    assert installed.to_install(replace(build, prefix=str(alone / "elsewhere")), "sources") == [build.hash]


def test_another_benchmark_that_cannot_be_built_is_not_tried_again_until_that_is_asked(alone: Path) -> None:
    name, digest, prefix = "osu-micro-benchmarks", "f" * 32, str(alone / "osu")
    build = replace(BUILD, prefix=str(alone / "ours"), peers=((name, digest, prefix),))
    (alone / "ours" / "bin").mkdir(parents=True)
    noted(build.hash, build.prefix, "sources")
    assert installed.to_install(build, "sources") == [build.hash, digest]
    noted(digest, prefix, installed.FAILED)
    assert installed.to_install(build, "sources") == []
    assert installed.failed(build) == [name]
    installed.forget_failed()
    assert installed.failed(build) == []
    assert installed.to_install(build, "sources") == [build.hash, digest]
    noted(digest, prefix, installed.INSTALLED)
    assert installed.to_install(build, "sources") == [build.hash, digest]
    Path(prefix).mkdir()
    assert installed.to_install(build, "sources") == []


@pytest.fixture
def concretized(alone: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give the only line of the only system a lock and a description: of this architecture, with these nodes more."""
    monkeypatch.setenv("SPACK_ROOT", str(fake_spack(alone / "spack", "echo 1.1.0")))
    monkeypatch.setattr(environment, "ENVIRONMENTS", alone / "environments")
    (here / matrix.DEFINITIONS).write_text("definitions: [{mpis: [openmpi@5.0]}, {peers: [osu-micro-benchmarks@7.5]}]")

    def describe(architecture: str, *nodes: dict[str, Any]) -> None:
        (one,) = provider.wanted((), "here", ["osu-micro-benchmarks"])
        one.prepare(None)
        one.lock.write_text("{}")
        mpi = {"name": "openmpi", "version": "5.0.8", "hash": "m", "spec": "openmpi@5.0.8", "prefix": "/m"}
        root = {"full": "x", "compiler": "gcc@12", "architecture": architecture, "mpi": "m", "mpi_home": "/m"}
        description = {
            "lock_sha256": hashlib.sha256(b"{}").hexdigest(),
            "spack": {"version": "1.1.0", "commit": "c"},
            "repositories": [{"namespace": "builtin", "root": "/x", "commit": "d"}],
            "roots": [
                {**root, "name": matrix.PACKAGE, "hash": "a", "prefix": str(alone)},
                {**root, "name": "osu-micro-benchmarks", "hash": "o", "prefix": "/osu"},
            ],
            "nodes": [{**mpi, "external": False}, *nodes],
        }
        (one.folder / "description.json").write_text(json.dumps(description))

    return describe


HERE = f"linux-debian12-{platform.machine()}"

LOG_OF_A_FETCH = """\
[+] /opt/spack/openmpi
==> Installing osu-micro-benchmarks-7.5-o [9/9]
==> Error: FetchError: All fetchers failed for osu

==> Warning: osu-micro-benchmarks: nothing was installed
"""


def test_a_lock_of_a_shared_clone_is_refused_where_its_programs_cannot_run(concretized: Callable[..., None]) -> None:
    concretized(f"linux-debian12-{OTHER}")
    with pytest.raises(CampaignError, match=rf"openmpi@5.0.8 .*for {OTHER}, this machine is .*systems init.*--fresh"):
        provider.find((), "here", ["osu-micro-benchmarks"], print)


def test_every_external_must_still_be_there(concretized: Callable[..., None], alone: Path) -> None:
    there = {"name": "openblas", "version": "0.3.34", "hash": "b", "external": True, "prefix": str(alone)}
    concretized(HERE, there, {**there, "name": "module", "prefix": "None"})  # of a module alone: no prefix is known
    assert provider.find((), "here", ["osu-micro-benchmarks"], print)
    concretized(HERE, {**there, "prefix": str(alone / "gone")})
    with pytest.raises(CampaignError, match=r"external openblas@0.3.34 is in .*/gone, which is not.*packages.yaml"):
        provider.find((), "here", ["osu-micro-benchmarks"], print)


def test_a_toolchain_has_its_other_benchmarks_and_says_once_which_it_lacks(concretized: Callable[..., None]) -> None:
    concretized(HERE)
    noted("o", "/osu", installed.FAILED)
    installed.log("o", "/osu").write_text(LOG_OF_A_FETCH)
    said: list[str] = []
    (found,) = provider.find((), "here", ["osu-micro-benchmarks"], said.append)
    assert found.build.peers == (("osu-micro-benchmarks", "o", "/osu"),)
    assert (found.build.spack_commit, found.build.repositories) == ("c", (("builtin", "d"),))
    (line,) = (line for line in said if "osu-micro-benchmarks" in line)
    assert line.startswith(
        "openmpi@5.0.8: Spack could not build osu-micro-benchmarks: Error: FetchError: All fetchers failed for osu "
        "(nothing to fetch it from: name a mirror that has it, see docs/spack.md)"
    )
    assert "--fresh" in line
    assert str(installed.log("o", "/osu")) in line


def test_a_case_of_another_benchmark_says_why_spack_does_not_have_it(alone: Path) -> None:
    build = replace(BUILD, peers=(("osu-micro-benchmarks", "o", "/osu"),))
    noted("o", "/osu", installed.FAILED)
    installed.log("o", "/osu").write_text(LOG_OF_A_FETCH)
    reason = peers.find("osu", "ibcast", "openmpi", alone, (), build)
    assert isinstance(reason, str)
    assert reason == installed.why_lacking(build, "osu-micro-benchmarks")
    other = peers.find("osu", "ibcast", "openmpi", alone, (), replace(build, peers=()))
    assert isinstance(other, str)
    assert "name osu-micro-benchmarks among the peers of the system's spack/definitions.yaml, or build it" in other


def test_a_build_is_remembered_as_it_was() -> None:
    assert Build.from_json(json.loads(json.dumps(asdict(BUILD)))) == BUILD


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "==> Error: failed to concretize `x` for the following reasons:\n     1. Cannot satisfy 'openmpi@9'\n",
            "Error: failed to concretize `x` for the following reasons: 1. Cannot satisfy 'openmpi@9'",
        ),
        ("==> Warning: old\n==> Error: one\n==> Next\n", "Error: one"),
        ("", "it said nothing"),
    ],
)
def test_a_complaint_of_spack_is_its_reason_in_one_line(said: str, line: str) -> None:
    assert tool.complaint(said) == line


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ("mpich-5_0_1-spack", "(nothing to fetch it from: name a mirror that has it, see docs/spack.md)"),
        ("mpich-5_0_1", ""),
    ],
)
def test_a_build_that_lacks_a_network_says_what_to_do(tmp_path: Path, environment: str, says: str) -> None:
    (tmp_path / "rfm_build.err").write_text("==> Warning: x\n==> Error: All fetchers failed for spack-stage-mpich\n")
    outcome = Outcome(
        "", environment, fixture=True, result="fail", fail_phase="compile", fail_reason="", folder=str(tmp_path)
    )
    assert case_results.build_error(outcome) == f"==> Error: All fetchers failed for spack-stage-mpich {says}".strip()


def fake_spack(folder: Path, version: str) -> Path:
    program = folder / "bin" / "spack"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{version}\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No Spack but what a test makes."""
    monkeypatch.setattr(tool, "HOME", tmp_path / "home")
    monkeypatch.setattr(tool, "SETTINGS", tmp_path / "home" / "settings.json")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("SPACK_ROOT", raising=False)
    monkeypatch.delenv(tool.PACKAGES_VARIABLE, raising=False)
    return tmp_path


def test_no_spack_is_said_with_what_to_do(alone: Path) -> None:
    with pytest.raises(CampaignError, match=r"there is no Spack here.*setup --provider spack"):
        tool.find()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 0.23.1", "is Spack 0.23.1; 1.1 or newer is needed"),
        ("echo nothing; exit 1", "does not run: nothing"),
    ],
)
def test_a_spack_that_cannot_be_used_is_said(
    alone: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    monkeypatch.setenv("SPACK_ROOT", str(fake_spack(alone / "spack", script)))
    with pytest.raises(CampaignError, match=re.escape(says)):
        tool.find()


def test_the_spack_that_setup_was_told_of_comes_first(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACK_ROOT", str(fake_spack(alone / "other", "echo 1.2.0")))
    assert tool.find().version == "1.2.0"
    tool.remember(spack=fake_spack(alone / "mine", "echo '1.1.0 (abc)'"), packages=None)
    assert (tool.find().version, tool.find().executable) == ("1.1.0", alone / "mine" / "bin" / "spack")


def test_a_range_is_every_version_that_spack_knows(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """case "$*" in
*--version*) echo 1.1.0;;
*"versions --safe intel-oneapi-mpi"*) printf '  %s\\n' develop 2021.15.0 2021.14.1 2021.14.0;;
*) echo "==> Error: no such package" >&2; exit 1;;
esac"""
    monkeypatch.setenv("SPACK_ROOT", str(fake_spack(alone / "spack", script)))
    both = ["intel@2021.14.0", "intel@2021.14.1"]
    assert resolving.expanded_by_spack("intel@:2021.14", print) == both
    assert resolving.expanded_by_spack("intel@:2021.14 ^libfabric@1.22", print) == [
        f"{o} ^libfabric@1.22" for o in both
    ]
    assert resolving.expanded_by_spack("mpich@4.3+vci", print) == ["mpich@4.3+vci"]
    with pytest.raises(CampaignError, match="no such package"):
        resolving.expanded_by_spack("mpich@*", print)
    of = {
        ("intel@2021.14.0", "intel@2021.15.0"): ("intel@2021.14.0", "intel@2021.14.1", "intel@2021.15.0"),
        ("intel@2021.14.0^ucx@1.17", "intel@2021.14.0^ucx@1.18"): (
            "intel@2021.14.0^ucx@1.17", "intel@2021.14.0^ucx@1.18",
        ),
    }  # fmt: skip
    for words, names in of.items():
        assert series.of_toolchains(words, "spack", print).names == names
    with pytest.raises(CampaignError, match="the good one comes first"):
        series.of_toolchains(("intel@2021.15.0", "intel@2021.14.0"), "spack", print)


def test_nothing_of_the_users_spack_reaches_ours(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPACK_ENV", "SPACK_USER_CONFIG_PATH", "PYTHONPATH", "MPI_CAMPAIGN_SPACK_SCOPE"):
        monkeypatch.setenv(name, "/users")
    found = tool.Spack(Path("/spack"), "1.1.0").environment()
    assert "/users" not in found.values()
    assert found["SPACK_DISABLE_LOCAL_CONFIG"] == "1"
    assert found["SPACK_USER_CACHE_PATH"].startswith(str(alone))


@pytest.mark.parametrize("name", ["SPACK_PYTHON", "SPACK_DISABLE_LOCAL_CONFIG", "SPACK_USER_CACHE_PATH", "SPACK_ENV"])
def test_nor_where_several_are_started_at_once(alone: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "/users")
    spack = tool.Spack(fake_spack(alone / "spack", "env; exit 1") / "bin" / "spack", "1.1.0")
    folder = alone / "environment"
    folder.mkdir()
    said = tool.together(spack, {folder: ["concretize"]}, lambda: None, 1)[folder].splitlines()
    assert not any("/users" in line for line in said if line.startswith("SPACK_"))
    assert {f"{name}={value}" for name, value in spack.variables.items()} <= set(said)


def test_what_is_cloned_is_used_from_then_on(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is another Spack, too old to be used."""
    old = fake_spack(alone / "old", "echo 0.23.1")
    monkeypatch.setenv("SPACK_ROOT", str(old))
    (alone / "bin").mkdir()
    git = alone / "bin" / "git"
    git.write_text(
        '#!/bin/sh\nfor folder; do :; done\nmkdir -p "$folder/bin" "$folder/repos/spack_repo/builtin"\n'
        'printf \'#!/bin/sh\\necho 1.1.0\\n\' > "$folder/bin/spack"\nchmod +x "$folder/bin/spack"\n'
        'touch "$folder/repos/spack_repo/builtin/repo.yaml"\n'
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{alone / 'bin'}:/usr/bin:/bin")
    tool.clone(lambda _line: None)
    found = tool.find()
    assert (found.executable, found.version) == (tool.HOME / "spack" / "bin" / "spack", "1.1.0")
    assert found.packages == tool.HOME / "spack-packages"


FINDS = (
    f"#!{sys.executable}\n"
    + """import sys, pathlib, json
words = [word for word in sys.argv[1:] if word != "--color=never"]
if words == ["--version"]:
    print("1.1.0")
if "list" in words:
    print("openmpi")
if words[2:] == ["external", "find"]:
    place = pathlib.Path(words[1], "spack.yaml")
    found = {
        "gcc": {"externals": [{"spec": "gcc@12.2.0", "prefix": "/usr"}]},
        "gmake": {"externals": [{"spec": "gmake@4.3", "prefix": "/usr"}]},
        "mpich": {"externals": [{"spec": "mpich@3.9.9 device=ch4", "prefix": prefix} for prefix in ("/a", "/b")]},
    }
    place.write_text(json.dumps({"spack": {"packages": found}}))
"""
)


@pytest.fixture
def described(alone: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Describe this machine with a Spack that is this script, as alone/systems/here; returns what is said of it."""

    def describe(script: str) -> str:
        folder = fake_spack(alone / "spack", "")
        (folder / "bin" / "spack").write_text(script)
        monkeypatch.setenv("SPACK_ROOT", str(folder))
        monkeypatch.setattr(new_system, "ROOT", alone)
        monkeypatch.setattr(known_systems, "SYSTEMS", alone / "systems")
        return new_system.write("here", force=False, say=print)

    return describe


def test_a_system_is_described_by_what_spack_finds(
    alone: Path, described: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = described(FINDS)
    looked = re.findall(r"looking .* (\d+) of (\d+)", capsys.readouterr().out)  # each takes up to a minute
    assert looked == [(str(number), str(len(looked))) for number in range(1, len(looked) + 1)]
    assert len(looked) >= 2
    scope = alone / "systems" / "here" / "spack"
    packages = yaml.safe_load((scope / "packages.yaml").read_text())["packages"]
    assert [one["prefix"] for one in packages["mpich"]["externals"] if "3.9.9" in one["spec"]] == ["/a"]
    assert packages["openblas"]["buildable"] is False
    assert not any("buildable" in packages[name] for name in ("gcc", "mpich"))  # other versions are built
    assert packages["ucx"] == {"require": "+thread_multiple"}
    (lists,) = [one for one in yaml.safe_load((scope / "definitions.yaml").read_text())["definitions"] if "mpis" in one]
    assert "mpich@3.9.9" in lists["mpis"]
    assert "is in /a and in /b: the second is left out" in said
    assert "not found  cmake, which builds of the benchmarks need" in said
    assert "not found  MVAPICH2" in said
    compile((alone / "systems" / "here" / "settings.py").read_text(), "settings.py", "exec")
    with pytest.raises(CampaignError, match=r"is there already: .*--force"):
        new_system.write("here", force=False, say=print)


def intel_mpi(home: Path) -> Path:
    """As far as it is looked at. Returns the folder of its programs."""
    (home / "bin").mkdir(parents=True)
    for name in ("mpicc", "mpiexec"):
        (home / "bin" / name).write_text("#!/bin/sh\necho 'Intel(R) MPI Library for Linux* OS, Version 2021.17'\n")
        (home / "bin" / name).chmod(0o755)
    return home / "bin"


def test_intel_mpi_is_an_external_of_the_prefix_below_which_spack_looks(
    alone: Path, described: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    intel_mpi(alone / "oneapi" / "mpi" / "2021.17")
    (alone / "oneapi" / "mpi" / "latest").symlink_to("2021.17")
    monkeypatch.setenv("PATH", f"{alone}/oneapi/mpi/latest/bin:/usr/bin:/bin")
    described(FINDS)
    packages = yaml.safe_load((alone / "systems" / "here" / "spack" / "packages.yaml").read_text())["packages"]
    external = {"spec": "intel-oneapi-mpi@2021.17", "prefix": str(alone / "oneapi")}
    assert packages["intel-oneapi-mpi"]["externals"] == [external]


def test_an_intel_mpi_that_spack_would_not_find_is_left_out_and_named(
    alone: Path, described: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{intel_mpi(alone / 'flat')}:/usr/bin:/bin")
    said = described(FINDS)
    packages = yaml.safe_load((alone / "systems" / "here" / "spack" / "packages.yaml").read_text())["packages"]
    assert "intel-oneapi-mpi" not in packages
    assert said.count(f"not found  intel-oneapi-mpi@2021.17 is in {alone}/flat, but Spack takes it from PREFIX/") == 1


def test_a_system_is_described_although_spack_has_no_packages(alone: Path, described: Callable[[str], str]) -> None:
    said = described("#!/bin/sh\necho 1.1.0\n")
    assert (alone / "systems" / "here" / "settings.py").is_file()
    assert not (alone / "systems" / "here" / "spack").exists()
    assert "not found  what is installed, for Spack: Spack has no packages: 1.1.0" in said
    assert "--provider spack --dry-run" not in said


def test_sources_have_a_fingerprint_that_what_spack_leaves_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = builds.fingerprint()
    sources = tmp_path / "benchmarks"
    shutil.copytree(builds.SOURCES, sources)
    monkeypatch.setattr(builds, "SOURCES", sources)
    assert builds.fingerprint() == before
    (sources / "build-linux-test").mkdir()
    (sources / "build-linux-test" / "CMakeCache.txt").write_text("left")
    assert builds.fingerprint() == before
    (sources / "common" / "base" / "timer.c").write_text("changed")
    assert builds.fingerprint() != before
