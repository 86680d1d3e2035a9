"""`python -m toolstream_core.proxy.worker`: orders come by standard input, replies go by standard output.

Each is one JSON object a line. What is printed goes to standard error. The end of standard input ends the process,
so it never outlives who started it.
"""

from __future__ import annotations

import gc

from toolstream_core.proxy.worker.lean import without_default_addons

gc.disable()
without_default_addons()

from toolstream_core.proxy.worker.channel import Channel  # noqa: E402 - mitmproxy comes behind `lean`
from toolstream_core.proxy.worker.service import serve  # noqa: E402

gc.enable()
gc.freeze()

if __name__ == "__main__":
    serve(Channel.of_this_process())
