"""What a manifest says of the variables that a person let into launches, and of those that were kept out.

Manifests of older runs say nothing of it: then all of a shell's variables reached a launch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NONE = "none"


def let_in_of(manifest: Mapping[str, Any]) -> dict[str, str] | None:
    """Values of the variables that were let in, by name; None where the manifest does not tell."""
    return _part(manifest, "let_in")


def kept_out_of(manifest: Mapping[str, Any]) -> dict[str, str] | None:
    """Values of those that were kept out; as above."""
    return _part(manifest, "kept_out")


def _part(manifest: Mapping[str, Any], name: str) -> dict[str, str] | None:
    told = manifest.get("environment")
    part = told.get(name) if isinstance(told, dict) else None
    return {str(key): str(value) for key, value in part.items()} if isinstance(part, dict) else None


def details(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Title and text of each that there is something to say of."""
    found = []
    for title, part in (("let into launches", let_in_of(manifest)), ("kept out of launches", kept_out_of(manifest))):
        if part:
            found.append((title, ", ".join(f"{name}={value}" for name, value in part.items())))
    return found


def differences(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The variables that were not let in alike in two groups of manifests, a line each; of those that tell."""
    told = [[inside for manifest in group if (inside := let_in_of(manifest)) is not None] for group in (one, other)]
    if not all(told):
        return
    for name in sorted({name for group in told for inside in group for name in inside}):
        before, after = (sorted({inside.get(name, NONE) for inside in group}) for group in told)
        if before != after:
            yield f"let in {name}: {' or '.join(before)} -> {' or '.join(after)}"
