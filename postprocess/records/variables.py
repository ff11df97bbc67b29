"""The environment variables that a person let into launches, and those that were kept out, as a manifest tells them.

Manifests of older runs tell neither. In these runs all of a shell's variables reached a launch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NONE = "none"


def requested_of(manifest: Mapping[str, Any]) -> dict[str, str] | None:
    """Values of the variables that were let in, by name; None where the manifest does not tell."""
    return _part(manifest, "let_in")


def kept_out_of(manifest: Mapping[str, Any]) -> dict[str, str] | None:
    """Values of the variables that were kept out, by name; None where the manifest does not tell."""
    return _part(manifest, "kept_out")


def _part(manifest: Mapping[str, Any], name: str) -> dict[str, str] | None:
    environment = manifest.get("environment")
    part = environment.get(name) if isinstance(environment, dict) else None
    return {str(key): str(value) for key, value in part.items()} if isinstance(part, dict) else None


def details(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(title, text) for a page: the variables let in, and those kept out. A part without variables is left out."""
    parts = []
    for title, part in (("let into launches", requested_of(manifest)), ("kept out of launches", kept_out_of(manifest))):
        if part:
            parts.append((title, ", ".join(f"{name}={value}" for name, value in part.items())))
    return parts


def differences(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The variables that two groups of manifests let in with different values, a line each.

    Manifests that do not tell are left out; there is no line where that leaves nothing of a group.
    """
    groups = [
        [known for manifest in group if (known := requested_of(manifest)) is not None] for group in (before, after)
    ]
    if not all(groups):
        return
    for name in sorted({name for group in groups for variables in group for name in variables}):
        old, new = (sorted({variables.get(name, NONE) for variables in group}) for group in groups)
        if old != new:
            yield f"let in {name}: {' or '.join(old)} -> {' or '.join(new)}"
