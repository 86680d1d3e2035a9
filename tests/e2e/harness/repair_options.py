"""A script for mitmdump that sets the options in a request header: one mitmdump serves many configurations."""

import json

from mitmproxy import ctx, http

HEADER = "x-options"
"""A header with a JSON object of options, each a list. A request without it changes no option."""


def requestheaders(flow: http.HTTPFlow) -> None:
    """Set the options that differ, before toolstream reads the request. An update takes milliseconds."""
    wanted = json.loads(flow.request.headers.pop(HEADER, "{}"))
    changed = {name: value for name, value in wanted.items() if list(getattr(ctx.options, name)) != value}
    if changed:
        ctx.options.update(**changed)
