"""A script for mitmdump that delays the first write of a capture until the test writes to a named pipe."""

import os
from pathlib import Path

from toolstream_core.proxy.capture.spool import Spool

PIPE = "SLOW_DISK_PIPE"
_write = Spool.write


def _slow(self: Spool, data: bytes) -> None:
    Path(os.environ[PIPE]).read_bytes()
    Spool.write = _write  # type: ignore[method-assign]
    _write(self, data)


Spool.write = _slow  # type: ignore[method-assign]
