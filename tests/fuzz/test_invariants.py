"""Each invariant of the fuzzer is violated by an output with a bug of its kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz.case import Case
from tests.fuzz.drive import Run
from tests.fuzz.invariants import INVARIANTS, ClientOutcome
from tests.invariants.healthy import Healthy, streams
from toolstream_core.engine.session import read_body
from toolstream_core.model import Change, Finding, Severity
from toolstream_core.wire.frame import Frame

CHAT, RESPONSES, ANTHROPIC = (
    next(one for one in streams() if one.protocol == protocol and one.name == "fragments of two")
    for protocol in ("openai-chat", "openai-responses", "anthropic")
)
OLLAMA = next(one for one in streams() if one.protocol == "ollama")
GEMINI = next(one for one in streams() if one.protocol == "gemini")
COHERE = next(one for one in streams() if str(one) == "cohere-v2, fragments of two")
BEDROCK = next(one for one in streams() if str(one) == "bedrock, fragments of two")
EXAMPLES = [CHAT, RESPONSES, ANTHROPIC, OLLAMA, GEMINI, COHERE, BEDROCK]
CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk",'
    b'"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}\n\n'
)


def chunk(delta: str, finish: str = "null") -> bytes:
    """Return a Chat Completions event."""
    return CHUNK % (delta.encode(), finish.encode())


HEADER = chunk('{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}]}')
PART = chunk('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"a\\":"}}]}')
REST = chunk('{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}')
EMPTY = chunk('{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}')
TEXT = chunk('{"content":"Let me look."}')
FINISH = chunk("{}", '"tool_calls"')
DONE = b"data: [DONE]\n\n"
INTENDED = (("f", '{"a": 1}'),)


def case(body: bytes, healthy: Healthy = CHAT) -> Case:
    """Return a case with safe repairs."""
    return Case(healthy.protocol, body, healthy.exchange.content_type, healthy.exchange.path)


def pretend(
    body: bytes,
    out: bytes,
    *repaired: str,
    healthy: Healthy = CHAT,
    findings: tuple[str, ...] = (),
    intended: tuple[tuple[str, str], ...] = (),
) -> ClientOutcome:
    """Pretend that safe repairs of `repaired` changed `body` to `out`, with these findings."""
    outcome = ClientOutcome(replace(case(body, healthy), intended=intended))
    record = read_body([body], outcome.case.exchange)
    assert record is not None
    record.findings = [Finding("TS000", name, Severity.NOTE, 0, None, "") for name in findings]
    changes = [Change(repaired, 0, [Frame(body, 0, b"")], [Frame(out, 0, b"")])] if repaired else []
    outcome.__dict__["on"] = Run(out, record, changes, None, sent_empty=False)
    return outcome


def violations(invariant: str, outcome: ClientOutcome) -> list[str]:
    """Return the violations of an invariant."""
    return list(INVARIANTS[invariant](outcome))


@pytest.mark.parametrize("healthy", EXAMPLES, ids=str)
@pytest.mark.parametrize("invariant", INVARIANTS)
def test_healthy_streams_violate_no_invariant(invariant: str, healthy: Healthy) -> None:
    """A healthy stream violates no invariant."""
    assert violations(invariant, ClientOutcome(case(healthy.body, healthy))) == []


@pytest.mark.parametrize(
    ("invariant", "outcome"),
    [
        ("nothing-completed", pretend(HEADER + PART, HEADER + PART + REST + FINISH + DONE, "x")),
        ("nothing-completed", pretend(HEADER, HEADER + EMPTY, "x")),
        ("nothing-completed", pretend(HEADER + PART + FINISH, HEADER + EMPTY + FINISH, "x")),
        ("nothing-ended", pretend(HEADER + PART, HEADER + PART + FINISH + DONE, "x")),
        ("no-call-lost", pretend(HEADER + PART + REST + FINISH, HEADER + PART + FINISH, "x")),
        ("nothing-completed-wrongly", pretend(HEADER + PART, HEADER + EMPTY, "x", intended=INTENDED)),
        ("no-intended-call-lost", pretend(HEADER + PART + REST, HEADER + PART, "x", intended=INTENDED)),
        ("text-is-sent", pretend(TEXT + HEADER, HEADER, "x")),
        ("text-is-sent", pretend(TEXT + HEADER, TEXT + TEXT + HEADER, "x")),
        ("text-stays-before-calls", pretend(TEXT + HEADER, HEADER + TEXT, "x")),
        ("nothing-joins-a-cut-frame", pretend(HEADER + b"data: {", HEADER + b"data: {" + FINISH, "x")),
        ("nothing-joins-a-cut-frame", pretend(HEADER + b"event: x\n", HEADER + b"event: x\nevent: y\n" + PART, "x")),
        ("nothing-joins-a-cut-frame", pretend(HEADER + b"dat", HEADER + b"data: {", "x")),
        ("calls-mean-the-same", pretend(HEADER + PART + REST + FINISH, HEADER + EMPTY + FINISH, "x")),
        ("incomplete-calls-mean-the-same", pretend(HEADER + PART + PART, HEADER + PART, "x")),
        ("changes-are-reported", pretend(HEADER, HEADER + DONE)),
        ("changes-are-reported", pretend(HEADER, HEADER + DONE, "missing-done")),
        ("changes-are-reported", pretend(HEADER, HEADER, "missing-done", findings=("missing-done",))),
        ("same-findings-with-repairs", pretend(HEADER + PART + REST + FINISH + DONE, HEADER, findings=("x",))),
        ("same-for-every-cut", pretend(HEADER + PART + REST + FINISH + DONE, HEADER)),
        ("repaired-stays", pretend(HEADER + FINISH, HEADER + FINISH, "missing-done", findings=("missing-done",))),
    ],
)  # fmt: skip
def test_a_wrong_output_violates_its_invariant(invariant: str, outcome: ClientOutcome) -> None:
    """An output with a bug violates the invariant for that bug."""
    assert violations(invariant, outcome) != []


def test_an_incomplete_call_reported_as_complete_violates_its_invariant() -> None:
    """A record with a complete call, without evidence in the stream, violates `complete-is-true`."""
    outcome = ClientOutcome(case(HEADER + PART))
    assert outcome.off.record is not None
    outcome.off.record.calls[0].arguments, outcome.off.record.calls[0].complete = "{}", True
    assert violations("complete-is-true", outcome) != []


@pytest.mark.parametrize(
    ("invariant", "name"),
    [
        ("no-exception", "off"),
        ("no-exception", "on"),
        ("no-exception-however-cut", "unlogged"),
        ("no-exception-however-cut", "slow"),
        ("no-exception-however-cut", "every_event"),
        ("no-exception-however-cut", "off_logged"),
    ],
)
def test_an_exception_violates_its_invariant(invariant: str, name: str) -> None:
    """An exception that the session caught, or an empty chunk, violates the invariant of that run."""
    outcome = ClientOutcome(case(HEADER))
    for bug in ({"error": ValueError("a bug")}, {"sent_empty": True}):
        outcome.__dict__[name] = outcome.on._replace(**bug)
        assert violations(invariant, outcome) != []


def test_no_exception_needs_no_further_runs() -> None:
    """`no-exception` uses only the two runs that every invariant needs."""
    outcome = ClientOutcome(case(HEADER))
    assert violations("no-exception", outcome) == []
    assert not {"unlogged", "slow", "every_event", "off_logged"} & outcome.__dict__.keys()
