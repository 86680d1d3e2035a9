"""Finds calls in text as it arrives. Knows the syntaxes, and no protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from toolstream_core.defects.defect import Defect
from toolstream_core.defects.leak import LEAKED_XML
from toolstream_core.model import Json
from toolstream_core.stages.leaks.syntax import CLOSED, bare_calls, elements
from toolstream_core.wire import json_access, numbers

# Text is examined only after the possible beginning of a markup; other text costs a search for each fragment. Markup in
# a code fence or in backticks is quoted, not leaked. If tools are offered, only they can be called.

MAX_OPEN = 256 * 1024
"""Maximum characters of an open markup; a longer one is text."""
_BEGINS = re.compile(
    r"<(?:(?:[\w-]{1,16}:)?(?:(?:longcat_)?tool_call|toolcall>|function[=_ ]|invoke)|start_function_call>|[|｜‖])"
    r"|\[TOOL_CALLS?\]|c?o?m?mentary to=",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[\w.:-]*\Z")
_HEADS: Final = ("[tool_calls]", "commentary to=")
"""The beginnings of others; a fragment of text may end inside one of them, or inside a tag's name."""
_MAY_BEGIN = re.compile(r"(?:\[|commentary)[^\[]*\Z|com?m?e?n?t?a?r?y?\Z", re.IGNORECASE)
_TAIL = 40
"""The last characters that are kept, for a markup's beginning that is split."""
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
_ENDS = re.compile(r"[>\]})]")


class Leaked(NamedTuple):
    """A call that is text."""

    defect: Defect
    name: str
    arguments: str
    """JSON text of an object."""


def may_leak(raw: bytes) -> bool:
    """Whether frames may have the beginning of a markup, or a fence: their text must be examined then."""
    find = raw.find
    return (
        find(b"<") >= 0
        or find(b"`") >= 0
        or find(b"u003c") >= 0
        or find(b"[T") >= 0
        or find(b'["') >= 0
        or find(b"comm") >= 0
        or find(b"mentary") >= 0
    )


class Scanner:
    """The text of one channel of one response."""

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        """`schemas`: the tools offered, each with the schema of its parameters; empty if they are unknown."""
        self._schemas = schemas
        self._open = ""
        """Undecided text, from the first possible markup on."""
        self._whole: list[str] | None = []
        """All text so far, while all of it may be a call."""
        self._size = 0
        self._ticks = 0
        self._tail = ""
        self._begun = False
        """Whether the text ends inside a possible beginning of a markup."""

    @property
    def open(self) -> bool:
        """Whether any next text is needed."""
        return self.pending or self._whole is not None

    @property
    def pending(self) -> bool:
        """Whether a markup is open, or may have begun."""
        return bool(self._open) or self._begun

    def add(self, text: str) -> list[Leaked]:
        """The calls that `text` completes."""
        if not text:
            return []
        self._keep(text)
        if self._open:
            self._open += text
        else:
            self._look(text)
        found = self._closed() if self._open and _ENDS.search(text) else []
        if len(self._open) > MAX_OPEN:
            self._look("")
        return found

    def _look(self, text: str) -> None:
        """Find where a markup may begin; everything before it is text."""
        seen = self._tail + text
        _, element = self._elements
        found = _BEGINS.search(seen), element.search(seen) if element else None
        begins = [match.start() for match in found if match]
        if begins:
            begin = min(begins)
            self._open, self._tail, self._begun = seen[begin:], "", False
        else:
            begin = max(len(seen) - _TAIL, 0)
            self._open, self._tail = "", seen[begin:]
            head = _MAY_BEGIN.search(self._tail)
            begun = head is not None and any(one.startswith(head.group().lower()) for one in _HEADS)
            self._begun = begun or _TAG.search(self._tail) is not None
        self._ticks += seen[:begin].count("`")

    @cached_property
    def _elements(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
        """Patterns of an element with a tool's name, and of its beginning."""
        names = "|".join(re.escape(name) for name in self._schemas if re.fullmatch(r"[\w.:-]+", name))
        if not names:
            return None, None
        return re.compile(rf"<({names})>(.*?)</\1>", re.DOTALL), re.compile(rf"<(?:{names})>")

    def end(self) -> list[Leaked]:
        """The calls if the entire text is calls. Later text follows an early finish."""
        found = self._closed() if self._open else []
        complete, self._whole, self._open = self._whole, None, ""
        if complete is None or found or not self._schemas:
            return found
        return [self._leaked(defect, *call) for defect, call in bare_calls("".join(complete), self._schemas)]

    def _keep(self, text: str) -> None:
        """Remember the entire text while it may be one call."""
        if self._whole is None:
            return
        self._whole.append(text)
        self._size += len(text)
        begin = "".join(self._whole[:8]).lstrip()[:32]
        if (begin and not _may_be_complete(begin, self._schemas)) or self._size > MAX_OPEN:
            self._whole = None

    def _closed(self) -> list[Leaked]:
        found: list[Leaked] = []
        while True:
            if not self._open:
                return found
            best: tuple[int, int, list[Leaked]] | None = None
            for begin, end, calls in self._matches():
                if best is None or begin < best[0]:
                    best = (begin, end, calls)
            if best is None:
                return found
            found += best[2]
            self._ticks += self._open[: best[1]].count("`")
            rest, self._open, self._tail = self._open[best[1] :], "", ""
            self._look(rest)

    def _matches(self) -> Iterator[tuple[int, int, list[Leaked]]]:
        for syntax in CLOSED:
            for match in syntax.expression.finditer(self._open):
                if (self._ticks + self._open[: match.start()].count("`")) % 2:
                    continue
                calls = [self._leaked(syntax.defect, *call) for call in syntax.read(match) if self._known(call[0])]
                if calls:
                    yield match.start(), match.end(), calls
                    break
        complete, _ = self._elements
        for match in complete.finditer(self._open) if complete else ():
            if (self._ticks + self._open[: match.start()].count("`")) % 2 == 0:
                yield match.start(), match.end(), [self._leaked(LEAKED_XML, match[1], self._body(*match.groups()))]

    def _known(self, name: str) -> bool:
        return not self._schemas or name in self._schemas

    def _body(self, name: str, text: str) -> dict[str, Json]:
        children, known = elements(text), json_access.get(self._schemas.get(name), "properties")
        if children and isinstance(known, dict) and children.keys() <= known.keys():
            return {key: value.strip("\n") for key, value in children.items()}
        return _body(text)

    def _leaked(self, defect: Defect, name: str, arguments: dict[str, Json]) -> Leaked:
        properties = json_access.get(self._schemas.get(name), "properties")
        typed = {key: _typed(value, json_access.get(properties, key, "type")) for key, value in arguments.items()}
        return Leaked(defect, name, numbers.spaced(typed))


def _may_be_complete(begin: str, schemas: Mapping[str, Json]) -> bool:
    if begin[0] in "{[<`":
        return True
    word = re.match(r"[\w.]+", begin)
    if word is None:
        return False
    heads = ("print(default_api.", "default_api.", "commentary to=", "call:", "functools", *schemas)
    return any(head.startswith(begin[: len(head)]) or begin.startswith(head) for head in heads)


def _body(text: str) -> dict[str, Json]:
    try:
        value = numbers.loads(text)
    except (ValueError, RecursionError):
        return {"input": text.strip()} if text.strip() else {}
    return value if isinstance(value, dict) else {"input": value}


def _typed(value: Json, wanted: Json) -> Json:
    """Text as the type in the tool's schema, if it can be read as that."""
    if not isinstance(value, str) or not isinstance(wanted, str) or wanted == "string":
        return value
    try:
        read = numbers.loads(value)
    except (ValueError, RecursionError):
        return value
    return read if isinstance(read, _TYPES.get(wanted, ())) else value
