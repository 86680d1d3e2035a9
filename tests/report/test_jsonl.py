"""JSON Lines: an object for each event, without absent keys."""

from __future__ import annotations

import json

from tests.report.reported import BODY, report
from toolstream_core.report.jsonform import JsonLines


def written(**options: object) -> list[dict[str, object]]:
    """The objects for the stream."""
    lines: list[str] = []
    report([JsonLines(lines.append, {"flow": "F"}, elapsed=lambda: 7, **options)])  # type: ignore[arg-type]
    return [json.loads(line) for line in lines]


def test_each_event_is_an_object() -> None:
    """Events without content too. The last object is the end."""
    objects = written()
    events = [one for one in objects if one["type"] == "event"]
    assert objects[-1]["type"] == "end"
    assert [one["event"] for one in events] == list(range(7))
    assert [one["bytes"] for one in events] == [len(block) for block in BODY]
    found = [one["finding"]["name"] for one in objects if one["type"] == "finding"]  # type: ignore[index]
    assert found == ["empty-id", "null-identity", "missing-index"]
    assert {one["flow"] for one in objects} == {"F"}
    assert {one["ms"] for one in objects} == {7}


def test_absent_null_and_empty() -> None:
    """An absent key is missing, and null and empty values are kept."""
    fragments = [one["fragments"][0] for one in written() if "fragments" in one]  # type: ignore[index]
    place = {"choice": 0, "call": 0, "phase": "more"}
    assert fragments == [
        place | {"index": 0, "id": "c1", "name": "ls", "type": "function", "arguments": ""},
        place | {"index": 0, "id": "", "name": None, "arguments": '{"p"'},
        place | {"arguments": ':"\x1b[31m"}'},
    ]


def test_finish_text_and_end() -> None:
    """Objects have the model, finish reasons, the end, and the record."""
    objects = [one for one in written() if one["type"] != "finding"]
    assert objects[0]["model"] == "glm"
    assert objects[5]["finish"] == [{"choice": 0, "reason": "tool_calls"}]
    assert objects[6]["end"] is True
    assert objects[7]["record"]["calls"][0]["name"] == "ls"  # type: ignore[index]


def test_hide() -> None:
    """Fragments and the record are redacted."""
    assert "*" in str(written(hide=lambda _: "*")[3])
