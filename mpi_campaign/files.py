"""Writing files that others may read, or write, at the same time."""

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write it whole or not at all, beside others that write the same; the last one stays. Raises OSError."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")  # a name of its own: another may be writing too
    try:
        with fresh.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
