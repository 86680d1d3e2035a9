from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import FLOWS
from toolstream_core.errors import ToolstreamError
from toolstream_core.saved.expectation import (
    Expectation,
    ExpectedCall,
    ExpectedFinding,
    ExpectedResponse,
    differences,
    dumps,
    expect_path,
    expectation_of,
    loads,
    read_expectation,
)
from toolstream_core.saved.read import load

CALL = ExpectedCall(choice=0, position=0, kind="function", id="c1", name="get_time", arguments='{"zone":"Oslo"}')
FINDING = ExpectedFinding(code="TS102", name="empty-id", event=3, call=0)
RESPONSE = ExpectedResponse(
    dialect="openai-chat", model="m", events=4, finish=("tool_calls",), calls=(CALL,), findings=(FINDING,)
)
EXPECTED = (RESPONSE,)
CALL_LINE = (
    '{"choice": 0, "position": 0, "kind": "function", "id": "c1", "name": "get_time", '
    '"arguments": "{\\"zone\\":\\"Oslo\\"}"}'
)
LINES = dumps(EXPECTED).splitlines()


def with_fields(**changes: Any) -> Expectation:
    """Return the expectation with these fields of its response changed."""
    return (replace(RESPONSE, **changes),)


def document() -> dict[str, Any]:
    """Return the expectation as parsed JSON."""
    parsed: dict[str, Any] = json.loads(dumps(EXPECTED))
    return parsed


def test_an_expectation_has_the_name_of_its_flow() -> None:
    """The file is in the same folder."""
    assert expect_path(Path("a/x.flow")) == Path("a/x.expect.json")
    assert expect_path(Path("a/gpt-4.1.flow")) == Path("a/gpt-4.1.expect.json")


def test_a_call_and_a_finding_are_one_line_each() -> None:
    """A changed call is one changed line in a diff."""
    assert [line.strip() for line in LINES if "get_time" in line] == [CALL_LINE]
    other = dumps(
        with_fields(calls=(replace(CALL, id="c2"),), findings=(FINDING, replace(FINDING, event=5)))
    ).splitlines()
    assert [line.strip() for line in other if line not in LINES] == [
        CALL_LINE.replace("c1", "c2"),
        '{"code": "TS102", "name": "empty-id", "event": 3, "call": 0},',
        '{"code": "TS102", "name": "empty-id", "event": 5, "call": 0}',
    ]


def test_default_values_are_not_written() -> None:
    """Status, disconnect and incomplete call are written only if they differ from the default."""
    assert list(document()["answers"][0]) == ["dialect", "model", "events", "finish", "calls", "findings"]
    unusual = with_fields(
        status=429, streamed=False, ended=False, broken="reset", error="e", calls=(replace(CALL, complete=False),)
    )
    assert [line.strip() for line in dumps(unusual).splitlines() if line not in LINES] == [
        '"status": 429,',
        '"streamed": false,',
        '"ended": false,',
        '"broken": "reset",',
        '"error": "e",',
        CALL_LINE.replace('}"}', '}", "complete": false}'),
    ]
    assert loads(dumps(unusual)) == unusual


@given(st.text(), st.text(), st.booleans(), st.integers(0, 9))
def test_a_written_expectation_is_read_back(name: str, arguments: str, complete: bool, event: int) -> None:
    """Any text is read back unchanged, encoded as UTF-8."""
    call = replace(CALL, name=name, arguments=arguments, complete=complete, id="\ud800")
    expected = with_fields(
        model=None, finish=(name, "stop"), calls=(call, CALL), findings=(replace(FINDING, event=event),)
    )
    assert loads(dumps(expected).encode().decode()) == expected
    assert loads(dumps(())) == ()


def test_invisible_characters_are_escaped() -> None:
    """Invisible characters and direction marks are escaped."""
    text = dumps(with_fields(calls=(replace(CALL, arguments="a\u202eb\u200bc\ufeffd\u2028"),)))
    assert "a\\u202eb\\u200bc\\ufeffd\\u2028" in text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 2}, r"x: version 2|x has version 2, .* up to 1; install a newer toolstream"),
        ({"version": None}, r'x lacks "version": 1; update it with'),
        ({"version": True}, r'x lacks "version": 1'),
        ({"more": 1}, r"x has the unknown field 'more'; known are version, answers\. If a newer"),
        ({"answers": None}, r"x lacks the list 'answers'"),
        ({"answers": [1]}, r"x: answers\[0\] must be an object"),
    ],
)
def test_an_invalid_document_is_rejected(change: dict[str, Any], complaint: str) -> None:
    """The error says what is wrong and what to do."""
    with pytest.raises(ToolstreamError, match=complaint):
        loads(json.dumps({**document(), **change}), "x")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"colour": 1}, r"answers\[0\] has the unknown field 'colour'; known are dialect, model,"),
        ({"events": "4"}, r"answers\[0\]\.events must be a number"),
        ({"events": True}, r"answers\[0\]\.events must be a number"),
        ({"model": 1}, r"answers\[0\]\.model must be a string or null"),
        ({"finish": [1]}, r"answers\[0\]\.finish must be a list of strings"),
        ({"calls": {}}, r"answers\[0\]\.calls must be a list"),
        ({"calls": [{}]}, r"answers\[0\]\.calls\[0\] lacks 'choice'"),
        ({"calls": [{**document()["answers"][0]["calls"][0], "kind": "f"}]}, r"calls\[0\]\.kind is 'f'; expected one"),
        ({"calls": [{**document()["answers"][0]["calls"][0], "events": []}]}, r"calls\[0\] has the unknown field"),
        ({"findings": [{"code": "TS102", "name": "n", "event": 1}]}, r"findings\[0\] lacks 'call'"),
        ({"ended": 0}, r"answers\[0\]\.ended must be true or false"),
    ],
)
def test_an_invalid_response_is_rejected(change: dict[str, Any], complaint: str) -> None:
    """The error names the field."""
    parsed = document()
    parsed["answers"][0] |= change
    with pytest.raises(ToolstreamError, match=complaint):
        loads(json.dumps(parsed))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "x is not valid JSON: "),
        ("[" * 100_000, "x is not valid JSON: "),
        ("[]", "x has a format older than version 1; update it with: pytest --toolstream-update=fix"),
        ("1", 'x is not an expectation. Expected an object with "version" and "answers"'),
    ],
)
def test_other_files_are_rejected(text: str, complaint: str) -> None:
    """The error names the expected form."""
    with pytest.raises(ToolstreamError, match=complaint):
        loads(text, "x")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """The error names the command that creates it; a file that is not UTF-8 is an error, too."""
    path = tmp_path / "x.expect.json"
    with pytest.raises(
        ToolstreamError, match=rf"no such file: {path}; create it with: pytest --toolstream-update=create"
    ):
        read_expectation(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ToolstreamError, match=rf"{path} cannot be read: "):
        read_expectation(path)
    path.write_text(dumps(EXPECTED))
    assert read_expectation(path) == EXPECTED


OSLO = '"{\\"zone\\":\\"Oslo\\"}"'
A = "a" * 12
BEGIN = '"{\\"text\\":\\"' + "a" * 41 + '"…'
LONG = '{"text":"' + "a" * 60 + 'b"}'


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, []),
        ({"events": 5}, ["response 0: events: expected 4, found 5"]),
        ({"model": None}, ['response 0: model: expected "m", found null']),
        ({"ended": False}, ["response 0: ended: expected true, found false"]),
        ({"finish": ("stop",)}, ['response 0: finish: expected ["tool_calls"], found ["stop"]']),
        ({"calls": (replace(CALL, name="f"),)}, ['response 0: call 0 name: expected "get_time", found "f"']),
        (
            {"calls": (replace(CALL, arguments=LONG), replace(CALL, position=1))},
            [
                "response 0: expected 1 call, found 2",
                f"response 0: call 0 arguments: differs at character 2: expected {OSLO}, found {BEGIN}",
                'response 0: call 1: not expected, found "get_time" "{\\"zone\\":\\"Oslo\\"}"',
            ],
        ),
        (
            {"calls": ()},
            [
                "response 0: expected 1 call, found 0",
                'response 0: call 0: expected "get_time" "{\\"zone\\":\\"Oslo\\"}", not found',
            ],
        ),
        (
            {"findings": (replace(FINDING, event=4, call=None),)},
            [
                "response 0: expected TS102 empty-id at event 3 call 0, not found",
                "response 0: not expected, found TS102 empty-id at event 4",
            ],
        ),
    ],
)
def test_each_difference_is_one_line(changes: dict[str, Any], lines: list[str]) -> None:
    """The line has the expected and the found value from the first differing character."""
    assert differences(EXPECTED, with_fields(**changes)) == lines


def test_a_missing_response_is_a_difference() -> None:
    """The numbers of expected and found responses are reported."""
    both = (RESPONSE, RESPONSE)
    assert differences(both, EXPECTED) == ["expected 2 responses, found 1"]


def test_long_texts_are_shown_from_the_first_difference() -> None:
    """Control characters are escaped."""
    expected, found = (
        with_fields(calls=(replace(CALL, arguments=LONG),)),
        with_fields(calls=(replace(CALL, arguments=LONG.replace("b", "\x1b")),)),
    )
    assert differences(expected, found) == [
        f'response 0: call 0 arguments: differs at character 69: expected …"{A}b\\"}}", found …"{A}\\u001b\\"}}"'
    ]


def test_equal_findings_are_counted() -> None:
    """The number and the order of findings count."""
    later = replace(FINDING, event=9)
    assert differences(with_fields(findings=(FINDING, later)), with_fields(findings=(later, FINDING))) == [
        "response 0: the findings are in another order"
    ]
    assert differences(with_fields(findings=(FINDING, FINDING)), EXPECTED) == [
        "response 0: expected TS102 empty-id at event 3 call 0, not found"
    ]


def test_a_flow_has_the_expectation_next_to_it() -> None:
    """The expectation of a packaged flow equals its file."""
    path = FLOWS / "deepseek-empty-id.flow"
    assert dumps(expectation_of(load(path))) == expect_path(path).read_text()
