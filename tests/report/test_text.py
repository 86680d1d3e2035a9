"""The lines of the log: for each event, folded, and at the end."""

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
    """Absent, null and empty values are distinguished, text is folded, and calls and finish reasons are at the end."""
    lines: list[str] = []
    report([Lines(lines.append, Label("#1", "POST h/v1", "FLOW"), elapsed=lambda: 7)])
    note = "#1    +7ms note"
    assert lines == [
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
    """Only the lines at the end of a response."""
    lines: list[str] = []
    report([EndLines(lines.append, Label("#1", "h"))])
    assert [line.split()[1] for line in lines] == ["h", "call", "note", "note", "note", "error", "7"]


def test_colour_is_optional() -> None:
    """The text is the same with and without colour."""
    lines: list[str] = []
    painted: list[str] = []
    report([Lines(lines.append, Label("#1", "h")), Lines(painted.append, Label("#1", "h"), paint=colour)])
    assert not any("\x1b" in line for line in lines)
    assert any("\x1b[31m" in line for line in painted)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=300))
def test_control_characters_are_escaped(name: str, model: str, text: str) -> None:
    """No control character of a stream reaches a line, and each line stays a line."""
    lines: list[str] = []
    body = [
        HEAD.replace(b'"glm"', json_bytes(model))
        + b'{"tool_calls":[{"index":0,"id":'
        + json_bytes(name)
        + b',"function":{"name":'
        + json_bytes(name)
        + b',"arguments":'
        + json_bytes(text)
        + b"}}]}"
        + TAIL,
        *BODY[-2:],
    ]
    report([Lines(lines.append, Label("#1", "h"))], body)
    assert all(character.isprintable() for line in lines for character in line)


def json_bytes(text: str) -> bytes:
    """The text as JSON."""
    return json.dumps(text).encode()


def test_long_text_is_shortened() -> None:
    """The line has the number of left out characters."""
    lines: list[str] = []
    fragment = HEAD + b'{"tool_calls":[{"index":0,"function":{"arguments":"' + b"x" * 1000 + b'"}}]}' + TAIL
    report([Lines(lines.append, Label("#1", "h"))], [fragment])
    line = lines[1]
    assert len(line) == WIDTH
    shown = line.partition('args="')[2].removesuffix('"')
    begin, left_out, end = re.fullmatch(r"(x+)…\(\+(\d+)\)…(x+)", shown).groups()  # type: ignore[union-attr]
    assert len(begin) + int(left_out) + len(end) == 1000


def test_hide() -> None:
    """Texts of the stream are redacted."""
    lines: list[str] = []
    report([Lines(lines.append, Label("#1", "h"), hide=lambda text: text.replace("p", "*"))])
    assert 'args="{\\"*\\""' in lines[3]


def test_call_and_finding_lines() -> None:
    """They have the kind, choice and guess of a call, and code, name and place of a finding."""
    call = Call(1, 2, Kind.SERVER, "i", "", "{}", complete=True, guessed=True)
    assert call_line(call) == 'choice 1 call 2 (server) "" id="i" {}  guessed'
    finding = Finding("TS999", "bad-thing", Severity.WARNING, 3, None, "why")
    assert finding_line(finding).text == "warning TS999 bad-thing at event 3: why"


def test_errors_and_truncated_responses() -> None:
    """The log shows an error in the stream, and that the stream did not end."""
    lines: list[str] = []
    report([Lines(lines.append, Label("#1", "h"))], [BODY[1], b'data: {"error":{"code":502,"message":"gone"}}\n\n'])
    assert lines[2] == '#1         event 1    error "502: gone"'
    assert lines[3] == "#1         error TS313 in-band-error at event 1: the provider reports an error: 502: gone"
    assert lines[-1] == "#1         2 events, 0 calls, no finish reason, 1 error, unfinished"


FAULT_LINES = {
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


@pytest.mark.parametrize("fault", FAULT_LINES, ids=str)
def test_the_line_of_a_fault(fault: tuple[str, int, int]) -> None:
    """It shows the number of changes, or why there are none."""
    assert fault_line(Injected(*fault), "openai-chat") == f"fault {fault[0]}: {FAULT_LINES[fault]}"


def test_the_line_of_an_impossible_fault() -> None:
    """It names the protocols that support the fault, or a part of the preset."""
    assert fault_line(Injected("kimi:p=1", 0, 0), "anthropic") == (
        "fault kimi:p=1: not possible in anthropic, only in openai-chat, cohere-v2"
    )
