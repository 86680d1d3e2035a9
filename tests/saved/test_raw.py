from __future__ import annotations

import pytest

from toolstream_core.saved import raw


@pytest.mark.parametrize(
    ("name", "kind"),
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
def test_a_name_says_the_type_only_where_it_is_sure(name: str, kind: str) -> None:
    """Everything else is for the first bytes to tell."""
    assert raw.response([], name).facts.content_type == kind


def test_a_response_has_its_source_and_its_request() -> None:
    """They are all that a bare body comes with."""
    saved = raw.response([b"x"], "a.sse", request={"model": "m"})
    assert saved.facts.source == "a.sse"
    assert saved.facts.request == {"model": "m"}
    assert list(saved.chunks) == [b"x"]
