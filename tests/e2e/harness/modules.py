"""A script for mitmdump that writes down, when it ends, which modules it has loaded."""

import os
import sys
from pathlib import Path

TOLD = "TOOLSTREAM_MODULES"
"""Names the file."""


def done() -> None:
    """Write their names."""
    Path(os.environ[TOLD]).write_text("\n".join(sys.modules))
