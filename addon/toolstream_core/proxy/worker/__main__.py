"""The process of a worker: lean imports, then the service."""

from __future__ import annotations

import gc
import importlib.util
import sys


def without_default_addons() -> None:
    """Let single addons be imported without all the others.

    `mitmproxy.addons` imports every addon there is, among them Flask and ldap3: a fifth of mitmproxy's start.
    Its modules are found in a package of the same name and path that imports nothing.
    """
    spec = importlib.util.find_spec("mitmproxy.addons")
    if spec is not None and "mitmproxy.addons" not in sys.modules:
        sys.modules["mitmproxy.addons"] = importlib.util.module_from_spec(spec)


gc.disable()
without_default_addons()

from toolstream_core.proxy.worker.service import Channel, serve  # noqa: E402

gc.enable()
gc.freeze()

if __name__ == "__main__":
    serve(Channel.of_this_process())
