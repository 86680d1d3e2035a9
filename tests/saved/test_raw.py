from __future__ import annotations

import pytest

from toolstream_core.saved import raw


@pytest.mark.parametrize(
    ("name", "content_type"),
    [
        ("a/b.sse", "text/event-stream"),
        ("B.SSE", "text/event-stream"),
        ("b.sse.gz", "text/event-stream"),
        ("b.ndjson", "application/x-ndjson"),
        ("b.jsonl", "application/x-ndjson"),
        ("b.json", "application/json"),
        ("b.txt", ""),
        ("b", ""),
        ("-", ""),
    ],
)
def test_only_clear_extensions_set_the_content_type(name: str, content_type: str) -> None:
    """For other names, the first bytes decide."""
    assert raw.response([], name).facts.content_type == content_type


def test_a_response_has_its_source_and_its_request() -> None:
    """A bare body has no facts but these."""
    saved = raw.response([b"x"], "a.sse", request={"model": "m"})
    assert saved.facts.source == "a.sse"
    assert saved.facts.request == {"model": "m"}
    assert list(saved.chunks) == [b"x"]
