"""Print, as JSON, what Spack knows of the active environment. Run by Spack: `spack -e FOLDER python describe.py`.

It imports nothing of this project, and of Spack only what has been there since 1.1.
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
    """Where a library's bin/ is: Intel's lies below the prefix."""
    return str(getattr(mpi.package, "component_prefix", mpi.prefix))


def _below(root: Any, virtual: str) -> Any:
    """Who provides a virtual package to a root; None for nobody. A spec is no dict, it has no `get`."""
    return root[virtual] if virtual in root else None  # noqa: SIM401


def describe() -> dict[str, Any]:
    """The environment's roots with their MPI library and compiler, and every package below them."""
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
