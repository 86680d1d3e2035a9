"""Names of tools with something around them. Knows what a request offers, and no protocol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json

# Seen around names: `functions.` before them (maki#780), `default_api.`, the module in which Gemini's models see their
# tools, a line feed after them (mlx-lm#995), gpt-oss's channel tokens after them (vllm#32633), think tags
# (vllm-ascend#12398).
_AROUND = re.compile(r"(?:<\|.*|</?think>.*|\s*\Z)", re.DOTALL)
_BEFORE = re.compile(r"\A(?:\s+|</?think>\s*|(?:functions?|default_api)[.:])+")
_COUNTED = re.compile(r":\d+\Z")


def may_grow(name: str, offered: Mapping[str, Json]) -> bool:
    """Whether `name` can be the beginning of an offered tool's name, bare or with what is put before one."""
    whole = [f"{before}{tool}" for tool in offered for before in ("", "functions.")]
    return name not in offered and any(one.startswith(name) and one != name for one in whole)


def plain_name(name: str, offered: Mapping[str, Json]) -> str:
    """The one offered tool that `name` is with something around it, or `name` as it is."""
    if not offered or name in offered:
        return name
    bare = _AROUND.sub("", _BEFORE.sub("", name))
    for candidate in (bare, _COUNTED.sub("", bare)):
        if candidate in offered:
            return candidate
    return name
