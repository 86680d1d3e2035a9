"""A script for mitmdump that sets options as a request asks for them, so that one serves many configurations."""

import json

from mitmproxy import ctx, http

HEADER = "x-options"
"""Carries a JSON object of options, each a list; a request without it changes none."""


def requestheaders(flow: http.HTTPFlow) -> None:
    """Set those that are to change, before toolstream looks at the request: each setting costs milliseconds."""
    asked = json.loads(flow.request.headers.pop(HEADER, "{}"))
    changed = {name: value for name, value in asked.items() if list(getattr(ctx.options, name)) != value}
    if changed:
        ctx.options.update(**changed)
