"""The parameters of tools: which tool a name means, and whether a text has more or less than its arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

from toolstream_core.calls.scanner import WHITE, WS
from toolstream_core.model import Json
from toolstream_core.wire import json_access

# Seen around names: `functions.` before them (maki#780), `default_api.` (the module of tools in Gemini's prompts),
# a line feed after them (mlx-lm#995), gpt-oss's channel tokens after them (vllm#32633), tags (vllm-ascend#12398).
_AROUND = re.compile(r"(?:<\|.*|\[ARGS\].*|</?think>.*|(?:\s|</?\w+>)*\Z)", re.DOTALL)
_BEFORE = re.compile(r"\A(?:\s+|</?\w+>|(?:functions?|default_api)[.:])+")
_COUNTED = re.compile(r":\d+\Z")
LONGEST_HEAD: Final = 256
"""Characters in which the first key, or the beginning of a call, is searched."""
_FIRST_KEY: Final = re.compile(rf'{WS}("?)([^"\\\x00-\x1f{{}}\[\]:,]*)(?:(?P<closed>"){WS}(?P<colon>:)?)?')
_SPACE: Final = re.compile(rf"[{WHITE}]+")
_CALL_KEYS: Final = ("arguments", "parameters")
_BEGUN_TEXT: Final = r'"{\"'
"""The beginning of an object as JSON text."""
_WRAPPERS: Final = ("arguments", "input")
"""Keys that hold the arguments alone: https://github.com/sgl-project/sglang/pull/39344"""


class Parameters(NamedTuple):
    """The parameters of a tool."""

    names: frozenset[str] = frozenset()
    required: bool = False
    """Whether any of them is required."""
    heads: tuple[str, ...] = ()
    """The text before the arguments in a call, without white space, if it cannot be arguments of the tool."""

    @property
    def tells_calls(self) -> bool:
        """Whether an object with the keys of a call cannot be arguments of the tool."""
        return len(self.heads) > len(_WRAPPERS)

    @classmethod
    def of(cls, schema: Json, tool: str = "") -> Parameters:
        """The parameters that a JSON schema defines."""
        known = json_access.get(schema, "properties")
        names = frozenset(known) if isinstance(known, dict) else frozenset()
        required = bool(json_access.items(json_access.get(schema, "required")))
        return cls(names, required, (*_heads(names, tool),) if required and names else ())

    def lost_beginning(self, text: str) -> str | None:
        """The missing beginning of an object whose first key is a parameter: `{` or `{"`.

        `""` if it is no such text, `None` if it may become one.
        """
        first = _FIRST_KEY.match(text)
        if first is None or not first[0].strip(WHITE) or (first.end() < len(text) and not first["colon"]):
            return ""
        quote, key = first.groups()[:2]
        if first["closed"] is None:
            return None if any(name.startswith(key) for name in self.names) else ""
        if key not in self.names:
            return ""
        return None if first["colon"] is None else "{" if quote else '{"'

    def head_of_call(self, text: str) -> int | None:
        """Characters before the arguments in a call, which hold an object, perhaps as text.

        0 if the text is no such call, `None` if it may become one.
        """
        squeezed = _SPACE.sub("", text)
        if any((head + _BEGUN_TEXT).startswith(squeezed) for head in self.heads):
            return None
        head = next((head for head in self.heads if squeezed.startswith((head + "{", head + _BEGUN_TEXT))), "")
        return text.index(squeezed[len(head)], _end_of(text, len(head))) if head else 0


def _heads(names: frozenset[str], tool: str) -> Iterator[str]:
    """Texts before arguments: `{"name": …, "arguments":`, its rest without the name, and wrappers like `{"input":`.

    The first two are of https://github.com/vllm-project/vllm/issues/47977.
    """
    if names.isdisjoint({"name", *_CALL_KEYS}):
        for key in _CALL_KEYS:
            yield from (f'{{"name":{json.dumps(tool)},"{key}":', f',"{key}":', f'"{key}":')
    yield from (f'{{"{key}":' for key in _WRAPPERS if key not in names)


def _end_of(text: str, characters: int) -> int:
    """The end of this number of characters that are not white space."""
    seen = 0
    for at, character in enumerate(text):
        if seen == characters:
            return at
        seen += character not in WHITE
    return len(text)


UNKNOWN: Final = Parameters()
"""The parameters of an unknown tool."""


def plain_name(name: str, offered: Container[str]) -> str:
    """The offered tool that `name` contains between other characters; `name` itself if there is none."""
    if name in offered:
        return name
    bare = _AROUND.sub("", _BEFORE.sub("", name))
    for candidate in (bare, _COUNTED.sub("", bare)):
        if candidate in offered:
            return candidate
    return name
