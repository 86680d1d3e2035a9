"""Each invariant of the fuzzer sees a bug of its kind: run on outputs that are wrong on purpose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz.case import Case
from tests.fuzz.drive import Run
from tests.fuzz.invariants import INVARIANTS, Seen
from tests.invariants.healthy import Healthy, streams
from toolstream_core.engine.session import read_body
from toolstream_core.model import Change, Finding, Severity
from toolstream_core.wire.frame import Frame

CHAT, RESPONSES, ANTHROPIC = (
    next(one for one in streams() if one.dialect == dialect and one.name == "fragments of two")
    for dialect in ("openai-chat", "openai-responses", "anthropic")
)
OLLAMA = next(one for one in streams() if one.dialect == "ollama")
GEMINI = next(one for one in streams() if one.dialect == "gemini")
COHERE = next(one for one in streams() if str(one) == "cohere-v2, fragments of two")
BEDROCK = next(one for one in streams() if str(one) == "bedrock, fragments of two")
EXAMPLES = [CHAT, RESPONSES, ANTHROPIC, OLLAMA, GEMINI, COHERE, BEDROCK]
CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk",'
    b'"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}\n\n'
)


def chunk(delta: str, finish: str = "null") -> bytes:
    """A Chat Completions event."""
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
    """Safe repairs of a body."""
    return Case(healthy.dialect, body, healthy.exchange.content_type, healthy.exchange.path)


def pretended(
    body: bytes,
    out: bytes,
    *rows: str,
    healthy: Healthy = CHAT,
    told: tuple[str, ...] = (),
    intended: tuple[tuple[str, str], ...] = (),
) -> Seen:
    """As if safe repairs had made `out` of `body`, and had told a change for `rows` and the findings `told`."""
    seen = Seen(replace(case(body, healthy), intended=intended))
    record = read_body([body], seen.case.exchange)
    assert record is not None
    record.findings = [Finding("TS000", name, Severity.NOTE, 0, None, "") for name in told]
    repairs_at_end = [Change(rows, 0, [Frame(body, 0, b"")], [Frame(out, 0, b"")])] if rows else []
    seen.__dict__["on"] = Run(out, record, repairs_at_end, None, empty=False)
    return seen


def breaks(invariant: str, seen: Seen) -> list[str]:
    """What the invariant says."""
    return list(INVARIANTS[invariant](seen))


@pytest.mark.parametrize("healthy", EXAMPLES, ids=str)
@pytest.mark.parametrize("invariant", INVARIANTS)
def test_healthy_streams_keep_every_invariant(invariant: str, healthy: Healthy) -> None:
    """Or the invariant would be wrong."""
    assert breaks(invariant, Seen(case(healthy.body, healthy))) == []


@pytest.mark.parametrize(
    ("invariant", "seen"),
    [
        ("nothing-completed", pretended(HEADER + PART, HEADER + PART + REST + FINISH + DONE, "x")),
        ("nothing-completed", pretended(HEADER, HEADER + EMPTY, "x")),
        ("nothing-completed", pretended(HEADER + PART + FINISH, HEADER + EMPTY + FINISH, "x")),
        ("nothing-ended", pretended(HEADER + PART, HEADER + PART + FINISH + DONE, "x")),
        ("no-call-lost", pretended(HEADER + PART + REST + FINISH, HEADER + PART + FINISH, "x")),
        ("nothing-completed-wrongly", pretended(HEADER + PART, HEADER + EMPTY, "x", intended=INTENDED)),
        ("no-intended-call-lost", pretended(HEADER + PART + REST, HEADER + PART, "x", intended=INTENDED)),
        ("text-is-sent", pretended(TEXT + HEADER, HEADER, "x")),
        ("text-is-sent", pretended(TEXT + HEADER, TEXT + TEXT + HEADER, "x")),
        ("text-stays-before-calls", pretended(TEXT + HEADER, HEADER + TEXT, "x")),
        ("nothing-joins-a-cut-frame", pretended(HEADER + b"data: {", HEADER + b"data: {" + FINISH, "x")),
        ("nothing-joins-a-cut-frame", pretended(HEADER + b"event: x\n", HEADER + b"event: x\nevent: y\n" + PART, "x")),
        ("nothing-joins-a-cut-frame", pretended(HEADER + b"dat", HEADER + b"data: {", "x")),
        ("calls-mean-the-same", pretended(HEADER + PART + REST + FINISH, HEADER + EMPTY + FINISH, "x")),
        ("incomplete-calls-mean-the-same", pretended(HEADER + PART + PART, HEADER + PART, "x")),
        ("changes-are-reported", pretended(HEADER, HEADER + DONE)),
        ("changes-are-reported", pretended(HEADER, HEADER + DONE, "missing-done")),
        ("changes-are-reported", pretended(HEADER, HEADER, "missing-done", told=("missing-done",))),
        ("same-findings-with-repairs", pretended(HEADER + PART + REST + FINISH + DONE, HEADER, told=("x",))),
        ("same-for-every-cut", pretended(HEADER + PART + REST + FINISH + DONE, HEADER)),
        ("repaired-stays", pretended(HEADER + FINISH, HEADER + FINISH, "missing-done", told=("missing-done",))),
    ],
)  # fmt: skip
def test_a_wrong_output_breaks_its_invariant(invariant: str, seen: Seen) -> None:
    """The invariant is not empty."""
    assert breaks(invariant, seen) != []


def test_a_call_that_is_called_complete_without_a_word_breaks_its_invariant() -> None:
    """A header with nothing in it, and nothing behind it."""
    seen = Seen(case(HEADER + PART))
    assert seen.off.record is not None
    seen.off.record.calls[0].arguments, seen.off.record.calls[0].complete = "{}", True
    assert breaks("complete-is-true", seen) != []


@pytest.mark.parametrize(
    ("invariant", "name"),
    [
        ("no-exception", "off"),
        ("no-exception", "on"),
        ("no-exception-however-cut", "silent"),
        ("no-exception-however-cut", "slow"),
        ("no-exception-however-cut", "each"),
        ("no-exception-however-cut", "judged"),
    ],
)
def test_an_exception_breaks_its_invariant(invariant: str, name: str) -> None:
    """Also one that the pipeline caught; nor does an empty piece go on."""
    seen = Seen(case(HEADER))
    for wrong in ({"error": ValueError("a bug")}, {"empty": True}):
        seen.__dict__[name] = seen.on._replace(**wrong)
        assert breaks(invariant, seen) != []


def test_an_exception_is_seen_without_the_runs_that_are_cut_otherwise() -> None:
    """Every invariant makes the two that `no-exception` looks at: a hunt for harms costs no run more with it."""
    seen = Seen(case(HEADER))
    assert breaks("no-exception", seen) == []
    assert not {"silent", "slow", "each", "judged"} & seen.__dict__.keys()
