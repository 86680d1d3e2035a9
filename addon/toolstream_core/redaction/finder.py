"""Finds the places of secrets in a text."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final
from urllib.parse import quote, quote_plus

from toolstream_core.redaction import assignments, marked
from toolstream_core.redaction.assignments import is_placeholder, looks_random
from toolstream_core.redaction.names import Sensitivity, field_sensitivity, normal
from toolstream_core.redaction.settings import Redaction
from toolstream_core.redaction.shapes import ANY_SHAPE, MODEL_WORDS, SHAPES, WORDS
from toolstream_core.redaction.strings import Edit, Span, Unescaped, Unquoted, beside_escapes, has_quoted

RUN: Final = 16
"""Every key has this many consecutive characters."""

_RUN_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/="
_TO_RUNS: Final = bytes(120 if byte in _RUN_BYTES else 32 for byte in range(256))
_A_RUN: Final = b"x" * RUN
_RUN_END: Final = re.compile(rb"[A-Za-z0-9_\-+/=]*+")
_SHAPE: Final = re.compile(ANY_SHAPE.encode())


def _any_of(words: Iterable[str]) -> str:
    """An expression for words, grouped by their first character."""
    ordered = sorted(set(words))
    return "|".join(
        f"{re.escape(first)}(?:{'|'.join(re.escape(word[1:]) for word in group)})"
        for first, group in groupby(ordered, lambda word: word[0])
    )


_PREFIX: Final = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_any_of(shape.prefix for shape in SHAPES if shape.prefix)}"
    r"|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)".encode()
)
_BEGUN: Final = re.compile(_PREFIX.pattern + rb"[\w.~:%|+/=-]*+\Z")
"""A key that may be incomplete."""
_RECOGNIZABLE: Final = 8
"""Bytes of a secret, with the mark of its kind, that suffice to recognize it before it is complete."""
_RESTS: Final = (b"7aB3dE5gH2jK9mN4pQ6r" * 2 + b"@", b"7f3a9c1e5b8d2406" * 4)
"""Possible rests of an incomplete value: random letters and digits, also before a host in a URL, or hex digits."""
_NEAR_END: Final = 1024
"""Bytes at the end of a text that are searched for an incomplete value."""
_BEFORE: Final = 32
"""Characters before a run in which its prefix may begin."""
# `cohere_api_key = "…"`, `"discord": "…"`.
_OF_SERVICE: Final = re.compile(
    rb"(?i)(?<![a-z0-9])(?:"
    + WORDS.encode()
    + rb""")(?:(?:(?! --)[ \t\w.-]){0,20})[\s'"`\\]{0,4}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)"""
    rb"""[\x60'"\s=\\]{0,6}([\w.=+/~%:-]{10,256})"""
)
_OF_MODELS: Final = re.compile(
    rb"(?i)(?<![a-z0-9])(?:" + MODEL_WORDS.encode() + rb""")(?:[ \t\w.-]{0,20})[\s'"`\\]{0,4}(?:[=>:,|?]{1,3})"""
    rb"""[\x60'"\s=\\]{0,6}((?=[a-z]*[0-9])[a-z0-9]{24,256})(?![\w.-])"""
)


# How each of these names begins: for a text with none, the expressions need not be tried.
_SERVICE_STEM: Final = re.compile(
    rf"(?<![a-z0-9])(?:{_any_of(re.findall(r'(?:^|[|])([a-z]+)', f'{WORDS}|{MODEL_WORDS}'))})".encode()
)
# Shapes whose marks are in the middle.
_MIDDLE: Final = re.compile(
    rb"(?<![0-9])[0-9]{5,16}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])|[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"
    rb"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}|[0-9]{15,16}(?:\||%7[Cc])[A-Za-z0-9_-]{27,40}"
    rb"|(?<![A-Za-z0-9])[0-9a-f]{32}(?:\.[A-Za-z0-9]{16}|-us[0-9]{1,2}|-[0-9a-f]{8}-[0-9a-f]{8})(?![A-Za-z0-9_.-])"
    rb"|(?<![A-Za-z0-9])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
    rb"|[A-Za-z0-9]{52}(?:[A-Za-z0-9]{24}AZDO[A-Za-z0-9]{4}|JQQJ99[A-Za-z0-9]{26})"
)
_MIDDLE_MARKS: Final = (b":A", b"Q~", b".", b"-", b"AZDO", b"JQQJ99", b"|", b"%7")
_REMEMBERED: Final = 4096
_LONGEST_REMEMBERED: Final = 256
_HARMLESS: Final[set[bytes]] = set()
"""Values that do not have the shape of a secret: names and ids are repeated in every event and every flow."""
_AWS_SECRET: Final = re.compile(rb"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_NEAR: Final = 400
_BASE64_SIGN: Final = re.compile(rb"[/+]")
_NO_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/=]")
_CONTEXT: Final = 256
"""Characters before a key that show whether it is a part of base64."""
_DEEPEST: Final = 4

_SHORT: Final = 1024
_SIGNS: Final = (*assignments.SIGNS, *marked.SIGNS)
_SIGN: Final = re.compile(_any_of(sign.decode("latin-1") for sign in _SIGNS).encode("latin-1"))


class SecretFinder:
    """Finds secrets in texts of any kind."""

    def __init__(self, redaction: Redaction, known: Sequence[str] = (), *, guesses: bool = True) -> None:
        """`known` are values that are secret at any place; without `guesses`, only these and patterns are found."""
        self._known = _forms(tuple(known))
        self._patterns = [re.compile(pattern.encode()) for pattern in redaction.patterns]
        self._names = redaction.normal_names
        self._guesses = guesses
        self.sure: SecretFinder | None = None
        """Finds known secrets and patterns alone; `None` if there are none."""
        if guesses and (self._known or self._patterns):
            self.sure = SecretFinder(redaction, known, guesses=False)

    def sensitivity(self, name: str) -> Sensitivity:
        """The sensitivity of a JSON field or a variable, including the names of the user."""
        return Sensitivity.STRONG if normal(name) in self._names else field_sensitivity(name)

    def edits(self, text: bytes, depth: int = 0) -> Iterator[Edit]:
        """Edits that overwrite all secrets in a text, also escaped ones (JSON in JSON) and percent-encoded ones."""
        escaped = b"\\" in text
        for span in self.find(text):
            for start, end in beside_escapes(text, *span) if escaped else [span]:
                yield Edit(start, filled(text[start:end]))
        if depth < _DEEPEST:
            layers: list[Unescaped | Unquoted] = [Unescaped(text)] if escaped else []
            if has_quoted(text):
                layers.append(Unquoted(text))
            for plain in layers:
                for edit in self.edits(plain.text, depth + 1):
                    yield from plain.on_raw(edit)

    def find(self, text: bytes) -> Iterator[Span]:
        """The secrets that a text contains without any encoding."""
        yield from self.find_by_themselves(text)
        if not self._guesses or text.isalnum() or (len(text) <= _SHORT and not self._names and not _may_name(text)):
            return  # the name of a secret is separate from it: each expression for that needs a sign or a space
        yield from assignments.assignments(text, self.sensitivity if self._names else field_sensitivity)
        yield from self._named_by_user(text)
        yield from marked.marked(text, self.sensitivity)

    def find_by_themselves(self, text: bytes) -> Iterator[Span]:
        """The secrets that need no word before them: known ones, patterns, shapes of keys."""
        if self._guesses:
            yield from self._runs(text)
        for form in self._known:
            if form in text:
                yield from ((position, position + len(form)) for position in _all(text, form))
        for pattern in self._patterns:
            yield from (match.span() for match in pattern.finditer(text) if match[0])

    def begun(self, text: bytes) -> int | None:
        """The start of the first secret that may be incomplete at the end of a text.

        The mark of a key, the first bytes of a known secret, or a value that would be found if it were longer. One that
        is found already does not count: its arrived part is overwritten.
        """
        starts = [
            len(text) - len(rest)
            for form in self._known
            for position in _all(text[1 - len(form) :], form[:_RECOGNIZABLE])
            if form.startswith(rest := text[1 - len(form) :][position:])
        ]
        if self._guesses:
            starts += [found.start() for found in [_BEGUN.search(text)] if found and len(found[0]) >= _RECOGNIZABLE]
            near = text[-_NEAR_END:]
            for rest in _RESTS:
                spans = self.find(near + rest)
                starts += [len(text) - len(near) + start for start, end in spans if start < len(near) < end]
        if starts:
            complete = min((start for start, end in self.find(text) if end == len(text)), default=len(text))
            starts = [position for position in starts if position < complete]
        return min(starts, default=None)

    def _runs(self, text: bytes) -> Iterator[Span]:
        """Secrets by shape: only in runs of enough consecutive characters of keys."""
        classes = text.translate(_TO_RUNS)
        position = classes.find(_A_RUN)
        while position >= 0:
            end = _RUN_END.match(text, position).end()  # type: ignore[union-attr]
            start = max(0, position - _BEFORE)
            around = text[start : end + _BEFORE]
            if around not in _HARMLESS:
                found = [*_shapes(text, start, end)]
                if end - position <= _LONGEST_REMEMBERED + _BEFORE:
                    found += _of_services(text, start, end)
                yield from found
                if not found and len(around) <= _LONGEST_REMEMBERED and end + _BEFORE < len(text):
                    _remember(around)
            position = classes.find(_A_RUN, end)

    def _named_by_user(self, text: bytes) -> Iterator[Span]:
        if not self._names:
            return
        for name in self._names:
            pattern = rb"(?<![a-z0-9])" + name.replace("_", "[_-]?").encode()
            pattern += rb"""\\*["']?\s*[=:]\s*\\*(?:["']([^"'\\\r\n]+)|([^\s"'&;,\\]+))"""
            for found in re.finditer(pattern, text, re.IGNORECASE):
                group = 1 if found[1] else 2
                if not is_placeholder(found[group]):
                    yield found.span(group)


def _may_name(text: bytes) -> bool:
    """Whether something in a text may mark something else as a secret; quick, because it is called for many lines."""
    return _SIGN.search(text.lower()) is not None or text.count(b" ") >= marked.SPACES


def _remember(text: bytes) -> None:
    if len(_HARMLESS) >= _REMEMBERED:
        _HARMLESS.clear()
    _HARMLESS.add(text)


def _shapes(text: bytes, start: int, end: int) -> Iterator[Span]:
    position = start
    while prefix := _PREFIX.search(text, position, end):
        if found := _SHAPE.match(text, prefix.start()):
            if b"*" not in found[0] and b"EXAMPLE" not in found[0] and not _is_within_base64(text, found):
                yield found.span()
                if found[0][:4] in {b"AKIA", b"ASIA"}:
                    yield from _aws_secrets(text, found.start())
            position = found.end()
        else:
            position = prefix.start() + 1


def _is_within_base64(text: bytes, found: re.Match[bytes]) -> bool:
    """Whether a match is a part of data in base64, such as an image or a model's signature, or of a name."""
    position = found.start()
    if text[position - 1 : position] in {b"/", b"+"} and not _NO_BASE64.search(found[0]):
        before = text[max(0, position - _CONTEXT) : position - 1]
        return any(map(looks_random, _BASE64_SIGN.split(before[len(before.rstrip(_RUN_BYTES)) :])))
    return found[0].startswith(b"s.") and not looks_random(found[0][2:])


def _of_services(text: bytes, start: int, end: int) -> Iterator[Span]:
    begin = max(0, start - _BEFORE)
    around = text[begin : end + _BEFORE]
    if _SERVICE_STEM.search(around.lower()):
        for names in (_OF_SERVICE, _OF_MODELS):
            for found in names.finditer(text, begin, end + _BEFORE):
                if found.end() >= start and looks_random(found[1]) and not is_placeholder(found[1]):
                    yield found.span(1)
    if any(mark in around for mark in _MIDDLE_MARKS):
        yield from (found.span() for found in _MIDDLE.finditer(text, begin, end + _BEFORE))


def _aws_secrets(text: bytes, position: int) -> Iterator[Span]:
    """The secret key next to its id, which has no shape except its length."""
    for found in _AWS_SECRET.finditer(text, max(0, position - _NEAR), position + _NEAR):
        if re.search(rb"[0-9/+]", found[0]) and re.search(rb"[A-Z]", found[0]) and re.search(rb"[a-z]", found[0]):
            yield found.span()


def _all(text: bytes, part: bytes) -> Iterator[int]:
    position = text.find(part)
    while position >= 0:
        yield position
        position = text.find(part, position + 1)


def filled(secret: bytes) -> bytes:
    """As many `*`; a number stays a number."""
    return (b"1" if secret.isdigit() else b"*") * len(secret)


_LONG_FORM: Final = 9
"""The minimum length of a value, in bytes, whose base64 is searched."""


@lru_cache(maxsize=64)
def _forms(values: tuple[str, ...]) -> tuple[bytes, ...]:
    """Each value as it may be written: plain, in a URL, in JSON, in base64 at any place of a longer text, in hex."""
    found: dict[bytes, None] = {}
    for value in values:
        plain = value.encode("utf-8", "surrogateescape")
        texts = {value, quote(plain, safe=""), quote(plain), quote_plus(plain), json.dumps(value)[1:-1]}
        coded = {text.encode("utf-8", "surrogateescape") for text in texts}
        coded |= {re.sub(rb"%[0-9A-F]{2}", lambda found: found[0].lower(), text) for text in coded}
        coded |= {plain.hex().encode(), plain.hex().upper().encode()}
        if len(plain) >= _LONG_FORM:
            coded |= set(_base64_forms(plain))
        found.update(dict.fromkeys(sorted(coded, key=lambda form: (-len(form), form))))
    return tuple(found)


def _base64_forms(plain: bytes) -> Iterator[bytes]:
    """The characters that this value alone decides, for each of the three places where it may begin."""
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + plain)
        own = text[(0, 2, 3)[shift] : (len(plain) + shift) * 8 // 6]
        yield own
        yield own.translate(bytes.maketrans(b"+/", b"-_"))
