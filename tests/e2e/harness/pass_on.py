"""A script for mitmdump that streams every response, without toolstream."""

from mitmproxy import http


def responseheaders(flow: http.HTTPFlow) -> None:
    """Stream the body."""
    assert flow.response is not None
    flow.response.stream = True
