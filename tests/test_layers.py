"""The floors of the house: packages import downwards only, and no import goes in a circle."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from mpi_campaign import ROOT

# From the ground up. A package imports what stands on lower floors, and nothing of its neighbours on its own floor.
# Modules of `mpi_campaign` import `postprocess`; never the other way round.
FLOORS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "postprocess": (
        ("drawing", "statistics", "papers"),
        ("records",),
        ("families.family",),
        ("families.axes", "families.handovers", "families.papers", "families.sampled"),
        ("families.sampled_table", "families.launch_marks", "families.sampled_family", "families.matrix_rows"),
        ("families.sampled_inside",),
        (
            "families.nbc_overlap",
            "families.mpi_impact",
            "families.partitioned",
            "families.cpu_overhead",
            "families.transfer_overlap",
            "families.sync_overlap",
            "families.hybrid",
            "families.hybrid_kernels",
            "families.guidelines",
            "families.whole_machine",
            "families.timing_selfcheck",
            "families.peers",
        ),
        ("families.registry",),
        ("quality", "verdicts"),
        ("report",),
    ),
    "mpi_campaign": (
        ("files",),
        ("errors",),
        ("processes",),
        ("schedulers", "networks"),
        ("children",),
        ("libraries.placement", "libraries.configurations", "libraries.versions"),
        ("libraries.settings",),
        ("libraries.launchers",),
        ("this_machine", "libraries"),
        ("launching",),
        ("toolchains.spack",),
        ("toolchains",),
        ("systems.allocation",),
        ("systems.nodes_in_hand",),
        ("systems.known_systems",),
        ("planning",),
        ("systems", "archive", "doctor"),
        ("verdicts",),
        ("running", "site", "standalone"),
        ("commands",),
        ("__main__",),
    ),
}

# (importing module, imported module): why that one goes up, or sideways.
EXCEPTIONS: Mapping[tuple[str, str], str] = {}


def modules() -> dict[str, ast.Module]:
    """Every module of both packages, by its dotted name; a package by its own."""
    found = {}
    for top in FLOORS:
        for path in sorted((ROOT / top).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


MODULES = modules()


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules of both packages that one imports, at its beginning or in a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for one in node.names:
                inside = f"{node.module}.{one.name}"
                yield inside if inside in MODULES else node.module


IMPORTS = {
    (importing, one)
    for importing, tree in MODULES.items()
    for one in imported(tree)
    if (importing, one) not in EXCEPTIONS
}


def room_of(module: str) -> tuple[str, int, str]:
    """The top-level package of a module, its floor (-1: the package itself), and its room there."""
    top, _, inside = module.partition(".")
    rooms = [(room, floor) for floor, names in enumerate(FLOORS[top]) for room in names]
    mine = [(room, floor) for room, floor in rooms if inside == room or inside.startswith(f"{room}.")]
    room, floor = max(mine, key=lambda one: len(one[0]), default=("", -1))
    return top, floor, room


def test_every_module_is_in_a_room() -> None:
    packages = {"mpi_campaign", "postprocess", "postprocess.families"}
    assert {name for name in MODULES if room_of(name)[1] < 0} == packages


@pytest.mark.parametrize("top", FLOORS)
def test_imports_go_downwards(top: str) -> None:
    wrong = []
    for importing, one in sorted(IMPORTS):
        mine, theirs = room_of(importing), room_of(one)
        if mine[0] != top:
            continue
        allowed = theirs[0] == "postprocess" if theirs[0] != top else theirs == mine or theirs[1] < mine[1]
        if not allowed:
            wrong.append(f"{importing} imports {one}")
    assert not wrong, "\n".join(wrong)


def test_no_import_goes_in_a_circle() -> None:
    below: dict[str, set[str]] = {name: set() for name in MODULES}
    for importing, one in IMPORTS:
        below[importing].add(one)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_exceptions_are_needed() -> None:
    assert all(one in set(imported(MODULES[importing])) for importing, one in EXCEPTIONS)


def test_a_package_says_what_it_is_and_has_no_code() -> None:
    for name in (one for one in MODULES if (ROOT / one.replace(".", "/")).is_dir() and "." in one):
        body = MODULES[name].body
        assert ast.get_docstring(MODULES[name]), f"{name} does not say what it is"
        assert len(body) == 1, f"{name}/__init__.py has code"
