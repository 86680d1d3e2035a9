"""Makes a request of a flow once more, through mitmproxy's own way upstream."""

from __future__ import annotations

import asyncio

from mitmproxy import ctx, http
from mitmproxy.addons.clientplayback import ReplayHandler

RESENT = "toolstream_again"
"""Key in the metadata of flows that toolstream itself makes."""


async def resend(flow: http.HTTPFlow, content: bytes, seconds: float, *, path: str = "") -> http.Response:
    """Make a flow's request once more with other content (and path), through mitmproxy's own way upstream.

    Raises `TimeoutError` after `seconds`, and `ConnectionError` where no answer came.
    """
    again = flow.copy()
    again.response = again.error = None
    again.request.content = content
    again.request.path = path or again.request.path
    again.metadata = {RESENT: True}
    handler = ReplayHandler(again, ctx.options)
    try:
        await asyncio.wait_for(handler.replay(), seconds)
    finally:
        for one in handler.transports.values():
            if one.handler is not None:
                one.handler.cancel()
    if again.response is None:
        raise ConnectionError(again.error.msg if again.error else "no answer")
    response: http.Response = again.response
    return response
