"""The scanner for calls in text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.stages.inject.markup import MARKUP
from toolstream_core.stages.leaks import Leaked, Scanner

SYNTAXES = {defect.name: write for defect, write in MARKUP.items()}
TOOLS = {
    "get_weather": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    "shell": {"properties": {"line": {"type": "string"}}},
}


def scanned(text: str, size: int, tools: dict[str, object] | None = None) -> list[Leaked]:
    """Return the calls found in a text in fragments of `size` characters."""
    scanner = Scanner(TOOLS if tools is None else tools)
    found = [one for at in range(0, len(text), size) for one in scanner.add(text[at : at + size])]
    return found + scanner.end()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("defect", SYNTAXES)
def test_every_syntax_is_found(defect: str, size: int) -> None:
    """A call is found in every syntax, with values of the types in the tool's schema."""
    [found] = scanned(SYNTAXES[defect]("get_weather", {"city": "Oslo <N>", "days": 3}), size)
    assert (found.defect.name, found.name) == (defect, "get_weather")
    assert json.loads(found.arguments) == {"city": "Oslo <N>", "days": 3}


@pytest.mark.parametrize("defect", sorted(SYNTAXES.keys() - {"leaked-json", "leaked-code", "leaked-xml"}))
def test_calls_of_unknown_tools_are_found_after_text(defect: str) -> None:
    """A call in specific markup is found after text and without known tools."""
    [found] = scanned("Let me see.\n" + SYNTAXES[defect]("get_weather", {"city": "Oslo"}), 5, {})
    assert (found.defect.name, found.name) == (defect, "get_weather")


_ARGUMENTS = '{"city": "Oslo", "days": 3}'
_CALL = f'{{"name": "get_weather", "arguments": {_ARGUMENTS}}}'
_ACTION = f'[{{"tool_name": "get_weather", "parameters": {_ARGUMENTS}}}]'


XTML = """<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>
<|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>
<|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"""


SOLAR = f"<|tool_call:begin|>a1<|tool_call:name|>get_weather<|tool_call:args|>{_ARGUMENTS}<|tool_call:end|>"
STEP = """<steptml:invoke name="get_weather"><steptml:parameter name="city">Oslo</steptml:parameter>
<steptml:parameter name="days">3</steptml:parameter></steptml:invoke>"""
_PYTHON = "{'name': 'get_weather', 'arguments': {'city': 'Oslo', 'days': 3}}"
PAIRS = "<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key><arg_value>3</arg_value>"
HY3 = f"<tool_call>get_weather<tool_sep>\n{PAIRS}</tool_call>".replace(">", ":opensource>")
MUSE = """<atem:function_calls>
<atem:invoke name="get_weather">
<atem:parameter name="city">Oslo</atem:parameter>
<atem:parameter name="days">3</atem:parameter>
</atem:invoke>
</atem:function_calls>"""
MINICPM = """<function name="get_weather"><param name="city"><![CDATA[Oslo]]></param>
<param name="days">3</param></function>"""
DSML_R = """<｜DSML｜r:invoke name="get_weather"><｜DSML｜r:parameter name="city" string="true">Oslo</｜DSML｜parameter>
<｜DSML｜r:parameter name="days" string="false">3</｜DSML｜r:parameter></｜DSML｜r:invoke>"""
M3 = """]<]minimax[>[<tool_call>
]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[\
</days>]<]minimax[>[</invoke>
]<]minimax[>[</tool_call>"""


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("defect", "text"),
    [
        ("leaked-hermes", f"<tool_call>[{_CALL}]"),
        ("leaked-hermes", f"<|tool_call|> [{_CALL}]"),
        ("leaked-hermes", f"<|tool_call|>[{_CALL}]<|/tool_call|>"),
        ("leaked-hermes", f"<TOOLCALL>[{_CALL}]</TOOLCALL>"),
        ("leaked-hermes", f"<tool_calls>[{_CALL}]</tool_calls>"),
        ("leaked-hermes", f"<tool_calls>\n{_CALL}\n</tool_calls>"),
        ("leaked-hermes", f"<longcat_tool_call>\n{_CALL}\n</longcat_tool_call>"),
        ("leaked-hermes", '[TOOL_CALL] {"tool": "get_weather", "args": {"city": "Oslo", "days": 3}} [/TOOL_CALL]'),
        ("leaked-mistral", '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo", "days": 3}'),
        ("leaked-mistral", '[TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Oslo", "days": 3}'),
        ("leaked-mistral", f"[TOOL_CALLS][{_CALL}][/TOOL_CALLS]"),
        ("leaked-function", '<function=get_weather>{"city": "Oslo", "days": 3}</function>'),
        ("leaked-function", "<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n3\n</function>"),
        ("leaked-invoke", '<invoke name="get_weather">{"city": "Oslo", "days": 3}</invoke>'),
        ("leaked-deepseek", '<|DSML|invoke name="get_weather">{"city": "Oslo", "days": 3}</|DSML|invoke>'),
        ("leaked-harmony", '<|channel|>analysis to=get_weather code<|message|>{"city":"Oslo","days":3}<|call|>'),
        ("leaked-kimi", XTML),
        ("leaked-hermes", f"<|START_ACTION|>{_ACTION}<|END_ACTION|>"),
        ("leaked-hermes", f"<|action_start|><|plugin|>\n{_CALL}<|action_end|>"),
        ("leaked-hermes", f"function call<|role_sep|>\n{_CALL}<|message_sep|>"),
        ("leaked-hermes", f"<|function_call|>{_CALL}"),
        ("leaked-hermes", f"<function_call> {_CALL}"),
        ("leaked-hermes", SOLAR),
        ("leaked-invoke", '<invoke name="get_weather"><city>Oslo</city>\n<days>3</days></invoke>'),
        ("leaked-invoke", M3),
        ("leaked-invoke", STEP),
        ("leaked-invoke", MUSE),
        ("leaked-invoke", MUSE.replace("atem:invoke", "xai:function_call")),
        ("leaked-invoke", MINICPM),
        ("leaked-deepseek", DSML_R),
        ("leaked-glm", f"<|tool_call|>\nget_weather{PAIRS}\n<|/tool_call|>"),
        ("leaked-glm", f"<tool_calls>\n<tool_call>get_weather<tool_sep>\n{PAIRS}</tool_call>\n</tool_calls>"),
        ("leaked-glm", HY3),
        ("leaked-glm", f"<tool_call>get_weather<tool_sep>{_ARGUMENTS}<end_of_tool_call>"),
        ("leaked-kimi", f"<|tool_call_begin|> functions.get_weather:0 {_ARGUMENTS} <|tool_call_end|>"),
        ("leaked-hermes", f"<|content_invoke_tool_json|>{_CALL.replace('arguments', 'args')}<|end_message|>"),
        ("leaked-hermes", f'<|tools_prefix|>[{{"get_weather": {_ARGUMENTS}}}]<|tools_suffix|>'),
        ("leaked-hermes", f"<|tool_calls|>[{_PYTHON}]"),
        ("leaked-hermes", f"<tool_call>\n{_PYTHON}\n</tool_call>"),
        ("leaked-code", "<function_calls>\nget_weather(city='Oslo', days=3)\n</function_calls>"),
        ("leaked-gemma", "<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:3}<end_function_call>"),
        ("leaked-xml", "<get_weather>\n<city>Oslo</city>\n<days>3</days>\n</get_weather>"),
    ],
)
def test_variants_of_a_syntax_are_found(defect: str, text: str, size: int) -> None:
    """A call is found in the variants of other models and servers, and without an end tag."""
    [found] = scanned(f"Let me see. {text}", size)
    assert (found.defect.name, found.name) == (defect, "get_weather")
    assert json.loads(found.arguments) == {"city": "Oslo", "days": 3}


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("defect", "text"),
    [
        ("leaked-json", f"<|python_tag|>{_CALL}<|eom_id|>"),
        ("leaked-json", f" functools[{_CALL}]"),
        ("leaked-json", f"[{_PYTHON}]"),
        ("leaked-code", '<|python_start|>[get_weather(city="Oslo", days=3)]<|python_end|>'),
        ("leaked-code", '```tool_code\nprint(default_api.get_weather(city="Oslo", days=3))\n```\n'),
    ],
)
def test_marks_around_a_message_that_is_only_calls(defect: str, text: str, size: int) -> None:
    """Special tokens, and the fence of Gemma's code, are no other text."""
    [found] = scanned(text, size)
    assert (found.defect.name, found.name) == (defect, "get_weather")
    assert json.loads(found.arguments) == {"city": "Oslo", "days": 3}
    assert scanned(f"Like this: {text}", size) == []


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    "text",
    [
        'Write `<tool_call>{"name":"shell","arguments":{}}</tool_call>` like this.',
        '```xml\n<invoke name="shell"><parameter name="line">ls</parameter></invoke>\n```\nThat is all.',
        "List<int> a = b < c && d > e ? f(a) : g;",
        "<p>Hello <b>shell</b></p>",
        '{"name": "Ada", "born": 1815}',
        "[1, 2, 3]",
        "print('hello')",
        "get_weather is the tool that you want.",
        '<tool_call>{"name":"nobody","arguments":{}}</tool_call>',
        "[TOOL_CALLS]nobody{}",
        "<shell>ls",
        "<tool_call>[1, 2]",
        '<xs:schema><xs:element name="get_weather"/></xs:schema> <function name="shell"> <w:t>ls</w:t>',
        "<function_calls> is the wrapper of shell(line) </function_calls>",
        "{'name': 'Ada', 'born': 1815}",
        "<|tool_call|> is Granite's token, [TOOL_CALL] another one, <tool_calls></tool_calls> a third.",
    ],
)
def test_other_text_contains_no_calls(text: str, size: int) -> None:
    """Quoted, unrelated and unfinished markup, and calls of unknown tools, are not found."""
    assert scanned(text, size) == []


@given(st.lists(st.text(max_size=30) | st.sampled_from(["<tool_call>", "</tool_call>", "{", "`", "<invoke name="])))
def test_any_text_is_scanned(parts: list[str]) -> None:
    """Any text raises nothing, and the fragments do not matter."""
    text = "".join(parts)
    assert scanned(text, 1) == scanned(text, 7) == scanned(text, 10_000)


def test_code_with_invalid_escapes_gives_no_warnings(recwarn: pytest.WarningsRecorder) -> None:
    """Python's warning about an invalid escape in leaked code is suppressed."""
    [found] = scanned(r'shell(line="a\mb")', 1000)
    assert json.loads(found.arguments) == {"line": r"a\mb"}
    assert not recwarn.list
