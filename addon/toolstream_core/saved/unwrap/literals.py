"""Objects as programs print them: Python and JavaScript literals, reprs of SDK objects, Rust's `Debug`.

Reads the common notations: `Name(key=value)`, `Name {key: value}`, `{'key': value}`, `{:key=>value}`,
`array('key' => value)`, lists and strings. Class names and fields that are `None` are left out.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from toolstream_core.model import Json

_GAP: Final = re.compile(r"\s*")
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*")
_NUMBER: Final = re.compile(r"-?(?:\d[\d_]*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_STRING: Final = re.compile(r"""(?:[bBuU]?"(?:[^"\\]|\\.)*"|[bBuU]?'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)""", re.DOTALL)
_ENUM: Final = re.compile(r"<[\w.]+:\s*")
_SYMBOL: Final = re.compile(r":([A-Za-z_]\w*[?!]?)")
_ESCAPE: Final = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|u\{(?P<b>[0-9a-fA-F]{1,6})\}|U(?P<U>[0-9a-fA-F]{8})"
    r"|(?P<o>[0-7]{1,3})|(?P<c>[\s\S]))"
)
_HIGH: Final = re.compile(r"\\(?:x[89a-fA-F]|[23][0-7]{2})")
"""The escape of a byte that is not ASCII."""
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b", "\n": ""}
_MOST: Final = 0x10FFFF
_WORDS: Final[dict[str, Json]] = {
    "None": None, "null": None, "Null": None, "NULL": None, "undefined": None, "nil": None, "undef": None,
    "True": True, "true": True, "False": False, "false": False,
}  # fmt: skip
_PHP: Final = "array"
_MAX_DEPTH: Final = 64
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}


class ElidedError(ValueError):
    """The text omits parts: `[Object]`, which Node prints for nested values."""


def literal(text: str, position: int) -> tuple[Json, int]:
    """The value printed at `position`, and where it ends. Raises `ValueError`."""
    reader = _Reader(text, position)
    return reader.value(), reader.position


def printed_fields(text: str) -> dict[str, Json]:
    """The fields of an object that was printed without its name: `key=value key=value`. Raises `ValueError`."""
    reader = _Reader(text, 0)
    fields: dict[str, Json] = {}
    while reader.position < len(text.rstrip()):
        name = _NAME.match(text, reader.position)
        if name is None or not text.startswith("=", name.end()):
            raise ValueError("no field")
        reader.position = name.end() + 1
        value = reader.value()
        if value is not None:
            fields[name[0]] = value
        while text.startswith(" ", reader.position):
            reader.position += 1
    return fields


def string(token: str) -> str:
    """The value of a string literal; bytes are read as UTF-8. Raises `ValueError`."""
    if token.startswith("`"):
        return token[1:-1]
    begin = min(position for position in (token.find('"'), token.find("'")) if position >= 0)
    value = _ESCAPE.sub(_unescaped, token[begin + 1 : -1])
    is_bytes = "b" in token[:begin].lower()
    if is_bytes or _HIGH.search(token):
        with contextlib.suppress(UnicodeError):
            return value.encode("latin-1").decode("utf-8", "surrogateescape" if is_bytes else "strict")
    return _paired(value)


def _unescaped(found: re.Match[str]) -> str:
    """The character of an escape; an unknown one stays unchanged."""
    if found["c"] is not None:
        return _ESCAPED.get(found["c"], found["c"])
    digits = found["x"] or found["u"] or found["b"] or found["U"]
    number = int(digits, 16) if digits else int(found["o"], 8)
    return chr(number) if number <= _MOST else found[0]


def verbatim(token: str) -> str:
    """The text of a literal without escapes, in which a quote is doubled: YAML, SQL, C#'s `@"…"`."""
    quote = token[-1]
    return token[token.index(quote) + 1 : -1].replace(quote * 2, quote)


def _paired(value: str) -> str:
    """JavaScript and JSON escape characters above U+FFFF as two surrogates."""
    try:
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return value


class _Reader:
    """One value in a text, read from left to right."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self._depth = 0

    def value(self) -> Json:
        self._take(_GAP)
        first = self.text[self.position : self.position + 1]
        if found := self._take(_STRING):
            return self._strings(found)
        if first == "%":  # a map of Elixir: `%{…}`, `%Name{…}`
            self.position += 1
            return self.value()
        if found := self._take(_SYMBOL):
            return found[1]
        if first in _CLOSING:
            return self._nested(first)
        if self._take(_ENUM):
            value = self.value()
            self._expect(">")
            return value
        if found := self._take(_NUMBER):
            token = found[0].replace("_", "")
            return int(token) if token.lstrip("-").isdigit() else float(token)
        return self._named()

    def _take(self, form: re.Pattern[str]) -> re.Match[str] | None:
        """The text at the position in this form; moves past it."""
        found = form.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return found

    def _strings(self, found: re.Match[str] | None) -> str:
        """A string, with adjacent ones, which Python would join."""
        joined = ""
        while found:
            joined += string(found[0])
            self._take(_GAP)
            found = self._take(_STRING)
        return joined

    def _nested(self, opening: str) -> Json:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
        self.position += 1
        closing = _CLOSING[opening]
        value: Json = self._pairs(closing) if opening == "{" else [self.value() for _ in self._until(closing)]
        self._depth -= 1
        if opening == "(" and isinstance(value, list) and len(value) == 1:
            return value[0]
        return value

    def _named(self) -> Json:
        found = self._take(_NAME)
        if not found:
            raise ValueError("no value")
        word = found[0]
        if word in _WORDS:
            return _WORDS[word]
        self._take(_GAP)
        first = self.text[self.position : self.position + 1]
        if first == "(":
            return self._called(word)
        if first in {"{", "["}:
            return self._nested(first)
        if word in {"Object", "Array"}:
            raise ElidedError("a part is left out")
        if word[0].islower():
            raise ValueError("a string without quotes")
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word.rpartition(":")[2]).lower()

    def _called(self, word: str) -> Json:
        """`Name(key=value, …)` is an object without fields that are `None` or blank; `Some(value)` is the value.

        `array(key => value, …)` is an object, or a list if its keys are numbers.
        """
        self.position += 1
        fields: dict[str, Json] = {}
        items: list[Json] = []
        for _ in self._until(")"):
            name = _NAME.match(self.text, self.position)
            if name and self.text.startswith("=", name.end()):
                self.position = name.end() + 1
                value = None if self.text.startswith((",", ")"), self.position) else self.value()
                if value is not None:
                    fields[name[0]] = value
                continue
            item = self.value()
            self._take(_GAP)
            if self.text.startswith("=>", self.position):
                self.position += 2
                key, item = item, self.value()
                if isinstance(key, str):
                    fields[key] = item
                    continue
            items.append(item)
        if fields:
            return fields
        if word == _PHP:
            return items
        return items[0] if len(items) == 1 else items or {}

    def _pairs(self, closing: str) -> dict[str, Json]:
        fields: dict[str, Json] = {}
        for _ in self._until(closing):
            found = self._take(_STRING) or self._take(_NAME) or self._take(_NUMBER) or self._take(_SYMBOL)
            if not found:
                raise ValueError("no key")
            self._expect(":", "=>")
            fields[string(found[0]) if found[0][-1] in "\"'" else found[0].removeprefix(":")] = self.value()
        return fields

    def _until(self, closing: str) -> Iterator[None]:
        """Yield at each item up to the closing bracket, then move past the bracket."""
        self._take(_GAP)
        while not self.text.startswith(closing, self.position):
            yield
            self._take(_GAP)
            if self.text.startswith(",", self.position):
                self.position += 1
                self._take(_GAP)
            elif not self.text.startswith(closing, self.position):
                raise ValueError("no comma")
        self.position += 1

    def _expect(self, *marks: str) -> None:
        self._take(_GAP)
        for mark in marks:
            if self.text.startswith(mark, self.position):
                self.position += len(mark)
                return
        raise ValueError(f"no {marks[0]}")


_JSON_TOKENS: Final = re.compile(r'"(?:[^"\\]+|\\.)*+(?P<closed>")?|[\[\](){}]')
_TOKENS: Final = re.compile(r"""(?:"(?:[^"\\]+|\\.)*+(?P<closed>")?|'(?:[^'\\]+|\\.)*+(?P<closed1>')?)|[\[\](){}]""")
_REST: Final = {
    '"': re.compile(r'(?:[^"\\]+|\\.)*+(?P<closed>")?'),
    "'": re.compile(r"(?:[^'\\]+|\\.)*+(?P<closed>')?"),
}
_BEGIN: Final = re.compile(r"(?:data:\s*)?[{\[]\s*(.?)")
_MAX: Final = 16 * 1024 * 1024
_OPENING: Final = "[({"
_JSON_BEGINS: Final = frozenset('"[{}]')


class OpenValue:
    """Counts brackets line by line, each character once."""

    def __init__(self, notation: str, text: str) -> None:
        self.notation = notation
        self.lines: list[str] = []
        self._size = 0
        self._depth = 0
        self._quote = ""
        self._tokens: re.Pattern[str] | None = None
        """The tokens to search: in JSON only double quotes, otherwise single ones too; unknown after a bare `{`."""
        begin = _BEGIN.match(text)
        if begin is None or begin[1]:
            self._choose(begin[1] if begin else "")
        self._count(text)

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def is_json(self) -> bool:
        """Whether it begins like JSON, as far as it is known."""
        return self._tokens is not _TOKENS

    @property
    def awaits_value(self) -> bool:
        """Whether a separate value has to follow."""
        return self.is_json and not self._quote and self.lines[-1].rstrip()[-1:] in {"[", ",", ":"}

    @property
    def open(self) -> bool:
        return self._depth > 0

    def add(self, line: str) -> str | None:
        """All lines so far, once the value is complete or cannot become so."""
        if self._tokens is None and line.strip():
            self._choose(line.lstrip()[0])
        self._count(line)
        return None if self.open and self._size < _MAX else self.text

    def _choose(self, first: str) -> None:
        self._tokens = _JSON_TOKENS if first in _JSON_BEGINS else _TOKENS

    def _count(self, line: str) -> None:
        self.lines.append(line)
        self._size += len(line)
        position = 0
        if self._quote and (rest := _REST[self._quote].match(line)):
            if rest["closed"] is None:
                return
            position, self._quote = rest.end(), ""
        for token in (self._tokens or _JSON_TOKENS).finditer(line, position):
            first = token[0][0]
            if first in _REST:
                self._quote = "" if token.lastgroup else first
            else:
                self._depth += 1 if first in _OPENING else -1
                if self._depth <= 0:
                    return
