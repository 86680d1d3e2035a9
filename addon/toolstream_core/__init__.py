"""The core. Imports nothing of its own, so that each part can be had without the others."""

import sys

# Older Pythons cannot even compile the modules below: this one stays as simple as they need.
if sys.version_info < (3, 12):  # noqa: UP036 - who runs the addon from a clone has no package manager that checks it
    told = (
        "toolstream needs Python 3.12 or newer; this is Python {}.{}. "
        "Start toolstream or mitmdump with a newer Python.".format(*sys.version_info)
    )
    if "mitmproxy" in sys.modules:  # mitmproxy would go on without the addon after a SystemExit
        raise ImportError(told)
    sys.stderr.write(told + "\n")
    raise SystemExit(2)
