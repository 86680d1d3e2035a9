"""A script for mitmdump that writes the names of all loaded modules to a file when mitmdump ends."""

import os
import sys
from pathlib import Path

PATH_VARIABLE = "TOOLSTREAM_MODULES"
"""The environment variable with the file's path."""


def done() -> None:
    """Write the module names."""
    Path(os.environ[PATH_VARIABLE]).write_text("\n".join(sys.modules))
