"""Answers held against the requests that came after them, whole conversations at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.testing.test_exchanges import CALL, TOLD
from toolstream_core.model import Call, Kind
from toolstream_core.model.record import Runs
from toolstream_core.report.verdict import ReportedVerdict
from toolstream_core.testing.exchanges import FoundProblem, FoundVerdict, ProxiedExchange, proxied_exchange
from toolstream_core.testing.understanding import incomplete_calls, misunderstood, sources, unanswered
from toolstream_core.verdict.conversations import Conversations, Judged, SentResponse

if TYPE_CHECKING:
    import pytest

USER: Any = {"role": "user", "content": "go"}
SAID: Any = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": '{"p":1}'}}]}
RESULT: Any = {"role": "tool", "tool_call_id": "c1", "content": "sk-proj-0123456789abcdefghij0123456789abcdefghij"}


def judged(exchanges: list[ProxiedExchange]) -> list[ProxiedExchange]:
    """The exchanges with the verdicts that the proxy would tell, each answer over before the next request."""
    told: dict[str, Judged[SentResponse]] = {}
    seen = Conversations[SentResponse](lambda one: told.update({one.token: one}), ids_kept=True)
    for number, one in enumerate(exchanges):
        seen.request(str(number), "", one.request.history)
        calls = [Call(**{**call, "kind": Kind(call.kind), "events": Runs()}) for call in one.calls]
        seen.response(str(number), SentResponse(calls=calls))
    told |= {one.token: one for one in seen.missing()}
    return [replace(one, verdict=found(told.get(str(number)))) for number, one in enumerate(exchanges)]


def found(told: Judged[SentResponse] | None) -> FoundVerdict | None:
    """A verdict as the proxy's reply has it."""
    if told is None:
        return None
    request = None if told.request is None else int(told.request)
    reported = ReportedVerdict(source="", verdict=told.verdict, calls=told.response.calls, request=told.request)
    values = {**reported.object, "request": request, "explanation": "", "fix": ""}
    return FoundVerdict.of(values, problems=tuple(map(FoundProblem.of, values["problems"])))


def body_of(*messages: Any) -> str:
    """A request with these messages."""
    return json.dumps({"model": "m", "messages": [USER, *messages]})


def exchange(number: int, *messages: Any, call: dict[str, Any] | None = None, **more: Any) -> ProxiedExchange:
    """A request with these messages, answered with a call, or with none."""
    body = body_of(*messages)
    calls = [{"complete": True, "events": [0], **CALL, **call}] if call is not None else []
    record = {"calls": calls, "findings": []}
    return proxied_exchange(
        {**TOLD, "request": {**TOLD["request"], "number": number, "body": body}, "record": record, **more}
    )


def test_a_conversation_that_went_well() -> None:
    """Nothing is told of it, nor of a flow that answered once more when nobody went on."""
    assert misunderstood(judged([exchange(0, call={}), exchange(1, SAID, RESULT)])) == []
    assert misunderstood(judged([exchange(0, call={}), exchange(1, SAID, RESULT, call={})])) == []


def test_two_conversations_with_the_same_flow() -> None:
    """The second does not go on from the end of the first."""
    one = [exchange(0, call={}), exchange(1, SAID, RESULT, call={})]
    two = [exchange(2, call={}), exchange(3, SAID, RESULT)]
    assert misunderstood(judged([*one, *two])) == []


def test_nothing_was_asked_or_answered() -> None:
    """That is no understanding either."""
    assert misunderstood([]) == incomplete_calls([]) == [unanswered([])]
    assert str(unanswered([])).startswith("no request to an LLM reached toolstream. A client that was made at import")
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


def test_what_was_sent_stands_beside_what_came_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """With events; secrets of results are left out."""
    monkeypatch.setenv("COLUMNS", "160")
    spoilt = json.loads(json.dumps(SAID).replace("p", "q"))
    lines = misunderstood(judged([exchange(0, call={}), exchange(1, spoilt, RESULT)]))
    assert lines[0] == "wrong-arguments: response 0 from flows/a.flow#2 (openai-chat)"
    assert "ls id='c1' {\"p\":1} event 0" in lines[2]
    assert "ls id='c1' {\"q\":1} → " in lines[2]
    assert "0123456789abcdef" not in "".join(lines)


def test_secrets_of_the_request_are_left_out_before_texts_are_shortened() -> None:
    """A shortened text must not begin with part of a secret; tests still read the request as it was."""
    secret = "plain words that only a header names " * 3
    spoilt = json.loads(json.dumps(SAID).replace('\\"p\\":1', f'\\"q\\":\\"{secret}\\"'))
    known = {**TOLD["request"], "secrets": [secret]}
    returned = (spoilt, {**RESULT, "content": f"ran {secret}"})
    with_secrets = [
        exchange(0, call={}, request={**known, "number": 0, "body": body_of()}),
        exchange(1, request={**known, "number": 1, "body": body_of(*returned)}),
    ]
    lines = "\n".join(misunderstood(judged(with_secrets)))
    assert "wrong-arguments" in lines
    assert "plain words" not in lines
    assert lines.count("[redacted]") >= 2
    half = {"arguments": '{"p', "complete": False}
    sent = [replace(with_secrets[0], calls=exchange(0, call=half).calls), with_secrets[1]]
    assert "plain words" not in "\n".join([*incomplete_calls(judged(sent)), repr(sent)])
    assert with_secrets[1].request.results[0].text == f"ran {secret}"


def test_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One stands below the other, and no line is wider."""
    monkeypatch.setenv("COLUMNS", "60")
    long = {"arguments": json.dumps({"p": "some words " * 8})}
    spoilt = json.loads(json.dumps(SAID).replace("p", "q"))
    lines = misunderstood(judged([exchange(0, call=long), exchange(1, spoilt, RESULT)]))
    assert lines[1] == "  sent"
    assert lines[2].startswith('    ls id=\'c1\' {"p": "some words some')
    at = lines.index("  returned (request 1)")
    assert lines[at + 1].startswith("    ls id='c1' {\"q\":1} → ")
    assert max(map(len, lines[1 : at + 2])) <= 60 - 4


def test_half_a_call() -> None:
    """Is told where it came back, but not where a second try had brought it whole."""
    half = {"arguments": '{"p', "complete": False}
    [head, *_] = incomplete_calls([exchange(0, call=half), exchange(1, SAID, RESULT)])
    assert head.startswith("returned-incomplete-call: response 0")
    assert incomplete_calls([exchange(0, call=half), exchange(1, call={}), exchange(2, SAID, RESULT)]) == []
    assert incomplete_calls([exchange(0, call=half), exchange(1, call=half)]) == []


def test_sources() -> None:
    """The files, without the number of the flow."""
    assert sources([exchange(0), exchange(1)]) == {"flows/a.flow"}


def test_calls_that_were_announced_and_never_came() -> None:
    """A client that notices asks again, with or without a stream; else it treats the response as the last."""
    finding = {"code": "TS307", "name": "missing-calls", "severity": "error", "event": 3, "call": None, "repair": None}
    record = {"calls": [], "findings": [{**finding, "message": "no call came"}]}
    streamed = {"model": "m", "stream": True, "messages": [USER]}

    def lacking(number: int, body: dict[str, Any]) -> ProxiedExchange:
        request = {**TOLD["request"], "number": number, "body": json.dumps(body)}
        return proxied_exchange({**TOLD, "request": request, "record": record})

    first, again = lacking(0, streamed), lacking(1, {**streamed, "stream": False})
    lines = misunderstood(judged([first]))
    assert lines[0].startswith("missing-calls: response 0")
    assert "  missing-calls: the client treats it as the final response" in lines
    assert misunderstood(judged([first, again])) == []
    assert misunderstood(judged([first, lacking(1, streamed)]))[0].startswith("missing-calls: response 1")
