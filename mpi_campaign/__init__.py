"""What stands behind `campaign`. Its rooms and their floors: docs/architecture.md and tests/test_layers.py."""

from pathlib import Path

__version__ = "0.1.0"

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".campaign"
