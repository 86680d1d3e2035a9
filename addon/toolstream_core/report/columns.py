"""Columns of lines and how text is fitted into them, for terminals and Markdown: widths, shortened values, colours."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from toolstream_core.model import ABSENT, BAD_STATUS, Seen
from toolstream_core.printable import printable, quoted_text, word

type Paint = Callable[[str, str], str]
"""`paint(style, text)` with a style of `STYLES`, or another, which has no colour."""

STYLES = {"error": "\x1b[31m", "warning": "\x1b[33m", "ok": "\x1b[32m"}


def plain(style: str, text: str) -> str:
    """No colour."""
    del style
    return text


def colour(style: str, text: str) -> str:
    """ANSI colour for `ok`, `warning` and `error`; other styles have none."""
    return f"{STYLES[style]}{text}\x1b[0m" if style in STYLES else text


def wants_colour(*, terminal: bool, environment: dict[str, str]) -> bool:
    """Colour on a terminal, unless `NO_COLOR` is set to anything (https://no-color.org)."""
    return terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


WIDTH = 120
"""Columns of a line."""
MARGIN = 11
"""Columns of the tag and the time, at the beginning of a line."""
EVENT = 11
"""Columns of `event 8` and the space after it."""
ID = 28
"""Columns of an id."""
ID_BESIDE_ITEM = 16
"""Columns of an id next to the id of its item."""
LEAST = 16
"""Least columns of a shortened text."""
_NAME = 48
"""Columns of a model, a tool's name or a finish reason."""
_REQUEST = 12
"""Columns that a request keeps next to a long model."""


class Label(NamedTuple):
    """The name of a stream in the log."""

    tag: str
    """Begins each of its lines: `#2`."""
    request: str = ""
    """The request, or the source of the response: `POST api.deepseek.com/v1/chat/completions`."""
    flow: str = ""
    """mitmproxy's id of the flow."""
    status: int = 0
    """The response's HTTP status; 0 if it is unknown."""

    def head(self, model: str | None, protocol: str) -> str:
        failed = [f"HTTP {self.status}"] if self.status >= BAD_STATUS else []
        names = " ".join([*([foreign(model)] if model else []), protocol, *failed])
        flow = f"  flow {self.flow}" if self.flow else ""
        room = WIDTH - len(self.tag) - len(names) - 2 - len(flow)
        request = f"{middle(self.request, max(room, _REQUEST))} " if self.request else ""
        return f"{self.tag} {request}{names}{flow}"

    def begin(self, elapsed: str = "") -> str:
        """The beginning of each other line: the tag, and the time since the request, right-aligned."""
        return f"{self.tag} {elapsed.rjust(MARGIN - 2 - len(self.tag))} "


class Blocks:
    """Writes lines, and separates blocks from the lines of another stream."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._last = ""
        self._is_apart = False

    def line(self, text: str) -> None:
        if self._is_apart and _tag(text) != _tag(self._last):
            self._write("")
            self._is_apart = False
        self._last = text
        self._write(text)

    def block(self, lines: Iterable[str]) -> None:
        """Write the lines of one stream, between blank lines if the line before is another stream's."""
        for number, text in enumerate(lines):
            if not number and _tag(self._last) not in {"", _tag(text)}:
                self._write("")
                self._is_apart = False
                self.line(text)
                self._is_apart = True
            else:
                self.line(text)


def _tag(line: str) -> str:
    return line.partition(" ")[0]


def foreign(text: str) -> str:
    """A foreign name as a word of a line, without quotes if possible."""
    return middle(word(text), _NAME)


def middle(text: str, width: int, *, count: bool = False) -> str:
    """`text` in at most `width` columns; with `count`, it has the number of characters left out in the middle."""
    return _shortened(text, text, width, str, count=count)


def shortened(text: str, width: int, *, count: bool = False) -> str:
    """As `middle`, as a JSON string without characters that control a terminal; `width` is 16 at least."""
    width = max(width, LEAST)
    full = quoted_text(text) if len(text) <= width else text
    if len(full) <= width:
        return full  # nearly always
    return _shortened(text, full, width, lambda part: quoted_text(part)[1:-1], count=count, quote='"')


def _shortened(
    text: str, complete: str, width: int, shown: Callable[[str], str], *, count: bool, quote: str = ""
) -> str:
    """`complete` if it fits, else as much of the beginning and the end of `text` as fits."""
    if len(complete) <= width:
        return complete
    kept = min(width, len(text) - 1)
    while True:
        gap = f"…(+{len(text) - kept})…" if count else "…"
        begin, end = text[: (kept + 1) // 2], text[len(text) - kept // 2 :]
        line = f"{quote}{shown(begin)}{gap}{shown(end)}{quote}"
        if len(line) <= width or kept <= 1:
            return line
        kept -= max(1, (len(line) - width) * kept // len(line))


def seen(value: Seen[str] | Seen[int], width: int = ID) -> str:
    """A received value: absent, null and empty are distinguished."""
    if value is ABSENT:
        return "absent"
    if value is None:
        return "null"
    return shortened(value, width) if isinstance(value, str) else str(value)


class Marked(NamedTuple):
    """Text, and its coloured parts in their order."""

    text: str
    marks: tuple[tuple[str, str], ...] = ()
    """Styles and parts."""

    def lines(self, begin: str, tag: str, paint: Paint, last: str = "") -> Iterator[str]:
        """As `wrapped`, in colour."""
        marks = list(self.marks)
        for line in wrapped(begin, tag, self.text, last):
            shown, done = "", 0
            while marks and (at := line.find(marks[0][1], done)) >= 0:
                style, part = marks.pop(0)
                shown += line[done:at] + paint(style, part)
                done = at + len(part)
            yield shown + line[done:]


def wrapped(begin: str, tag: str, text: str, last: str = "", width: int = WIDTH) -> list[str]:
    """Lines of at most `width` columns: the first one begins with `begin`, the others with the tag in as many columns.

    `last` follows the text, and is not broken.
    """
    room = max(width - len(begin), LEAST)
    fits = len(text) <= room and text.isprintable()  # most do, and `textwrap` is slow
    broken = [] if fits else textwrap.wrap(text, room, break_on_hyphens=False, subsequent_indent="  ")
    first, *rest = broken or [text.rstrip()]
    lines = [begin + first, *(f"{tag:{len(begin)}}{line}" for line in rest)]
    if last and len(lines[-1]) + 2 + len(last) <= width:
        lines[-1] += f"  {last}"
    elif last:
        lines.append(f"{tag:{len(begin)}}  {last}")
    return lines


_MOST_TEXT = 300
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~@]")


def fenced(text: Iterable[str], language: str = "text") -> Iterator[str]:
    """A code block, in a fence longer than any in it."""
    inner = list(text)
    longest = max((len(run) for line in inner for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}{language}", *inner, f"{fence}\n")


def code(text: str) -> str:
    """Foreign text as code inside a line, shortened if it is long."""
    shown = printable(text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…").replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    yield from (f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def escaped(text: str) -> str:
    """Foreign text in a sentence, without formatting, links and mentions."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}" if found[0] != "@" else "@\u200b", printable(text))
