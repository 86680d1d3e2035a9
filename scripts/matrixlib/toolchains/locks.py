"""Where the locks are: below the tests, because they pin clients that only tests install, and nobody reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

LOCKS: Final = Path(__file__).resolve().parents[3] / "tests" / "clients" / "locks"
