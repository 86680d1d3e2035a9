"""Leaked markup in several deltas, and the indexes of the promoted calls."""

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


def test_plain_text_is_not_suspected_of_markup() -> None:
    """A chunk of plain text is not suspected of leaked markup."""
    assert not may_leak(sse({"usage": {"completion_tokens": 1}, **chunk({"content": "Some more of it."})}))


def promoted(*texts: str, key: str = "content") -> bytes:
    """Return the stream of these texts after the repair of leaks."""
    chunks = [chunk({"role": "assistant"}), *(chunk({key: text}) for text in texts)]
    return run(sse(*chunks, chunk({}, "stop"), "[DONE]"), CHAT, Settings(SAFE | PROMOTED)).out


@pytest.mark.parametrize("key", ["content", "reasoning_content"])
@pytest.mark.parametrize("before", [(), ("Let me look. ",)], ids=["alone", "after text"])
@pytest.mark.parametrize("name", MARKUP)
def test_markup_in_any_fragments_is_a_call(name: str, before: tuple[str, ...], key: str) -> None:
    """Leaked markup in two fragments, letters or tokens is a call, except letters of plain words after text."""
    text = MARKUP[name]
    cuts = [[text[:at], text[at:]] for at in range(1, len(text))]
    letters = [] if text.startswith("commentary") and before else [list(text)]
    for fragments in [[text], *cuts, *letters, re.findall(r"\w+|\W", text)]:
        assert arguments(promoted(*before, *fragments, key=key)) == {0: '{"city": "Oslo"}'}, fragments


@pytest.mark.parametrize("repairs", [SAFE | PROMOTED, PROMOTED])
def test_a_leaked_call_gets_an_unused_index(repairs: frozenset[str]) -> None:
    """A leaked call gets an index that no other call has, with any other repairs and indexes."""
    leaked: list[Payload | str] = [chunk({"content": MARKUP["hermes"]}), chunk({}, "tool_calls"), "[DONE]"]
    with_call = sse(header("ping"), more("{}"), *leaked)
    assert sorted(arguments(run(with_call, CHAT, Settings(repairs)).out).values()) == ['{"city": "Oslo"}', "{}"]
    calls = [header("ping", "{}"), header("ping", "{}", 5)]
    assert len(arguments(run(sse(*calls, *leaked), CHAT, Settings(repairs)).out)) == 3
    without_index = [header("ping", "{}"), header("ping", "{}")]
    for place, call in enumerate(without_index):
        entry = call["choices"][0]["delta"]["tool_calls"][0]
        del entry["index"]
        entry["id"] = f"call_{place}"
    named = {"TS115"} | PROMOTED
    assert len(arguments(run(sse(*without_index, *leaked), CHAT, Settings(frozenset(named))).out)) == 3


@pytest.mark.parametrize("number", ["1e400", "-0.12345678901234567890", "12345678901234567890123"])
@pytest.mark.parametrize("name", ["hermes", "function", "glm", "xml"])
def test_numbers_keep_their_text(name: str, number: str) -> None:
    """A number in leaked markup keeps its text; the tool's schema determines its type."""
    text = MARKUP[name].replace('"Oslo"', number).replace("Oslo", number)
    events: list[Payload | str] = [chunk({"role": "assistant"}), chunk({"content": text}), chunk({}, "stop"), "[DONE]"]
    assert arguments(run(sse(*events), OFFERED, Settings(SAFE | PROMOTED)).out) == {0: f'{{"city": {number}}}'}


@pytest.mark.parametrize("value", ["{1, 2}", "b'x'", "1j", "1e999", "{1: 2}", "..."])
def test_code_with_values_that_are_not_json_is_unchanged(value: str) -> None:
    """A leaked call in code with values that have no JSON form is forwarded unchanged."""
    text = f"get_weather(city={value})"
    events: list[Payload | str] = [chunk({"role": "assistant"}), chunk({"content": text}), chunk({}, "stop"), "[DONE]"]
    assert run(sse(*events), OFFERED, Settings(SAFE | PROMOTED)).out == sse(*events)
