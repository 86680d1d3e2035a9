"""Responses of conversations compared with the next requests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.testing.test_exchanges import CALL, REPORT
from toolstream_core.model import Call, Kind
from toolstream_core.model.record import Runs
from toolstream_core.report.verdict import ReportedVerdict
from toolstream_core.testing.exchanges import FoundProblem, FoundVerdict, ProxiedExchange, proxied_exchange
from toolstream_core.testing.understanding import incomplete_calls, misunderstood, sources, unanswered
from toolstream_core.verdict.conversations import Conversations, Judged, SentResponse

if TYPE_CHECKING:
    import pytest

USER: Any = {"role": "user", "content": "go"}
RETURNED_CALL: Any = {
    "role": "assistant",
    "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": '{"p":1}'}}],
}
RESULT: Any = {"role": "tool", "tool_call_id": "c1", "content": "sk-proj-0123456789abcdefghij0123456789abcdefghij"}


def judged(exchanges: list[ProxiedExchange]) -> list[ProxiedExchange]:
    """Return the exchanges with the verdicts of the proxy, if each response ends before the next request."""
    verdicts: dict[str, Judged[SentResponse]] = {}
    seen = Conversations[SentResponse](lambda verdict: verdicts.update({verdict.token: verdict}), ids_kept=True)
    for number, proxied in enumerate(exchanges):
        seen.request(str(number), "", proxied.request.history)
        calls = [Call(**{**call, "kind": Kind(call.kind), "events": Runs()}) for call in proxied.calls]
        seen.response(str(number), SentResponse(calls=calls))
    verdicts |= {verdict.token: verdict for verdict in seen.missing()}
    return [
        replace(proxied, verdict=reported_verdict(verdicts.get(str(number))))
        for number, proxied in enumerate(exchanges)
    ]


def reported_verdict(verdict: Judged[SentResponse] | None) -> FoundVerdict | None:
    """Return a verdict as the proxy reports it."""
    if verdict is None:
        return None
    request = None if verdict.request is None else int(verdict.request)
    reported = ReportedVerdict(
        source="", verdict=verdict.verdict, calls=verdict.response.calls, request=verdict.request
    )
    values = {**reported.object, "request": request, "explanation": "", "fix": ""}
    return FoundVerdict.of(values, problems=tuple(map(FoundProblem.of, values["problems"])))


def body_of(*messages: Any) -> str:
    """Return a request body with these messages."""
    return json.dumps({"model": "m", "messages": [USER, *messages]})


def exchange(number: int, *messages: Any, call: dict[str, Any] | None = None, **more: Any) -> ProxiedExchange:
    """Return a request with these messages and a response with a call or without one."""
    body = body_of(*messages)
    calls = [{"complete": True, "events": [0], **CALL, **call}] if call is not None else []
    record = {"calls": calls, "findings": []}
    return proxied_exchange(
        {**REPORT, "request": {**REPORT["request"], "number": number, "body": body}, "record": record, **more}
    )


def test_a_correct_conversation() -> None:
    """Nothing is reported, also if a flow sent a call that no request followed."""
    assert misunderstood(judged([exchange(0, call={}), exchange(1, RETURNED_CALL, RESULT)])) == []
    assert misunderstood(judged([exchange(0, call={}), exchange(1, RETURNED_CALL, RESULT, call={})])) == []


def test_two_conversations_with_the_same_flow() -> None:
    """The second conversation does not continue the first."""
    first = [exchange(0, call={}), exchange(1, RETURNED_CALL, RESULT, call={})]
    second = [exchange(2, call={}), exchange(3, RETURNED_CALL, RESULT)]
    assert misunderstood(judged([*first, *second])) == []


def test_missing_requests_and_responses() -> None:
    """They are reported as a failure with a reason."""
    assert misunderstood([]) == incomplete_calls([]) == [unanswered([])]
    assert str(unanswered([])).startswith("no request to an LLM reached toolstream. A client that was created at")
    assert unanswered([exchange(0)]) is None
    rejected = str(unanswered([], {"a.example": True}))
    assert rejected.startswith("no request to an LLM reached toolstream, because the client rejected the proxy's cert")
    assert misunderstood([], {"a.example": True}) == incomplete_calls([], {"a.example": True}) == [rejected]
    [line] = misunderstood([exchange(0, status=404, comment="")])
    assert line == "the client received no response: HTTP 404"
    [line] = misunderstood(
        [exchange(0, status=404, comment=f"refused: {Path.cwd() / 'a.flow'}#0 differs at x " + "y" * 80)]
    )
    assert line.startswith("the client received no response: HTTP 404 refused: a.flow#0 differs at x yyyy")
    assert line.endswith("y" * 80)


def test_sent_and_returned_calls_are_shown_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls have events, and secrets in results are redacted."""
    monkeypatch.setenv("COLUMNS", "160")
    changed_call = json.loads(json.dumps(RETURNED_CALL).replace("p", "q"))
    lines = misunderstood(judged([exchange(0, call={}), exchange(1, changed_call, RESULT)]))
    assert lines[0] == "wrong-arguments: response 0 from flows/a.flow#2 (openai-chat)"
    assert "ls id='c1' {\"p\":1} event 0" in lines[2]
    assert "ls id='c1' {\"q\":1} → " in lines[2]
    assert "0123456789abcdef" not in "".join(lines)


def test_secrets_are_redacted_before_texts_are_shortened() -> None:
    """A shortened text must not start inside a secret; tests read the unredacted request."""
    secret = "plain words that only a header names " * 3
    changed_call = json.loads(json.dumps(RETURNED_CALL).replace('\\"p\\":1', f'\\"q\\":\\"{secret}\\"'))
    request = {**REPORT["request"], "secrets": [secret]}
    returned = (changed_call, {**RESULT, "content": f"ran {secret}"})
    with_secrets = [
        exchange(0, call={}, request={**request, "number": 0, "body": body_of()}),
        exchange(1, request={**request, "number": 1, "body": body_of(*returned)}),
    ]
    lines = "\n".join(misunderstood(judged(with_secrets)))
    assert "wrong-arguments" in lines
    assert "plain words" not in lines
    assert lines.count("[redacted]") >= 2
    incomplete = {"arguments": '{"p', "complete": False}
    sent = [replace(with_secrets[0], calls=exchange(0, call=incomplete).calls), with_secrets[1]]
    assert "plain words" not in "\n".join([*incomplete_calls(judged(sent)), repr(sent)])
    assert with_secrets[1].request.results[0].text == f"ran {secret}"


def test_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The returned calls are below the sent ones, and no line is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", "60")
    long = {"arguments": json.dumps({"p": "some words " * 8})}
    changed_call = json.loads(json.dumps(RETURNED_CALL).replace("p", "q"))
    lines = misunderstood(judged([exchange(0, call=long), exchange(1, changed_call, RESULT)]))
    assert lines[1] == "  sent"
    assert lines[2].startswith('    ls id=\'c1\' {"p": "some words some')
    at = lines.index("  returned (request 1)")
    assert lines[at + 1].startswith("    ls id='c1' {\"q\":1} → ")
    assert max(map(len, lines[1 : at + 2])) <= 60 - 4


def test_a_returned_incomplete_call() -> None:
    """It is reported unless a retry brought the complete call."""
    incomplete = {"arguments": '{"p', "complete": False}
    [head, *_] = incomplete_calls([exchange(0, call=incomplete), exchange(1, RETURNED_CALL, RESULT)])
    assert head.startswith("returned-incomplete-call: response 0")
    assert (
        incomplete_calls([exchange(0, call=incomplete), exchange(1, call={}), exchange(2, RETURNED_CALL, RESULT)]) == []
    )
    assert incomplete_calls([exchange(0, call=incomplete), exchange(1, call=incomplete)]) == []


def test_sources() -> None:
    """The sources are files without the number of the flow."""
    assert sources([exchange(0), exchange(1)]) == {"flows/a.flow"}


def test_announced_calls_that_are_missing() -> None:
    """A client that notices repeats the request; otherwise it treats the response as final."""
    finding = {"code": "TS307", "name": "missing-calls", "severity": "error", "event": 3, "call": None, "repair": None}
    record = {"calls": [], "findings": [{**finding, "message": "no call was sent"}]}
    streamed = {"model": "m", "stream": True, "messages": [USER]}

    def exchange_without_calls(number: int, body: dict[str, Any]) -> ProxiedExchange:
        request = {**REPORT["request"], "number": number, "body": json.dumps(body)}
        return proxied_exchange({**REPORT, "request": request, "record": record})

    first, retry = exchange_without_calls(0, streamed), exchange_without_calls(1, {**streamed, "stream": False})
    lines = misunderstood(judged([first]))
    assert lines[0].startswith("missing-calls: response 0")
    assert "  missing-calls: the client treats it as the final response" in lines
    assert misunderstood(judged([first, retry])) == []
    assert misunderstood(judged([first, exchange_without_calls(1, streamed)]))[0].startswith(
        "missing-calls: response 1"
    )
