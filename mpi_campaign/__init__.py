"""What stands behind `campaign`: commands, providers of MPI libraries, and what each library needs."""

from pathlib import Path

__version__ = "0.1.0"

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".campaign"
