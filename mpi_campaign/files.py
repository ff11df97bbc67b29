"""Writing files that other processes may read or write at the same time."""

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write the whole file or nothing. Of several processes that write it, the last one wins. Raises OSError."""
    # The random part keeps processes that write the same file apart.
    new_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        with new_path.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        new_path.replace(path)
    finally:
        new_path.unlink(missing_ok=True)
