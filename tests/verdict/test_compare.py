"""Calls in the text of messages, as some agents write them."""

from __future__ import annotations

import json

import pytest

from toolstream_core.model import Call, Kind
from toolstream_core.verdict.compare import is_in_text, is_partly_in_text

PATH = 'a\n"b" <c> & é\\d'


def call(arguments: object) -> Call:
    """A call of `ls`."""
    return Call(0, 0, Kind.FUNCTION, "c1", "ls", json.dumps(arguments), complete=True)


@pytest.mark.parametrize(
    "text",
    [
        f"<ls><path>{PATH}</path><n>1</n></ls>",
        '<tool name="ls"><path>a\n"b" &lt;c&gt; &amp; é\\d</path> 1',
        f"ls(n=1.0, **{ {'path': PATH}!r})",
        json.dumps({"name": "ls", "arguments": {"path": PATH, "n": 1}}),
        json.dumps({"name": "ls", "arguments": json.dumps({"path": PATH, "n": 1.0})}),
        json.dumps({"name": "ls", "arguments": json.dumps({"path": PATH, "n": 1})}, ensure_ascii=False),
    ],
)
def test_a_call_is_found_in_every_notation(text: str) -> None:
    """XML, Python, JSON, and JSON in JSON. `1.0` equals `1`."""
    assert is_in_text(call({"path": PATH, "n": 1.0}), text)
    assert not is_in_text(call({"path": PATH + "e", "n": 1.0}), text)


def test_the_tool_has_to_be_named() -> None:
    """Values alone occur in many texts."""
    assert is_in_text(call({}), "I called ls.")
    assert not is_in_text(call({"path": "notes"}), "The notes say so.")


def test_an_incomplete_call() -> None:
    """Its incomplete arguments are found, also as a JSON string."""
    incomplete = Call(0, 0, Kind.FUNCTION, "c1", "ls", '{"path": "a', complete=False)
    assert is_partly_in_text(incomplete, 'ls {"path": "a')
    assert is_partly_in_text(incomplete, json.dumps({"name": "ls", "arguments": '{"path": "a'}))
    assert not is_partly_in_text(incomplete, "ls")
