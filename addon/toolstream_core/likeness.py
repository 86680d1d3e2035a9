"""Reads a frame that differs from an earlier one only inside strings, without parsing it again. Knows JSON only."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.model import Fragment, Phase, Said

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.wire.frame import Frame

# Nearly all frames of a long call are the same bytes but for the fragment, and a padding string that OpenAI adds
# against traffic analysis ("obfuscation"). If a frame's bytes are literally those of a frame that was parsed,
# except that one JSON string token stands where another stood, its meaning is that frame's with the one string
# changed: that follows from JSON's grammar, not from any habit of a provider. Whatever does not match to the byte
# is parsed as ever. What counts as "the" string is found in the parsed frame, by looking for the one token whose
# value is the fragment; where two tokens have that value nothing is learned.

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PADDING = re.compile(rb'"obfuscation"\s*:\s*(?=")')
_PLAIN_STRING = re.compile(rb'"[ !#-\[\]-~]*+"')
MAX_LITERAL = 4096
"""Bytes of a frame around its fragment above which nothing is learned from it."""


class _Like(NamedTuple):
    before: bytes
    between: bytes
    """From the end of the fragment to the padding, or to the end of the frame where there is none."""
    after: bytes | None
    """From the end of the padding; `None` where there is none."""
    fragment: Fragment
    said: Said


class Likeness:
    """A dialect's reader that remembers the last frame which brought bare arguments."""

    __slots__ = ("_like", "_read")

    def __init__(self, read: Callable[[Frame], Said]) -> None:
        """`read` is the dialect's own reader."""
        self._read = read
        self._like: _Like | None = None

    def read(self, frame: Frame) -> Said:
        """What `frame` says: exactly what the dialect's reader would say."""
        like = self._like
        if like is not None:
            text = _string_where_expected(frame.raw, like)
            if text is not None:
                choice, index, id_, item, name, _, type_, phase, kind, as_wanted = like.fragment
                fragment = Fragment(choice, index, id_, item, name, text, type_, phase, kind, as_wanted)
                return Said((fragment,), (), "", like.said.model)
        said = self._read(frame)
        if frame.data is not None and not frame.trailing:
            self._learn(frame, said)
        return said

    def _learn(self, frame: Frame, said: Said) -> None:
        if len(said.fragments) != 1 or said.finishes or said.text or said.error or said.end:
            return
        fragment = said.fragments[0]
        if fragment.phase is not Phase.MORE or not isinstance(fragment.arguments, str) or not fragment.as_wanted:
            return
        raw = frame.raw
        if len(raw) - len(fragment.arguments) > MAX_LITERAL:
            return
        places = [found for found in _STRING.finditer(raw) if _value(found.group()) == fragment.arguments]
        if len(places) == 1:
            self._like = _likeness(raw, places[0].span(), fragment, said)


def _likeness(raw: bytes, span: tuple[int, int], fragment: Fragment, said: Said) -> _Like:
    padding = _PADDING.search(raw, span[1])
    token = _STRING.match(raw, padding.end()) if padding else None
    if padding is None or token is None:
        return _Like(raw[: span[0]], raw[span[1] :], None, fragment, said)
    return _Like(raw[: span[0]], raw[span[1] : padding.end()], raw[token.end() :], fragment, said)


def _string_where_expected(raw: bytes, like: _Like) -> str | None:
    """The string that stands where the fragment stood, if all around it is the same."""
    if not raw.startswith(like.before):
        return None
    token = _STRING.match(raw, len(like.before))
    if token is None:
        return None
    end = token.end()
    if like.after is None:
        return _value(raw[len(like.before) : end]) if raw[end:] == like.between else None
    if not raw.startswith(like.between, end):
        return None
    padding = _PLAIN_STRING.match(raw, end + len(like.between))
    if padding is None or raw[padding.end() :] != like.after:
        return None
    return _value(raw[len(like.before) : end])


def _value(token: bytes) -> str | None:
    """The value of a JSON string token, or `None` where it is no valid one."""
    try:
        value, end = scanstring(token.decode("utf-8", "replace"), 1)
    except ValueError:
        return None
    return value if end else None
