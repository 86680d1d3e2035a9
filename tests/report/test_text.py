"""Lines of text: chunk by chunk, folded, at the end; foreign text can steer no terminal."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.reported import BODY, HEAD, TAIL, report
from toolstream_core.model import Call, Finding, Injected, Kind, Severity
from toolstream_core.report.columns import WIDTH, Label, colour
from toolstream_core.report.lines import EndLines, Lines, call_line, fault_line, finding_line


def test_lines() -> None:
    """Absent, null and empty are told apart, text is folded, the calls and the finish come at the end."""
    told: list[str] = []
    report([Lines(told.append, Label("#1", "POST h/v1", "FLOW"), elapsed=lambda: 7)])
    note = "#1    +7ms note"
    assert told == [
        "#1 POST h/v1 glm openai-chat  flow FLOW",
        "#1    +7ms events 0-1  2 events without tool calls, 269 bytes",
        '#1    +7ms event 2    call 0  id="c1"  name="ls"  index=0  args=""',
        '#1    +7ms event 3    call 0  id=""    name=null  index=0  args="{\\"p\\""',
        f'{note} TS102 empty-id at event 3 call 0: a continuation has id ""',
        f"{note} TS103 null-identity at event 3 call 0: a continuation has name null",
        '#1    +7ms event 4    call 0  id=absent  name=absent  index=absent  args=":\\"\\u001b[31m\\"}"',
        f"{note} TS115 missing-index at event 4 call 0: a continuation has no index",
        "#1    +7ms event 5    finish tool_calls",
        "#1    +7ms event 6    end",
        '#1         call 0 ls id="c1" "{\\"p\\":\\"\\u001b[31m\\"}"  incomplete',
        "#1         error TS210 invalid-arguments at event 4 call 0: the arguments of ls are not valid JSON",
        "#1         7 events, 1 call, finish tool_calls, 1 error, 3 notes",
    ]


def test_end_lines() -> None:
    """Only what is told at the end."""
    told: list[str] = []
    report([EndLines(told.append, Label("#1", "h"))])
    assert [line.split()[1] for line in told] == ["h", "call", "note", "note", "note", "error", "7"]


def test_colour_only_where_it_is_painted() -> None:
    """Without paint no line holds an escape; with it the text is the same."""
    told: list[str] = []
    painted: list[str] = []
    report([Lines(told.append, Label("#1", "h")), Lines(painted.append, Label("#1", "h"), paint=colour)])
    assert not any("\x1b" in line for line in told)
    assert any("\x1b[31m" in line for line in painted)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=300))
def test_foreign_text_steers_no_terminal(name: str, model: str, text: str) -> None:
    """No control character of a stream reaches a line, and each line is one."""
    told: list[str] = []
    body = [
        HEAD.replace(b'"glm"', _json(model))
        + b'{"tool_calls":[{"index":0,"id":'
        + _json(name)
        + b',"function":{"name":'
        + _json(name)
        + b',"arguments":'
        + _json(text)
        + b"}}]}"
        + TAIL,
        *BODY[-2:],
    ]
    report([Lines(told.append, Label("#1", "h"))], body)
    assert all(character.isprintable() for line in told for character in line)


def _json(text: str) -> bytes:
    return json.dumps(text).encode()


def test_long_text_is_cut_and_counted() -> None:
    """A fragment of any length is a short line that says how long it was."""
    told: list[str] = []
    fragment = HEAD + b'{"tool_calls":[{"index":0,"function":{"arguments":"' + b"x" * 1000 + b'"}}]}' + TAIL
    report([Lines(told.append, Label("#1", "h"))], [fragment])
    line = told[1]
    assert len(line) == WIDTH
    shown = line.partition('args="')[2].removesuffix('"')
    begin, left_out, end = re.fullmatch(r"(x+)…\(\+(\d+)\)…(x+)", shown).groups()  # type: ignore[union-attr]
    assert len(begin) + int(left_out) + len(end) == 1000


def test_hide() -> None:
    """What is told goes through the redaction that is handed in."""
    told: list[str] = []
    report([Lines(told.append, Label("#1", "h"), hide=lambda text: text.replace("p", "*"))])
    assert 'args="{\\"*\\""' in told[3]


def test_call_and_finding_lines() -> None:
    """Kind, choice, guess; code, name and place."""
    call = Call(1, 2, Kind.SERVER, "i", "", "{}", complete=True, guessed=True)
    assert call_line(call) == 'choice 1 call 2 (server) "" id="i" {}  guessed'
    finding = Finding("TS999", "bad-thing", Severity.WARNING, 3, None, "why")
    assert finding_line(finding).text == "warning TS999 bad-thing at event 3: why"


def test_errors_and_breaks() -> None:
    """An in-band error, a stream that never ended."""
    told: list[str] = []
    report([Lines(told.append, Label("#1", "h"))], [BODY[1], b'data: {"error":{"code":502,"message":"gone"}}\n\n'])
    assert told[2] == '#1         event 1    error "502: gone"'
    assert told[3] == "#1         error TS313 in-band-error at event 1: the provider reports an error: 502: gone"
    assert told[-1] == "#1         2 events, 0 calls, no finish reason, 1 error, unfinished"


FATES = {
    ("empty-id", 1, 2): "2 changes",
    ("empty-id", 1, 0): "selected, but nothing in this response matches",
    ("empty-id", 0, 0): "not applied: no matching call",
    (
        "late-id:p=0.5",
        0,
        0,
    ): "not applied: skipped by p or times, or no matching call",
    ("cut:at=event:9,times=1", 1, 0): "selected, but nothing in this response matches",
}


@pytest.mark.parametrize("fault", FATES, ids=str)
def test_what_became_of_a_fault(fault: tuple[str, int, int]) -> None:
    """In words that explain themselves."""
    assert fault_line(Injected(*fault), "openai-chat") == f"fault {fault[0]}: {FATES[fault]}"


def test_a_fault_that_cannot_be_caused() -> None:
    """The protocols in which it can are named; of a preset, those in which any part of it can."""
    assert fault_line(Injected("kimi:p=1", 0, 0), "anthropic") == (
        "fault kimi:p=1: not possible in anthropic, only in openai-chat, cohere-v2"
    )
