"""The table of unwrappers for forms that change the text itself: each knows its form by the first lines.

An unwrapper gets the first 64 KB as lines and gives a `Step` where it knows them. They are tried in order, and again
after each step, because people paste one form inside another.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import csv
import html
import quopri
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.saved.unwrap.codings import is_coded, text_of, texts_of
from toolstream_core.saved.unwrap.events import Scanner
from toolstream_core.saved.unwrap.lines import decoded, split
from toolstream_core.saved.unwrap.literals import printed_fields, string
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.model import Json


class Step(NamedTuple):
    """One layer to take off."""

    name: str
    message: str
    """The removed layer, for notes."""
    apply: Callable[[Iterable[str]], Iterator[str]]


type Unwrapper = Callable[[Sequence[str]], Step | None]

_MOST: Final = 0.6
_FEW: Final = 3

# -- Terminals and browsers -----------------------------------------------------------------------------------------

_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_()][0-9A-B]?|[\x08\x0e\x0f\u200b\ufeff]"
)


def _escapes(head: Sequence[str]) -> Step | None:
    if not any("\x1b" in line or "\ufeff" in line[:1] for line in head):
        return None
    return Step(
        "terminal-escapes",
        "terminal colours and control sequences",
        lambda lines: (_ESCAPES.sub("", line) for line in lines),
    )


def _entities(head: Sequence[str]) -> Step | None:
    if not any("{&quot;" in line or "{&#34;" in line for line in head):
        return None
    return Step("html-entities", "HTML entities", lambda lines: map(_unescaped, lines))


def _unescaped(line: str) -> str:
    """The quotes of an attribute around escaped text are none of its own."""
    return html.unescape(line.replace('"', " ") if "&quot;" in line else line)


_TYPOGRAPHIC: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "})


def _typographic(head: Sequence[str]) -> Step | None:
    if not any(re.search(r"\{\s*[“”„]|data:\u00a0|^\u00a0+[\"{]", line) for line in head):
        return None
    return Step(
        "typographic-quotes",
        "typographic quotes and spaces",
        lambda lines: (line.translate(_TYPOGRAPHIC) for line in lines),
    )


# -- Dumps of bytes -------------------------------------------------------------------------------------------------

_DUMPED: Final = re.compile(r"(?P<indent>\s*)(?:0x|\|)?[0-9a-fA-F]{4,8}(?P<colon>[:|]?)[ \t]+(?=[0-9a-fA-F]{2})")
_TOKEN: Final = re.compile(r"( {0,4}|-)((?:[0-9a-fA-F]{2}){1,8})(?=[ \t-]|$)")
_BARE_HEX: Final = re.compile(r"(\s*)((?:[0-9a-fA-F]{2}){2,})\s*")
_C_BYTES: Final = re.compile(r"\s*(?:0x[0-9a-fA-F]{2}\s*,?\s*)+(?:/\*.*)?(?:\};?)?\s*")
_BUFFER: Final = re.compile(r"<Buffer((?: [0-9a-f]{2})+)>")
_NUMBERS: Final = re.compile(r"(?:.*\[)?\s*(\d{1,3}(?:(?:,\s*|[ ])\d{1,3})+),?\s*\]?\s*")
_CELLS: Final = re.compile(r"[0-7]{7}((?: [0-7]{3}|  \\[abfnrtv0]|   .)+)")
_NAMED_CELLS: Final = {"n": 10, "t": 9, "r": 13, "0": 0, "a": 7, "b": 8, "f": 12, "v": 11}
_ROW: Final = 16
_WORD: Final = 2

type _Bytes = tuple[str, bytes]
"""The indentation of a line, by which directions differ, and its bytes."""


def _bytes_of(line: str) -> _Bytes | None:
    """The bytes on a line of a dump in hexadecimal."""
    start = _DUMPED.match(line)
    if start is None:
        if bare := _BARE_HEX.fullmatch(line):
            return bare[1], bytes.fromhex(bare[2])
        if "0x" in line and _C_BYTES.fullmatch(line):
            return "", bytes.fromhex("".join(re.findall(r"0x([0-9a-fA-F]{2})", line)))
        return None
    found, at = bytearray(), start.end()
    gap = 2 if start["colon"] else 3
    while len(found) < _ROW and (token := _TOKEN.match(line, at)):
        if found and len(token[1]) >= gap:
            break
        found += bytes.fromhex(token[2])
        at = token.end()
    return (start["indent"], bytes(found)) if found else None


def _words_of(line: str) -> _Bytes | None:
    """The same in words of two bytes, the lower one first, as `hexdump` prints them."""
    found = _bytes_of(line)
    if found is None or len(found[1]) % _WORD:
        return None
    return found[0], bytes(found[1][at ^ 1] for at in range(len(found[1])))


def _cells_of(line: str) -> _Bytes | None:
    """The same as characters: `od -c`."""
    row = _CELLS.fullmatch(line)
    if row is None:
        return None
    cells = [row[1][at + 1 : at + 4].lstrip() or " " for at in range(0, len(row[1]), 4)]
    return "", bytes(
        ord(cell) if len(cell) == 1 else _NAMED_CELLS[cell[1]] if cell[0] == "\\" else int(cell, 8) & 0xFF
        for cell in cells
    )


def _numbers_of(line: str) -> _Bytes | None:
    """The bytes of a buffer that JavaScript printed, in hexadecimal or as a list of numbers."""
    if buffer := _BUFFER.search(line):
        return "", bytes.fromhex(buffer[1])
    if not (row := _NUMBERS.fullmatch(line)):
        return None
    numbers = [int(number) for number in row[1].replace(",", " ").split()]
    return ("", bytes(numbers)) if max(numbers) <= 0xFF else None  # noqa: PLR2004 - a byte


_DUMPS: Final = (_bytes_of, _words_of, _cells_of, _numbers_of)


def _dump(head: Sequence[str]) -> Step | None:
    lines = [line for line in head if line.strip()]
    dumped = [line for line in lines if _bytes_of(line)]
    if len(dumped) > 1 and len(dumped) >= _MOST * len(lines) and not _gains(head, _dumped(_words_of, head)):
        return _undumped(_bytes_of)
    return next((_undumped(of) for of in _DUMPS if any(map(of, lines)) and _gains(head, _dumped(of, head))), None)


def _undumped(of: Callable[[str], _Bytes | None]) -> Step:
    return Step("hex-dump", "a dump of bytes", lambda lines: split(_dumped(of, lines)))


def _dumped(of: Callable[[str], _Bytes | None], lines: Iterable[str]) -> Iterator[str]:
    """The text of a dump; another direction begins on a new line."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    indent: str | None = None
    last = b""
    for line in lines:
        found = of(line)
        if found is None:
            continue
        if indent is not None and found[0] != indent and not last.endswith(b"\n"):
            yield "\n"
        indent, last = found
        yield decoder.decode(last)


_TRACED: Final = re.compile(r"(?:=> Send|<= Recv) (?:SSL )?(?:header|data), (\d+) bytes \(0x[0-9a-f]+\)|== Info: .*")
_TRACE_ROW: Final = re.compile(r"([0-9a-f]{4,}): ?(.*)")


def _trace_ascii(head: Sequence[str]) -> Step | None:
    if not any(line.startswith("<= Recv ") and _TRACED.fullmatch(line) for line in head):
        return None
    return Step("curl-trace", "the rows of curl --trace-ascii", lambda lines: split(_traced(lines)))


def _traced(lines: Iterable[str]) -> Iterator[str]:
    """The received bytes as text. A line ends after 64 characters or at CRLF, which is not shown; LF becomes a dot."""
    size = end = 0
    received = False
    for line in lines:
        if section := _TRACED.fullmatch(line):
            yield "\n" * ((size - end) // 2 if received else 0)
            received = line.startswith("<= Recv ") and "SSL" not in line
            size, end = int(section[1] or 0), 0
        elif received and (row := _TRACE_ROW.fullmatch(line)):
            yield "\n" * ((int(row[1], 16) - end) // 2)
            yield row[2]
            end = int(row[1], 16) + len(row[2])


# -- Tables and printed fields ----------------------------------------------------------------------------------------

_DELIMITERS: Final = (",", ";", "\t", "|")


def _table(head: Sequence[str]) -> Step | None:
    """A table of separated values, in which a field holds an event with its quotes doubled."""
    if not any('{""' in line for line in head):
        return None
    for delimiter in _DELIMITERS:
        rows = list(_rows(head, delimiter))
        for column in range(max(map(len, rows), default=0)):
            texts = [row[column] for row in rows if len(row) > column]
            if _gains(head, [f"{text}\n" for text in texts]):
                message = f"column {column + 1} of a table of separated values"
                return Step("table", message, partial(_column, delimiter, column))
    return None


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    with contextlib.suppress(csv.Error):
        yield from csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)


def _column(delimiter: str, place: int, lines: Iterable[str]) -> Iterator[str]:
    """The lines in a column."""
    return split(f"{row[place]}\n" for row in _rows(lines, delimiter) if len(row) > place)


_PRINTED: Final = re.compile(r"[a-z_]\w*=\S.* [a-z_]\w*=")


def _printed_fields(head: Sequence[str]) -> Step | None:
    """Objects as pydantic's `str` prints them: fields without a name around them."""
    lines = [line for line in head if _PRINTED.match(line)]
    objects = [found for line in lines if (found := _as_json(line)) != line]
    if not objects or not _gains(lines, objects):
        return None
    return Step("printed-fields", "the notation of printed objects", lambda lines: map(_as_json, lines))


def _as_json(line: str) -> str:
    """The object on a line as JSON, else the line."""
    if not _PRINTED.match(line):
        return line
    try:
        return encoded(printed_fields(line)).decode("utf-8", "replace")
    except (ValueError, RecursionError, OverflowError):
        return line


# -- Sized segments: chunked transfer coding, tshark's follow ---------------------------------------------------------

_CHUNK: Final = re.compile(r"[0-9a-fA-F]{1,8}(?:\s*;.*)?\s*")
_COUNT: Final = re.compile(r"\t?\d{1,9}")
_FOLLOWED: Final = re.compile(r"=+|(?:Follow|Filter|Node \d+): .*")


def _size(line: str, base: int) -> int | None:
    """The size that a line announces."""
    form = _CHUNK if base == _ROW else _COUNT
    return int(line.partition(";")[0].strip(), base) if form.fullmatch(line) else None


def segments(lines: Iterable[str], base: int) -> Iterator[str]:
    """Text in chunks that follow lines with their sizes, joined, as lines."""
    return split(_segments(lines, base))


def _segments(lines: Iterable[str], base: int) -> Iterator[str]:
    size = taken = count = 0
    for line in lines:
        announced = _size(line, base)
        # Line ends may have been CRLF, which a copied text does not say.
        if announced is not None and (not size or taken + 2 * count >= size):
            size, taken, count = announced, 0, 0
            continue
        if not size:
            if line.strip():
                yield f"{line}\n"
            continue
        length = len(line.encode("utf-8", "surrogateescape"))
        if count:
            yield "\n"
        elif taken >= size:
            continue
        yield line
        taken += length + 1
        count += 1


def _followed(head: Sequence[str]) -> Step | None:
    if not any(line.startswith("Follow: ") for line in head):
        return None
    sized = any(_COUNT.fullmatch(line) for line in head)

    def apply(lines: Iterable[str]) -> Iterator[str]:
        kept = (line for line in lines if not _FOLLOWED.fullmatch(line))
        return segments(kept, 10) if sized else iter(kept)

    return Step("tshark-follow", "the frame of tshark's follow-stream output", apply)


def is_chunked(head: Sequence[str]) -> bool:
    """Whether the text begins with the sizes of chunked transfer coding."""
    places = [place for place, line in enumerate(head) if _CHUNK.fullmatch(line)]
    for place, after in pairwise(places):
        size = _size(head[place], 16) or 0
        between = head[place + 1 : after]
        length = sum(len(line.encode("utf-8", "surrogateescape")) + 1 for line in between) - 1
        if between and length - len(between) <= size <= length + len(between) and size > 1:
            return True
    return False


def _chunked(head: Sequence[str]) -> Step | None:
    if not is_chunked(head) or any(line.startswith("HTTP/") for line in head):
        return None
    return Step("chunked", "chunked transfer coding", lambda lines: segments(lines, 16))


# -- Marks in front of lines ------------------------------------------------------------------------------------------

_CURL: Final = re.compile(r"(?:[*=]{1,2}(?: |$)|[{}] \[\d+ bytes data\])")
_BODY: Final = "* Response body:"
"""Hurl prints what curl prints, and marks the body like a message."""


def _curl(head: Sequence[str]) -> Step | None:
    if not any(re.match(r"< HTTP/\d", line) for line in head):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        in_body = False
        for line in lines:
            if line[:2] in {"< ", "> "} or line in {"<", ">"} or (in_body and line[:1] == "*"):
                yield line[2:]
            elif not _CURL.match(line):
                yield line
            in_body = in_body or line == _BODY

    return Step("curl-verbose", "the marks and messages of curl -v", apply)


def _doubled(head: Sequence[str]) -> Step | None:
    """Each line twice in a row, as loggers with two handlers print it."""
    lines = [line for line in head if line.strip()]
    if len(lines) < 2 * _FEW or lines[::2][: len(lines) // 2] != lines[1::2] or len(set(lines[::2])) == 1:
        return None
    return Step("doubled-lines", "the second of two equal lines", _singled)


def _singled(lines: Iterable[str]) -> Iterator[str]:
    before = None
    for line in lines:
        if line == before:
            before = None
        else:
            yield line
            before = line


_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")


def _difference(head: Sequence[str]) -> Step | None:
    """A unified diff: what it adds and what stays is the newer version."""
    if not any(map(_HUNK.match, head)):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        in_hunk = False
        for line in lines:
            in_hunk = bool(_HUNK.match(line)) or (in_hunk and line[:1] in {"+", "-", " ", "\\", ""})
            if not in_hunk:
                yield line
            elif line[:1] in {"+", " ", ""}:
                yield line[1:]

    return Step("diff", "the marks of a diff, and the lines that it removes", apply)


_MATCHED: Final = re.compile(r"(?:\S+?:(?=\d+:)|\S+?-(?=\d+-))?(\d+)([:-])")


def _context(head: Sequence[str]) -> Step | None:
    """What `grep -n -C` prints: a colon after the number of a match, a dash after that of a line around it."""
    rows = [found for line in head if (found := _MATCHED.match(line))]
    following = sum(int(after[1]) - int(row[1]) == 1 for row, after in pairwise(rows))
    if len({row[2] for row in rows}) == 1 or following < _MOST * len(head):
        return None
    return Step("grep", "the line numbers of grep", lambda lines: (_MATCHED.sub("", line, count=1) for line in lines))


_EVENT_BEGINS: Final = re.compile(r"""data:|event:|[{\[]|"|'|[bu]["']|[A-Z]\w*\(|HTTP/|(?:POST|GET|PUT) /""")
_NUMBER: Final = re.compile(r"[ \t]*[0-9a-fA-F]*\d[0-9a-fA-F]*")
_ANY_NUMBER: Final = "\0"


def _prefix(head: Sequence[str]) -> Step | None:
    """The common beginning of most lines except for numbers: quotes, line numbers, time stamps, container names."""
    lines = [line for line in head if line.strip()]
    common = _common(lines) if len(lines) >= _FEW else ""
    if not common:
        return None
    text = common.rstrip()
    spaces = rf"[ \t]{{0,{len(common) - len(text)}}}"
    form = re.compile(re.escape(text).replace(re.escape(_ANY_NUMBER), _NUMBER.pattern) + spaces)
    sample = next((found[0].strip() for line in lines if (found := form.match(line))), "")

    def apply(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            found = form.match(line)
            yield line[found.end() :] if found else line

    if not sample:
        return Step("indentation", "indentation", apply)
    return Step("line-prefix", f"the prefix of each line, such as “{sample}”", apply)


def _common(lines: Sequence[str]) -> str:
    """The common beginning of most lines, with equal numbers; `""` unless it is a prefix."""
    begins = [_NUMBER.sub(_any_number, _before_event(line)) for line in lines]
    most = Counter(begin[:1] for begin in begins).most_common(1)[0][0]
    alike = [begin for begin in begins if begin[:1] == most]
    full = [begin for begin in alike if len(begin.strip()) > 1 or not begin.strip()] or alike
    first, last = min(full), max(full)
    common = first[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))]
    if any(begin != common for begin in full):
        common = re.sub(r"[^\W\d_]+$", "", common)
    if not common.strip(" \t"):
        return common if len(alike) == len(lines) else ""
    marked = re.search(r"[^\w\s]", common) or common.startswith(_ANY_NUMBER)
    return common if marked and len(alike) >= _MOST * len(lines) else ""


def _any_number(found: re.Match[str]) -> str:
    """The sign for a number; one blank before it may be that of a mark: `> 12`."""
    return found[0][:1].strip("0123456789abcdefABCDEF") * bool(found.start()) + _ANY_NUMBER


def _before_event(line: str) -> str:
    found = _EVENT_BEGINS.search(line)
    return line[: found.start()] if found else line


# -- Strings that are cut anywhere ------------------------------------------------------------------------------------

_LITERAL: Final = re.compile(r"""(?<![\w"'\\])[bu]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_LISTED: Final = re.compile(rf"[\s\[(]*(?:{_LITERAL.pattern}[\s,+]*)+[\])]*[\s,;]*")


def _strings(head: Sequence[str]) -> Step | None:
    """Lines that each hold parts of the stream as strings, wherever the network cut them."""
    lines = [line for line in head if line.strip()]
    texts = [text for line in lines if (text := _literals(line))]
    if not texts or len(texts) < _MOST * len(lines) or not _gains(lines, texts):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        return split(map(_literals, lines))

    return Step("strings", "strings that hold pieces of the stream", apply)


def _literals(line: str) -> str:
    """The joined string literals of a line: its bytes literals, else all of a list, else the longest one."""
    tokens = [token[0] for token in _LITERAL.finditer(line)]
    chosen = [token for token in tokens if token.startswith("b")]
    if not chosen and tokens:
        chosen = tokens if _LISTED.fullmatch(line) else [max(tokens, key=len)]
    return "".join(map(string, chosen))


_OPENS: Final = re.compile(r"""^[^{]*(?:\"""|'''|`)""")


def _multiline_string(head: Sequence[str]) -> Step | None:
    """A stream as one string of a program, in which each backslash is doubled."""
    if not any(map(_OPENS.match, head)) or not _gains(head, (f"{_single(line)}\n" for line in head)):
        return None
    return Step("doubled-backslashes", "the second of two backslashes", lambda lines: map(_single, lines))


def _single(line: str) -> str:
    return line.replace("\\\\", "\\")


_WIRE: Final = re.compile(r'.*? (<<|>>) "(.*)"')
_ENDS: Final = re.compile(r"\[\\r\]|(\[\\n\])|\[0x([0-9a-f]{1,2})\]")


def _wire_log(head: Sequence[str]) -> Step | None:
    """What Apache's HttpClient logs of a connection: quotes are not escaped, and line ends are names in brackets."""
    if not any((found := _WIRE.fullmatch(line)) and found[2].endswith("[\\n]") for line in head):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        rows = [(found[1], found[2]) for line in lines if (found := _WIRE.fullmatch(line))]
        texts = (_ENDS.sub(_shown_character, text) for way, text in rows if way == "<<")
        return split(text.encode("latin-1", "replace").decode("utf-8", "surrogateescape") for text in texts)

    return Step("wire-log", "the marks of a wire log", apply)


def _shown_character(found: re.Match[str]) -> str:
    if found[2]:
        return chr(int(found[2], 16))
    return "\n" if found[1] else ""


_ENTRY: Final = re.compile(r"\S+ (?:stdout|stderr) ([PF]) ?(.*)")


def _container_log(head: Sequence[str]) -> Step | None:
    """A container's log in the form of the CRI, which cuts long lines: `P` marks a part, `F` the last one."""
    entries = [entry for line in head if (entry := _ENTRY.fullmatch(line))]
    if len(entries) < _MOST * len(head) or not any(entry[1] == "P" for entry in entries):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        rows = (_ENTRY.fullmatch(line) for line in lines)
        return split(row[2] + ("\n" if row[1] == "F" else "") for row in rows if row)

    return Step("container-log", "the marks of a container's log", apply)


_BLOCK: Final = re.compile(r"\s*data: !!binary \|")


def _packets(head: Sequence[str]) -> Step | None:
    """Wireshark's “Follow Stream” as YAML: each packet is a block in base64."""
    if not any(map(_BLOCK.fullmatch, head)):
        return None
    return Step("packets", "packets in base64", lambda lines: decoded(_packet_bytes(lines)))


def _packet_bytes(lines: Iterable[str]) -> Iterator[bytes]:
    in_block = False
    for line in lines:
        if _BLOCK.fullmatch(line):
            in_block = True
        elif in_block and re.fullmatch(r"\s+[A-Za-z0-9+/]+={0,2}", line):
            yield base64.b64decode(line + "==")
        else:
            in_block = False


def _base64(head: Sequence[str]) -> Step | None:
    """All of it in base64."""
    if not is_coded("\n".join(head)):
        return None
    return Step("base64", "base64", lambda lines: split([text_of("\n".join(lines)) or ""]))


def _mail(head: Sequence[str]) -> Step | None:
    """A mail whose text is coded as quoted-printable."""
    if not any(re.fullmatch(r"(?i)content-transfer-encoding: *quoted-printable", line) for line in head):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        texts = (f"{line}\n" if not line.endswith("=") else line[:-1] for line in lines)
        return decoded(quopri.decodestring(text.encode("utf-8", "surrogateescape")) for text in texts)

    return Step("quoted-printable", "the coding of a mail", apply)


def _records(head: Sequence[str]) -> Step | None:
    """JSON records that each hold a part of the stream as a string."""
    lines = [line for line in head if line.strip()]
    records = [record for line in lines if isinstance(record := parse(line.encode("utf-8", "replace")), dict)]
    if len(records) < _FEW or len(records) < _MOST * len(lines):
        return None
    paths = dict.fromkeys(path for record in records for path in _paths(record))
    for path in paths:
        texts = list(texts_of(_at(record, path) for record in records))
        if any(mark in text for text in texts for mark in ("data:", "event:", '{"')) and _gains(lines, texts):
            return Step("records", f"records that hold the stream in `{'.'.join(path)}`", partial(_values, path))
    return None


def _values(path: Sequence[str], lines: Iterable[str]) -> Iterator[str]:
    """The lines of the strings at a path in each record."""
    return split(texts_of(_at(parse(line.encode("utf-8", "replace")), path) for line in lines))


def _paths(record: Json, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if text_of(record) is not None:
        yield at
    elif isinstance(record, dict) and len(at) < _FEW:
        for key, value in record.items():
            yield from _paths(value, (*at, key))


def _at(record: Json, path: Sequence[str]) -> Json:
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def _gains(lines: Sequence[str], texts: Iterable[str]) -> bool:
    """Whether texts put together hold more events than the lines by themselves."""
    return _events(split(texts)) > _events(lines)


def _events(lines: Iterable[str]) -> int:
    return sum(1 for one in Scanner().scan(lines) if one.dialect is not None)


FORMS: Final[tuple[Unwrapper, ...]] = (
    _escapes,
    _entities,
    _typographic,
    _followed,
    _dump,
    _trace_ascii,
    _table,
    _printed_fields,
    _curl,
    _mail,
    _packets,
    _base64,
    _wire_log,
    _container_log,
    _difference,
    _context,
    _prefix,
    _doubled,
    _records,
    _strings,
    _multiline_string,
    _chunked,
)
"""In the order in which they are tried."""
