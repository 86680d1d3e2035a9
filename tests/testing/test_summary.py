"""The summary of a run."""

from __future__ import annotations

from pathlib import Path

from toolstream_core.testing.understanding import passed_of

NOTHING = {
    **dict.fromkeys(("requests", "others", "refused", "websockets", "unopened", "responses", "calls"), 0),
    **{name: {} for name in ("findings", "changes", "faults", "verdicts", "advice", "unreached", "distrust")},
    "captured": [],
}


def test_the_lines_of_a_summary() -> None:
    """The most frequent name is first, a verdict has its advice, and captures have their folder."""
    summary = passed_of(
        {
            **NOTHING,
            "requests": 3,
            "refused": 1,
            "responses": 2,
            "calls": 1,
            "others": 4,
            "websockets": 1,
            "findings": {"empty-name": 1, "empty-id": 4, "absent-id": 1},
            "changes": {"empty-id": 2},
            "faults": {"cut:at=end": 1, "reused-index": 0},
            "verdicts": {"ok": 1, "returned-without-arguments": 1},
            "advice": {"returned-without-arguments": "--set toolstream_repair=empty-id"},
            "captured": ["kept/a.flow", "kept/b.flow"],
        }
    )
    assert [*summary.lines()] == [
        "3 requests, 1 rejected with an HTTP error, 2 responses, 1 call sent, 4 other requests",
        "1 WebSocket to an LLM",
        "findings: empty-id 4, absent-id 1, empty-name 1",
        "responses changed: empty-id 2",
        "injected: cut:at=end 1",
        "injected nothing (no matching event): reused-index",
        "verdicts: ok 1, returned-without-arguments 1 → --repair empty-id",
        f"captured: 2 flows in {Path('kept')}",
    ]


def test_a_run_without_a_request() -> None:
    """The summary lists possible reasons."""
    counts, base_url, reverse = passed_of(NOTHING).lines()
    assert counts == "0 requests, 0 responses, 0 calls sent"
    assert base_url.startswith("no LLM request seen; for clients that ignore proxy variables")
    assert base_url.endswith("use --base-url, and let the client read its base URL from the environment")
    assert 'mitmdump --mode reverse:http://127.0.0.1:PORT -s "$(toolstream addon-path)"' in reverse


def test_an_unreachable_provider() -> None:
    """It is reported only if there was no response."""
    unreached = {"api.example.com:443": "Name or service not known"}
    line = "could not connect to api.example.com:443: Name or service not known"
    assert [*passed_of({**NOTHING, "unreached": unreached}).lines()] == ["0 requests, 0 responses, 0 calls sent", line]
    assert line in passed_of({**NOTHING, "requests": 1, "unreached": unreached}).lines()
    assert line not in passed_of({**NOTHING, "responses": 1, "unreached": unreached}).lines()


def test_a_rejected_websocket() -> None:
    """A request for it was received, so the base URL is not missing."""
    assert [*passed_of({**NOTHING, "unopened": 1}).lines()] == [
        "0 requests, 0 responses, 0 calls sent",
        "1 WebSocket to an LLM rejected with an HTTP error",
    ]


def test_a_rejected_certificate() -> None:
    """It is reported only if there was no request."""
    line = (
        "the client rejected the proxy's certificate for api.example.com. Let it trust the file that SSL_CERT_FILE "
        "names, or use --base-url: plain HTTP needs no certificate"
    )
    distrust = {"api.example.com": True, "other.example.com": False}
    assert [*passed_of({**NOTHING, "distrust": distrust}).lines()] == ["0 requests, 0 responses, 0 calls sent", line]
    assert line not in passed_of({**NOTHING, "requests": 1, "distrust": distrust}).lines()
    _, uncertain = passed_of({**NOTHING, "distrust": {"api.example.com": False}}).lines()
    assert uncertain.startswith("the client closed its connection to api.example.com before it sent a request; perhaps")
