"""The table of chat's identity rules, read back: it is whole, and each rule is what happens to a stream."""

from __future__ import annotations

import ast
import json
import re
from importlib.util import find_spec
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.laws.driven import run, sse
from toolstream_core.defects.row import CHAT
from toolstream_core.defects.table import ROWS, named
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.chat.repair.identity_rules import ELSEWHERE, RULES, TABLE, Came, Edit, Field, Place
from toolstream_core.settings import NOTHING, Settings

if TYPE_CHECKING:
    from tests.laws.driven import Payload
    from toolstream_core.protocols.chat.repair.identity_rules import Rule

NAMES = {row.name for row in ROWS if row.family == "identity" and CHAT in row.dialects}
EXCHANGE = StreamFacts(
    path="/v1/chat/completions",
    content_type="text/event-stream",
    request={
        "messages": [
            {"role": "assistant", "tool_calls": [{"id": "old", "type": "function", "function": {"name": "look"}}]},
            {"role": "tool", "tool_call_id": "old", "content": "seen"},
        ],
        "tools": [
            {"type": "function", "function": {"name": name, "parameters": {"properties": {"a": {}}}}}
            for name in ("look", "find")
        ],
    },
)
WHOLE, BEGUN, REST = '{"a":1}', '{"a"', ":1}"


def opens(arguments: str = BEGUN, *without: str, **fields: Any) -> Payload:
    """A header; `without` some of its fields."""
    entry = {"index": 0, "id": "c1", "type": "function", "name": "look", "arguments": arguments, **fields}
    return {key: value for key, value in entry.items() if key not in without}


def follows(**fields: Any) -> Payload:
    """A continuation."""
    return {"index": 0, "arguments": REST, **fields}


class Sample(NamedTuple):
    """Entries, one an event, of which the one at `at` is judged by the rule."""

    entries: list[Payload]
    at: int
    value: Any = None
    """What the field becomes; `None` where the edit says all."""
    repairs: tuple[str, ...] | None = None
    """What is repaired; `None`: the rule's own defect."""


BARE = follows()
del BARE["index"]
SECOND = opens(WHOLE, index=1, id="c2", name="find")
NOT_READ = opens("", "arguments", index=1.5, input=BEGUN)
"""A call whose arguments may stand under a key that nobody knows: what has another index may be another call's."""
LATE_ID = [opens("", "id"), follows(id="c1", arguments=WHOLE)]
LATE_NAME = [opens("", "name"), follows(name="look", arguments=WHOLE)]
SPLIT_NAME = [opens("", name="lo"), follows(name="ok", arguments=WHOLE)]
UNRELATED = ("reused-index",)
"""A repair that leaves the header as it came, so that a continuation is the first with the value."""
SAMPLES = {
    (Field.INDEX, Place.HEADER): {
        Came.NOTHING: Sample([opens(WHOLE), opens(WHOLE, "index", "id", name="find")], 1, 1),
        Came.NOTHING_CLEAR: Sample([opens(WHOLE, "index")], 0, 0),
        Came.OTHER_TYPE: Sample([opens(WHOLE, index="0")], 0, 0),
        Came.NEGATIVE: Sample([opens(WHOLE, index=-1)], 0, 0),
        Came.ANOTHER_CALLS: Sample([opens(WHOLE), {**SECOND, "index": 0}], 1, 1),
        Came.NOBODYS: Sample([NOT_READ, follows(index=0), SECOND], 2, 2, ("odd-index",)),
        Came.OUT_OF_ORDER: Sample([opens(WHOLE, index=3)], 0, 0),
    },
    (Field.INDEX, Place.CONTINUATION): {
        Came.NOTHING: Sample([opens(), {**SECOND, "arguments": BEGUN}, BARE], 2, 1),
        Came.NOTHING_CLEAR: Sample([opens(), BARE], 1, 0),
        Came.OTHER_TYPE: Sample([opens(), follows(index="0")], 1, 0),
        Came.CHANGED: Sample([opens(), follows(index=1, id="c1")], 1, 0),
        Came.RENUMBERED: Sample([opens(index=3), follows(index=3)], 1, 0, ("offset-index",)),
    },
    (Field.ID, Place.HEADER): {
        Came.NOTHING: Sample([opens(WHOLE, "id")], 0),
        Came.BLANK: Sample([opens(WHOLE, id="")], 0),
        Came.ANOTHER_CALLS: Sample([opens(WHOLE), {**SECOND, "id": "c1"}], 1),
        Came.LATER: Sample(LATE_ID, 0, "c1"),
        Came.UNLIKE_THE_CALLS: Sample(
            [opens("", "id", "name"), follows(id="c1", name="look")], 0, "c1", ("late-name",)
        ),
        Came.EARLIER_TURN: Sample([opens(WHOLE, id="old")], 0, "old"),
        Came.UNUSUAL: Sample([opens(WHOLE, id="a b")], 0, "a b"),
    },
    (Field.ID, Place.CONTINUATION): {
        Came.NULL: Sample([opens(), follows(id=None)], 1),
        Came.BLANK: Sample([opens(), follows(id="")], 1),
        Came.FIRST: Sample(LATE_ID, 1, "c1", UNRELATED),
        Came.AWAITED: Sample(LATE_ID, 1),
        Came.AGAIN: Sample([opens(), follows(id="c1")], 1),
        Came.CHANGED: Sample([opens(), follows(id="c9")], 1),
    },
    (Field.NAME, Place.HEADER): {
        Came.NOTHING: Sample([opens(WHOLE, "name")], 0),
        Came.LATER: Sample(LATE_NAME, 0, "look"),
        Came.PART: Sample(SPLIT_NAME, 0, "look"),
        Came.DECORATED: Sample([opens(WHOLE, name="functions.look")], 0, "look"),
    },
    (Field.NAME, Place.CONTINUATION): {
        Came.NULL: Sample([opens(), follows(name=None)], 1),
        Came.BLANK: Sample([opens(), follows(name="")], 1),
        Came.FIRST: Sample(LATE_NAME, 1, "look", UNRELATED),
        Came.AWAITED: Sample(LATE_NAME, 1),
        Came.AGAIN: Sample([opens(), follows(name="look")], 1),
        Came.PART: Sample(SPLIT_NAME, 1, "ok", UNRELATED),
        Came.PART_KNOWN: Sample(SPLIT_NAME, 1),
    },
    (Field.TYPE, Place.HEADER): {Came.NOTHING: Sample([opens(WHOLE, "type")], 0, "function")},
    (Field.TYPE, Place.CONTINUATION): {
        Came.NULL: Sample([opens(), follows(type=None)], 1),
        Came.BLANK: Sample([opens(), follows(type="")], 1),
        Came.BESIDE_DROPPED: Sample([opens(), follows(id="", type="function")], 1, None, ("empty-id",)),
    },
    (Field.ENTRY, Place.HEADER): {Came.NOTHING: Sample([{"index": 0}, opens(WHOLE, index=1)], 0)},
    (Field.ENTRY, Place.ANY): {Came.CALL_AGAIN: Sample([opens(WHOLE), opens(WHOLE, index=1)], 1)},
}


def wire(sample: Sample) -> bytes:
    """The sample's stream; each event carries its place."""
    chunks: list[Payload] = []
    for at, fields in enumerate(sample.entries):
        function = {key: fields[key] for key in ("name", "arguments", "input") if key in fields}
        entry = {key: fields[key] for key in ("index", "id", "type") if key in fields} | {"function": function}
        delta = {"tool_calls": [entry]}
        chunks.append({"id": "c", "at": at, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    last = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    return sse(*chunks, last, "[DONE]")


def entry_at(body: bytes, at: int) -> Payload | None:
    """The entry of the event at `at`, with its function's fields; `None` where it is gone."""
    for line in body.splitlines():
        payload = json.loads(line[6:]) if line.startswith(b"data: {") else {}
        if payload.get("at") == at:
            for entry in payload["choices"][0]["delta"].get("tool_calls", ()):
                return {**entry, **entry["function"]}
    return None


def pattern(message: str) -> str:
    """A rule's message as a regular expression: anything may stand where a value is put in."""
    return "".join(re.escape(text) + (".*" if field else "") for text, field, _, _ in Formatter().parse(message))


def test_the_table_names_every_row_of_identity_that_names_chat() -> None:
    """Or says which module handles it, and that module reports it."""
    assert {rule.row.name for rule in TABLE if rule.row is not None} | ELSEWHERE.keys() == NAMES
    for name, module in ELSEWHERE.items():
        spec = find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        constant = name.upper().replace("-", "_")
        calls = [one for one in ast.walk(ast.parse(Path(spec.origin).read_text())) if isinstance(one, ast.Call)]
        assert any(isinstance(one, ast.Name) and one.id == constant for call in calls for one in call.args)


def test_no_two_rules_answer_the_same_question() -> None:
    """And every one has a sample here."""
    assert len(RULES) == len(TABLE)
    assert RULES.keys() == {(*where, came) for where, samples in SAMPLES.items() for came in samples}


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: "-".join(rule[:3]))
def test_a_rule_is_what_happens(rule: Rule) -> None:
    """The defect is found with the rule's message and severity, and the edit is made where its repair is on."""
    sample = SAMPLES[rule.field, rule.place][rule.came]
    body = wire(sample)
    if rule.row is not None:
        findings = [one for one in run(body, EXCHANGE, NOTHING).record.findings if one.name == rule.row.name]
        severity = rule.severity or rule.row.severity
        assert [one for one in findings if re.fullmatch(pattern(rule.message), one.message)], findings
        assert {one.severity for one in findings} == {severity}
    repairs = sample.repairs if sample.repairs is not None else (rule.row.name,) if rule.row and rule.row.repair else ()
    out = run(body, EXCHANGE, Settings(named(repairs)) if repairs else NOTHING).out
    entry, before = entry_at(out, sample.at), entry_at(body, sample.at)
    if rule.field is Field.ENTRY:
        assert (entry, before is None) == (None, False)
        return
    assert entry is not None
    assert before is not None
    value = entry.get(rule.field, "gone")
    if rule.edit is Edit.KEEP:
        assert value == before.get(rule.field, "gone")
    elif rule.edit is Edit.DROP:
        assert (value, rule.field in before) == ("gone", True)
    elif rule.edit is Edit.NEW_ID:
        assert re.fullmatch(r"call_[0-9a-f]{24}", value)
    else:
        assert (value, type(value)) == (sample.value, type(sample.value))
        assert value != before.get(rule.field) or type(value) is not type(before.get(rule.field))
