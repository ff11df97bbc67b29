"""Print a description of the active Spack environment as JSON. Spack runs it: `spack -e FOLDER python describe.py`.

It imports nothing of this project, and only modules of Spack that exist since 1.1.
"""

import importlib
import json
from typing import Any


def _node(spec: Any) -> dict[str, Any]:
    return {
        "name": spec.name,
        "version": str(spec.version),
        "hash": spec.dag_hash(),
        "spec": spec.format("{name}{@version}{variants}{compiler_flags}"),
        "prefix": str(spec.prefix),
        "external": bool(spec.external),
        "develop": "dev_path" in spec.variants,
    }


def _home(mpi: Any) -> str:
    """The folder with a library's bin/. That of Intel MPI lies below its prefix."""
    return str(getattr(mpi.package, "component_prefix", mpi.prefix))


def _below(root: Any, virtual: str) -> Any:
    """The package that provides a virtual package to a root; None where there is none."""
    # A spec is no dict and has no `get`.
    return root[virtual] if virtual in root else None  # noqa: SIM401


def describe() -> dict[str, Any]:
    """The environment's roots with their MPI library and compiler, and every package that they depend on."""
    spack, environments, repo = (importlib.import_module(name) for name in ("spack", "spack.environment", "spack.repo"))
    environment = environments.active_environment()
    roots = []
    nodes: dict[str, dict[str, Any]] = {}
    for asked, root in environment.concretized_specs():
        mpi, compiler = _below(root, "mpi"), _below(root, "c")
        roots.append(
            {
                **_node(root),
                "asked": str(asked),
                "full": root.long_spec,
                "architecture": str(root.architecture),
                "mpi": mpi.dag_hash() if mpi is not None else "",
                "mpi_home": _home(mpi) if mpi is not None else "",
                "compiler": compiler.format("{name}{@version}") if compiler is not None else "",
            }
        )
        for node in root.traverse():
            nodes.setdefault(node.dag_hash(), _node(node))
    repositories = [{"namespace": repository.namespace, "root": str(repository.root)} for repository in repo.PATH.repos]
    return {
        "spack": {"version": spack.get_version(), "commit": spack.get_spack_commit() or ""},
        "repositories": repositories,
        "roots": roots,
        "nodes": list(nodes.values()),
    }


if __name__ == "__main__":
    print(json.dumps(describe()))
