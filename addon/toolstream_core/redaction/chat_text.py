"""Text of a chat, of which only markup stays: calls that a model wrote as text are to be seen in the filler too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.filler import fill

if TYPE_CHECKING:
    from toolstream_core.redaction.settings import TextMode

_BAR: Final = r"(?:\||｜|‖){1,2}"
_NAME: Final = r"[\w.:-]{1,128}"
_MARKUP: Final = (
    # Elements: those of calls with their names, others bare.
    rf"</?{_BAR}[^<>\n]{{0,128}}>|</?(?:antml:|minimax:)?(?:tool_calls?|function_calls?|function|invoke|parameter|arg_key"
    r"|arg_value|think|thinking|tool_response)(?:[=\s][^<>]{0,200})?>|</?[A-Za-z_][\w.:-]{0,64}\s*/?>"
    # What stands before or behind a mark without one of its own.
    rf"|(?<=<tool_call>)\s*{_NAME}(?=\s*<)|(?<=<arg_key>)[^<]{{1,128}}(?=</arg_key>)"
    rf"|(?<=｜>){_NAME}(?=\s*(?:<｜|```|\{{))|(?<=\|>)\s*(?:functions\.)?{_NAME}(?=\s*<\|)"
    rf"|(?:assistant)?c?o?m?mentary to=(?:functions\.)?{_NAME}(?:\s*(?:<\|constrain\|>)?\s*json)?"
    rf"|\[TOOL_CALLS\]\s*(?:{_NAME})?|\[/?[A-Z]{{3,}}_?[A-Z]{{2,}}\]|```\w*"
)
_JSON: Final = (
    r'|"[^"\\\n]{0,128}"(?=\s*:)|(?<="name":)\s*"[\w.:-]{1,128}"|(?<="name": )"[\w.:-]{1,128}"'
    r"|(?<![^\s{\[,:(=>])(?:true|false|null|None|True|False|NaN)(?![^\s}\],)\"'\\<])"
    r"|(?<=[0-9])[eE](?=[+-]?[0-9])|\\[a-z\"\\/]"
)
_CODE: Final = r"|\b[A-Za-z_][\w.]*(?=\()|\b[A-Za-z_]\w*(?==(?!=))"
_PLAIN: Final = re.compile(_MARKUP.encode())
_WITH_JSON: Final = re.compile((_MARKUP + _JSON).encode())
_WITH_CODE: Final = re.compile((_MARKUP + _JSON + _CODE).encode())
_IS_JSON: Final = re.compile(
    rb"\s*(?:<\|python_tag\|>)?\s*[\[{]|<tool_call>|<[|\xe2\xef]|TOOL_CALLS|mentary to=|<(?:\w+:)?(?:invoke|function)"
)
_IS_CODE: Final = re.compile(rb"\s*(?:<\|python_tag\|>)?\s*(?:print\()?\[?[A-Za-z_][\w.]*\(")


def _filled_between(text: bytes, kept: re.Pattern[bytes], mode: TextMode) -> bytes:
    parts, at = [], 0
    for found in kept.finditer(text):
        parts += [fill(text[at : found.start()], mode), found[0]]
        at = found.end()
    return b"".join([*parts, fill(text[at:], mode)])


def fill_chat(text: bytes, mode: TextMode) -> bytes:
    """Filler for a text, whose markup stays. What is JSON keeps its keys, what is a call in code its names."""
    if _IS_CODE.match(text):
        return _filled_between(text, _WITH_CODE, mode)
    return _filled_between(text, _WITH_JSON if _IS_JSON.search(text) else _PLAIN, mode)
