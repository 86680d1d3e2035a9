"""What the parameters of a tool show of the arguments of its calls."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from toolstream_core.calls.scanner import WHITE, WS
from toolstream_core.model import Json
from toolstream_core.wire import json_access

LONGEST_HEAD: Final = 256
"""Characters of a text within which its first key, or the beginning of a call, is searched."""
_FIRST_KEY: Final = re.compile(rf'{WS}("?)([^"\\\x00-\x1f{{}}\[\]:,]*)(?:(?P<closed>"){WS}(?P<colon>:)?)?')
_SPACE: Final = re.compile(rf"[{WHITE}]+")
_CALL_KEYS: Final = ("arguments", "parameters")


class Parameters(NamedTuple):
    """The parameters of a tool."""

    names: frozenset[str] = frozenset()
    required: bool = False
    """Whether any of them is required."""
    tool: str = ""
    """The name of the tool."""
    tells_calls: bool = False
    """Whether an object with the keys of a call cannot be arguments of the tool."""

    @classmethod
    def of(cls, schema: Json, tool: str = "") -> Parameters:
        """The parameters that a JSON schema defines."""
        known = json_access.get(schema, "properties")
        names = frozenset(known) if isinstance(known, dict) else frozenset()
        required = bool(json_access.items(json_access.get(schema, "required")))
        return cls(names, required, tool, required and bool(names) and names.isdisjoint({"name", *_CALL_KEYS}))

    def lost_beginning(self, text: str) -> str | None:
        """What a text lacks to be an object whose first key is a parameter: `{` or `{"`.

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
        """Characters before the arguments in a complete call of the tool: `{"name": …, "arguments":`.

        0 if the text is no such call, `None` if it may become one.
        Seen inside arguments: https://github.com/vllm-project/vllm/issues/47977
        """
        squeezed = _SPACE.sub("", text)
        heads = [f'{{"name":{json.dumps(self.tool)},"{key}":' for key in _CALL_KEYS]
        if any(head.startswith(squeezed) for head in heads):
            return None
        head = next((head for head in heads if squeezed.startswith((head + "{", head + '"'))), "")
        return text.index(squeezed[len(head)], _end_of(text, len(head))) if head else 0


def _end_of(text: str, characters: int) -> int:
    """Where so many characters that are not white space end."""
    seen = 0
    for at, character in enumerate(text):
        if seen == characters:
            return at
        seen += character not in WHITE
    return len(text)


UNKNOWN: Final = Parameters()
"""Of a tool of which nothing is known."""
