"""The core. Imports none of its packages: each can be used without the others."""

import sys

# Older versions of Python cannot compile the other modules. This module uses only their syntax.
if sys.version_info < (3, 12):  # noqa: UP036 - no package manager checks the version of a clone
    message = (
        "toolstream needs Python 3.12 or newer; this is Python {}.{}. "
        "Start toolstream or mitmdump with a newer Python.".format(*sys.version_info)
    )
    if "mitmproxy" in sys.modules:  # after a SystemExit, mitmproxy would continue without the addon
        raise ImportError(message)
    sys.stderr.write(message + "\n")
    raise SystemExit(2)
