"""Messages around an answer that is rewritten."""

from __future__ import annotations

import pytest
from mitmproxy.test import tflow, tutils

from toolstream_core.proxy.flow_facts import relabel


@pytest.mark.parametrize(
    ("asked", "answered", "length", "chunked"),
    [
        ("HTTP/1.1", "HTTP/1.1", True, True),
        ("HTTP/1.1", "HTTP/2.0", True, True),
        ("HTTP/1.1", "HTTP/1.1", False, True),
        ("HTTP/1.1", "HTTP/1.0", True, True),
        ("HTTP/2.0", "HTTP/1.1", True, False),
    ],
)
def test_the_client_is_still_told_when_it_is_over(asked: str, answered: str, *, length: bool, chunked: bool) -> None:
    """Not by the connection's end, where chunks may be."""
    flow = tflow.tflow(resp=tutils.tresp(headers=((b"content-length", b"7"),) if length else ()))
    assert flow.response
    flow.request.http_version, flow.response.http_version = asked, answered
    relabel(flow)
    assert flow.response.headers.get("transfer-encoding") == ("chunked" if chunked else None)
    assert "content-length" not in flow.response.headers


@pytest.mark.parametrize(
    ("came", "goes"),
    [("close", None), ("Close, X-Own", "X-Own"), ("keep-alive", "keep-alive"), (None, None)],
)
def test_chunks_alone_say_when_it_is_over(came: str | None, goes: str | None) -> None:
    """The connection's end says it no more; what upstream said of its own connection still counts for that one."""
    headers = ((b"connection", came.encode()),) if came is not None else ()
    flow = tflow.tflow(resp=tutils.tresp(http_version=b"HTTP/1.0", headers=headers))
    before = flow.response
    assert before is not None
    before.stream = True
    relabel(flow)
    assert flow.response is not None
    assert flow.response.headers.get("connection") == goes
    assert (flow.response.http_version, flow.response.stream) == ("HTTP/1.1", True)
    assert (before.http_version, before.headers.get("connection")) == ("HTTP/1.0", came)
    assert "transfer-encoding" not in before.headers
