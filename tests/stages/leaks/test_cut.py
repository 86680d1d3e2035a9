"""Markup that is cut over deltas, and the place of the calls that are made of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import exchange, run, sse
from tests.protocols.chat.repair.test_end_of_stream import arguments, chunk, header, more
from toolstream_core.defects.table import LEAK
from toolstream_core.settings import SAFE, Settings
from toolstream_core.stages.leaks import may_leak

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

CHAT = exchange("openai-chat")
WEATHER = {"name": "get_weather", "parameters": {"properties": {"city": {"type": "number"}}}}
OFFERED = replace(CHAT, request={"tools": [{"type": "function", "function": WEATHER}]})
PROMOTED = frozenset(defect.code for defect in LEAK)
MARKUP = {
    "hermes": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
    "function": "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>",
    "glm": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
    "deepseek": '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜>',
    "kimi": '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>',
    "harmony": '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
    "harmony without tokens": 'commentary to=functions.get_weather json{"city": "Oslo"}',
    "mistral": '[TOOL_CALLS]get_weather{"city": "Oslo"}',
    "xml": '<get_weather>{"city": "Oslo"}</get_weather>',
}


def test_a_chunk_of_plain_text_bears_no_mark() -> None:
    """Or all text would be parsed."""
    assert not may_leak(sse({"usage": {"completion_tokens": 1}, **chunk({"content": "Some more of it."})}))


def promoted(*texts: str, key: str = "content") -> bytes:
    """What goes on of an answer of these texts."""
    said = [chunk({"role": "assistant"}), *(chunk({key: text}) for text in texts)]
    return run(sse(*said, chunk({}, "stop"), "[DONE]"), CHAT, Settings(SAFE | PROMOTED)).out


@pytest.mark.parametrize("key", ["content", "reasoning_content"])
@pytest.mark.parametrize("before", [(), ("Let me look. ",)], ids=["alone", "behind text"])
@pytest.mark.parametrize("name", MARKUP)
def test_markup_cut_anywhere_is_a_call(name: str, before: tuple[str, ...], key: str) -> None:
    """In two, by the letter, by the token; but a word behind text that has no sign in it is not seen by the letter."""
    text = MARKUP[name]
    cuts = [[text[:at], text[at:]] for at in range(1, len(text))]
    letters = [] if text.startswith("commentary") and before else [list(text)]
    for pieces in [[text], *cuts, *letters, re.findall(r"\w+|\W", text)]:
        assert arguments(promoted(*before, *pieces, key=key)) == {0: '{"city": "Oslo"}'}, pieces


@pytest.mark.parametrize("repairs", [SAFE | PROMOTED, PROMOTED])
def test_the_index_is_no_other_calls(repairs: frozenset[str]) -> None:
    """Whatever else is on, and whatever indexes the others have."""
    leaked: list[Payload | str] = [chunk({"content": MARKUP["hermes"]}), chunk({}, "tool_calls"), "[DONE]"]
    beside = sse(header("ping"), more("{}"), *leaked)
    assert sorted(arguments(run(beside, CHAT, Settings(repairs)).out).values()) == ['{"city": "Oslo"}', "{}"]
    calls = [header("ping", "{}"), header("ping", "{}", 5)]
    assert len(arguments(run(sse(*calls, *leaked), CHAT, Settings(repairs)).out)) == 3
    bare = [header("ping", "{}"), header("ping", "{}")]
    for place, call in enumerate(bare):
        entry = call["choices"][0]["delta"]["tool_calls"][0]
        del entry["index"]
        entry["id"] = f"call_{place}"
    named = {"TS115"} | PROMOTED
    assert len(arguments(run(sse(*bare, *leaked), CHAT, Settings(frozenset(named))).out)) == 3


@pytest.mark.parametrize("number", ["1e400", "-0.12345678901234567890", "12345678901234567890123"])
@pytest.mark.parametrize("name", ["hermes", "function", "glm", "xml"])
def test_numbers_stay_as_they_were_written(name: str, number: str) -> None:
    """A value of markup without types is read by the tool's schema."""
    text = MARKUP[name].replace('"Oslo"', number).replace("Oslo", number)
    said: list[Payload | str] = [chunk({"role": "assistant"}), chunk({"content": text}), chunk({}, "stop"), "[DONE]"]
    assert arguments(run(sse(*said), OFFERED, Settings(SAFE | PROMOTED)).out) == {0: f'{{"city": {number}}}'}


@pytest.mark.parametrize("value", ["{1, 2}", "b'x'", "1j", "1e999", "{1: 2}", "..."])
def test_code_whose_values_are_no_json_stays_text(value: str) -> None:
    """A set has no JSON: the message goes on as it came, and nothing of ours fails."""
    text = f"get_weather(city={value})"
    said: list[Payload | str] = [chunk({"role": "assistant"}), chunk({"content": text}), chunk({}, "stop"), "[DONE]"]
    assert run(sse(*said), OFFERED, Settings(SAFE | PROMOTED)).out == sse(*said)
