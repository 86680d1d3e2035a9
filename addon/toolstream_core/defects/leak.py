"""Defects of calls that are written as text."""

from typing import Final

from toolstream_core.defects.defect import (
    ALL_PROTOCOLS,
    NOTE,
    TEXT_KEYS,
    UNSAFE,
    WARNING,
    Defect,
)

_MUST = "runs no call from text, and may report a lost call"


def _row(code: str, name: str, meaning: str) -> Defect:
    return Defect(code, name, "leak", WARNING, UNSAFE, ALL_PROTOCOLS, meaning, _MUST, keys=TEXT_KEYS)


LEAKED_HERMES: Final = _row("TS401", "leaked-hermes", "a call is sent as text: JSON in <tool_call> or a tag like it")
LEAKED_DEEPSEEK: Final = _row("TS402", "leaked-deepseek", "a call is sent as text in DeepSeek's special tokens or DSML")
LEAKED_INVOKE: Final = _row("TS403", "leaked-invoke", 'a call is sent as text: <invoke name="…">')
LEAKED_KIMI: Final = _row("TS404", "leaked-kimi", "a call is sent as text in Kimi's special tokens")
LEAKED_FUNCTION: Final = _row("TS405", "leaked-function", "a call is sent as text: <function=…><parameter=…>")
LEAKED_HARMONY: Final = _row("TS406", "leaked-harmony", "a call is sent as text in gpt-oss's harmony channels")
LEAKED_JSON: Final = _row("TS407", "leaked-json", "a call is sent as text: the entire content is its JSON")
LEAKED_CODE: Final = _row("TS408", "leaked-code", "a call is sent as text: Python code that calls the tool")
LEAKED_GLM: Final = _row("TS409", "leaked-glm", "a call is sent as text: <arg_key>…</arg_key><arg_value>…")
LEAKED_XML: Final = _row("TS410", "leaked-xml", "a call is sent as text: an element with the tool's name")
LEAKED_MISTRAL: Final = _row("TS411", "leaked-mistral", "a call is sent as text: [TOOL_CALLS]…")
LEAKED_GEMMA: Final = _row("TS413", "leaked-gemma", "a call is sent as text: call:name{…}")
LEAKED_TWICE: Final = Defect(
    "TS412", "leaked-twice", "leak", NOTE, None, ALL_PROTOCOLS,
    "a call is sent both as text and as a tool call",
    "runs the tool call once, and ignores the text",
    also=("leaked-hermes",),
    keys=TEXT_KEYS,
)  # fmt: skip
