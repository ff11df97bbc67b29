"""What stands behind `campaign`. Its rooms and their floors: docs/architecture.md and tests/test_layers.py."""

import os
import zlib
from pathlib import Path

__version__ = "0.1.0"

ROOT = Path(__file__).resolve().parent.parent


def _place() -> Path:
    """Where the clone keeps what it makes: in itself, or, where it may not be written, in the user's cache."""
    own = ROOT / ".campaign"
    if os.access(own if own.exists() else ROOT, os.W_OK):
        return ROOT
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - it never fails
    return Path(cache, "mpi-campaign", f"{ROOT.name}-{zlib.crc32(os.fsencode(ROOT)):08x}")


PLACE = _place()
STATE = PLACE / ".campaign"
