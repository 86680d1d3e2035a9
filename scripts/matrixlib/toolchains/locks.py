"""Where the locks are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

LOCKS: Final = Path(__file__).resolve().parents[3] / "requirements" / "clients"
