"""Signatures and encrypted reasoning in LLM bodies: random base64 that the next request needs, and no secret.

A field is exempt by its key and its place in the protocol, never inside arguments and results of tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from toolstream_core.redaction.channels import JsonLayout
from toolstream_core.redaction.finder import SecretFinder
from toolstream_core.redaction.strings import INSIDE, Edit, Leaf, Span


def _places(*places: str) -> frozenset[tuple[bytes, bytes]]:
    return frozenset((parent.encode(), kind.encode()) for parent, _, kind in (place.partition(":") for place in places))


_TOOLS: Final = ("code_execution", "file_search", "google_maps", "google_search", "mcp_server_tool", "url_context")
"""The provider's own tools in Interactions whose calls and results have signatures."""
# The objects that have each field: the key of the object (or of the array that it is in), and the object's `type`.
PLACES: Final = {
    b"signature": _places(
        *("content:thinking", "content_block:thinking", "thinking_blocks:thinking", "delta:signature_delta"),
        *("reasoningContent", "reasoningText", "reasoning_details:reasoning.text"),
        # Interactions: steps, and the objects that contain them
        *("step", "steps", "input:thought", "input:function_call", "delta:thought_signature"),
        *(f"{parent}:{tool}_{part}" for parent in ("delta", "input") for tool in _TOOLS for part in ("call", "result")),
    ),
    b"data": _places(
        *("content:redacted_thinking", "content_block:redacted_thinking", "thinking_blocks:redacted_thinking"),
        "reasoning_details:reasoning.encrypted",
    ),
    b"encrypted_content": _places(
        *(f"{parent}:{kind}" for parent in ("input", "output", "item", "data") for kind in ("reasoning", "compaction")),
        *("content:compaction", "content_block:compaction", "delta:compaction_delta", "content:web_search_result"),
    ),
    b"encrypted_index": _places("citations:web_search_result_location", "citation:web_search_result_location"),
    b"thoughtSignature": _places("parts"),
    b"thought_signature": _places("parts", "google", "provider_specific_fields"),
    b"redactedContent": _places("reasoningContent"),
    b"reasoning_opaque": _places("delta", "message", "messages"),
}
_SHORTEST: Final = 64
"""Bytes of a complete signature; in `_STREAMED`, fragments of any length are exempt."""
_STREAMED: Final = frozenset({b"delta", b"candidates", b"modelTurn"})
_TOOL_TREES: Final = frozenset(b"args arguments functionResponse function_response toolResult tool_input".split())
_TOOL_RESULTS: Final = frozenset(b"tool_result function_result function_call_output custom_tool_call_output".split())
_DEEPEST: Final = 200
_LONGEST_TYPE: Final = 64
_BASE64: Final = re.compile(rb"(?:[A-Za-z0-9+/_=-]++|\\/|\\u00(?:2[bBfF]|3[dD]))++")
_KEYS: Final = b"|".join((b"type", *PLACES))
# A bracket, with its key if it has one, or a field with a meaning here; other strings are skipped in C.
_TOKEN: Final = re.compile(
    rb'(?:[^"{}\[\]]++|"(?!(?:' + _KEYS + rb')")' + INSIDE + rb'"(?!\s*+:\s*+[{\[]))*+'
    rb'(?:"(?P<key>' + INSIDE + rb')(?:"(?:\s*+:\s*+(?:(?P<opens>[{\[])|"(?P<value>' + INSIDE + rb')"?+))?+)?+'
    rb"|(?P<bracket>[{}\[\]]))"
)


class _Frame:
    """An object or an array, and its container."""

    __slots__ = ("depth", "in_stream", "in_tool", "is_array", "key", "kind", "outer")

    def __init__(self, key: bytes, bracket: bytes, outer: _Frame | None) -> None:
        self.outer: _Frame | None = outer
        self.is_array = bracket == b"["
        self.key: bytes = outer.key if outer is not None and outer.is_array else key
        self.kind = b""
        self.depth: int = 0 if outer is None else outer.depth + 1
        is_tool = key in _TOOL_TREES or (key == b"input" and not self.is_array)
        self.in_tool: bool = is_tool or (outer is not None and outer.in_tool)
        self.in_stream: bool = key in _STREAMED or (outer is not None and outer.in_stream)

    def has_signature(self, leaf: Leaf) -> bool:
        """Whether a protocol has a signature of this key and length here."""
        if self.in_tool or any(frame.kind in _TOOL_RESULTS for frame in self._around()):
            return False
        is_place = not PLACES[leaf.key].isdisjoint({(self.key, self.kind), (self.key, b"")})
        return is_place and (self.in_stream or leaf.end - leaf.start >= _SHORTEST)

    def _around(self) -> Iterator[_Frame]:
        frame: _Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.outer


class Signatures:
    """The signatures of one body, from one window to the next."""

    def __init__(self, finder: SecretFinder) -> None:
        self._finder = finder
        self._frame: _Frame | None = None
        """The object in which the window begins."""
        self._is_open = False
        """Whether the window begins inside a signature."""

    def among(self, text: bytes, found: Sequence[Leaf], flushed: int, layout: JsonLayout) -> list[Leaf]:
        """Those of a window's `found` that are signatures; its first `flushed` bytes will not be passed again.

        `layout` is the body's.
        """
        candidates = {leaf.start: leaf for leaf in found if leaf.key in PLACES and self._may_be(text, leaf)}
        if flushed == len(text) and not candidates:
            return []
        by_lines = layout is JsonLayout.LINES
        goes_on = flushed < len(text) and not (by_lines and text[flushed - 1 : flushed] == b"\n")
        signatures = [candidates[0]] if self._is_open and 0 in candidates else []
        frame, self._frame = self._frame, None
        places = [*candidates, flushed] if goes_on else candidates
        for begin, end in _lines(text, places) if by_lines else [(0, len(text))]:
            reader = _Reader(candidates, None if begin else frame)
            position = _after_string(found, 0) if begin == 0 else begin
            if goes_on and begin <= flushed < end:
                reader.read(text, position, flushed)
                self._frame, position = reader.frame, _after_string(found, flushed)
            reader.read(text, position, end)
            signatures += [leaf for leaf, place in reader.placed if place.has_signature(leaf)]
        self._is_open = goes_on and any(leaf.start < flushed < leaf.end for leaf in signatures)
        return signatures

    def _may_be(self, text: bytes, leaf: Leaf) -> bool:
        named = self._finder.sensitivity(leaf.key.decode("latin-1"))
        return not named and _BASE64.fullmatch(text, leaf.start, leaf.end) is not None


def _lines(text: bytes, places: Iterable[int]) -> Iterator[Span]:
    """The lines that contain one of the places."""
    for begin in sorted({text.rfind(b"\n", 0, place) + 1 for place in places}):
        end = text.find(b"\n", begin)
        yield begin, end if end >= 0 else len(text)


def _after_string(found: Sequence[Leaf], position: int) -> int:
    """`position`, or the end of the string that contains it."""
    return next((leaf.end + 1 for leaf in found if leaf.start <= position <= leaf.end), position)


class _Reader:
    """Reads one document, as far as it is in the window."""

    def __init__(self, candidates: Mapping[int, Leaf], frame: _Frame | None) -> None:
        self._candidates = candidates
        self.frame = frame
        self.placed: list[tuple[Leaf, _Frame]] = []
        """Candidates and their objects, whose `type` may follow later."""

    def read(self, text: bytes, position: int, end: int) -> None:
        while token := _TOKEN.match(text, position, end):
            position = token.end()
            bracket = token["opens"] or token["bracket"]
            if bracket in {b"{", b"["}:
                self.frame = _Frame(token["key"] or b"", bracket, self.frame)
                if self.frame.depth > _DEEPEST:
                    self.frame = None
                    return
            elif self.frame is None:
                continue
            elif bracket:
                self.frame = self.frame.outer
            elif token["key"] == b"type" and token["value"]:
                self.frame.kind = token["value"][:_LONGEST_TYPE]
            elif leaf := self._candidates.get(token.start("value")):
                self.placed.append((leaf, self.frame))


def without(signatures: Iterable[Leaf]) -> list[Edit]:
    """Edits that overwrite signatures with `*`, so that a search does not find them."""
    return [Edit(leaf.start, b"*" * (leaf.end - leaf.start)) for leaf in signatures]
