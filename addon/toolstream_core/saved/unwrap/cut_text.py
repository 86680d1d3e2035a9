"""Layers that split the stream at any places: dumps of bytes, tables, strings, packets, codings."""

from __future__ import annotations

import base64
import codecs
import contextlib
import csv
import quopri
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from toolstream_core.model import Json
from toolstream_core.saved.exchange import from_base64
from toolstream_core.saved.unwrap.codings import is_coded, text_of, texts_of
from toolstream_core.saved.unwrap.events import Scanner
from toolstream_core.saved.unwrap.lines import FEW, MOST, Layer, decoded, gains, split
from toolstream_core.saved.unwrap.literals import string
from toolstream_core.wire.frame import parse

# -- Dumps of bytes ---------------------------------------------------------------------------------------------------

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
    found, position = bytearray(), start.end()
    gap = 2 if start["colon"] else 3
    while len(found) < _ROW and (token := _TOKEN.match(line, position)):
        if found and len(token[1]) >= gap:
            break
        found += bytes.fromhex(token[2])
        position = token.end()
    return (start["indent"], bytes(found)) if found else None


def _words_of(line: str) -> _Bytes | None:
    """The same in words of two bytes, the lower one first, as `hexdump` prints them."""
    found = _bytes_of(line)
    if found is None or len(found[1]) % _WORD:
        return None
    return found[0], bytes(found[1][position ^ 1] for position in range(len(found[1])))


def _cells_of(line: str) -> _Bytes | None:
    """The same as characters: `od -c`."""
    row = _CELLS.fullmatch(line)
    if row is None:
        return None
    cells = [row[1][position + 1 : position + 4].lstrip() or " " for position in range(0, len(row[1]), 4)]
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


def byte_dump(head: Sequence[str]) -> Layer | None:
    """The rows of `xxd`, `hexdump`, `od`, or of a buffer that a program printed."""
    lines = [line for line in head if line.strip()]
    dumped = [line for line in lines if _bytes_of(line)]
    if len(dumped) > 1 and len(dumped) >= MOST * len(lines) and not gains(head, _dumped(_words_of, head)):
        return _undumped(_bytes_of)
    return next((_undumped(of) for of in _DUMPS if any(map(of, lines)) and gains(head, _dumped(of, head))), None)


def _undumped(of: Callable[[str], _Bytes | None]) -> Layer:
    return Layer("hex-dump", "a dump of bytes", lambda lines: split(_dumped(of, lines)))


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


def trace_ascii(head: Sequence[str]) -> Layer | None:
    """The rows of `curl --trace-ascii`."""
    if not any(line.startswith("<= Recv ") and _TRACED.fullmatch(line) for line in head):
        return None
    return Layer("curl-trace", "the rows of curl --trace-ascii", lambda lines: split(_traced(lines)))


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


# -- Tables and records -----------------------------------------------------------------------------------------------

_DELIMITERS: Final = (",", ";", "\t", "|")


def separated_values(head: Sequence[str]) -> Layer | None:
    """A table of separated values, in which a field has an event with doubled quotes."""
    if not any('{""' in line for line in head):
        return None
    for delimiter in _DELIMITERS:
        rows = list(_rows(head, delimiter))
        for column in range(max(map(len, rows), default=0)):
            texts = [row[column] for row in rows if len(row) > column]
            if gains(head, [f"{text}\n" for text in texts]):
                message = f"column {column + 1} of a table of separated values"
                return Layer("table", message, partial(_column, delimiter, column))
    return None


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    with contextlib.suppress(csv.Error):
        yield from csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)


def _column(delimiter: str, place: int, lines: Iterable[str]) -> Iterator[str]:
    """The lines in a column."""
    return split(f"{row[place]}\n" for row in _rows(lines, delimiter) if len(row) > place)


def json_records(head: Sequence[str]) -> Layer | None:
    """JSON records that each have a part of the stream as a string."""
    lines = [line for line in head if line.strip()]
    records = [record for line in lines if isinstance(record := parse(line.encode("utf-8", "replace")), dict)]
    if len(records) < FEW or len(records) < MOST * len(lines):
        return None
    paths = dict.fromkeys(path for record in records for path in _paths(record))
    for path in paths:
        texts = list(texts_of(_at(record, path) for record in records))
        if any(mark in text for text in texts for mark in ("data:", "event:", '{"')) and gains(lines, texts):
            return Layer("records", f"records that hold the stream in `{'.'.join(path)}`", partial(_values, path))
    return None


def _values(path: Sequence[str], lines: Iterable[str]) -> Iterator[str]:
    """The lines of the strings at a path in each record."""
    return split(texts_of(_at(parse(line.encode("utf-8", "replace")), path) for line in lines))


def _paths(record: Json, position: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if text_of(record) is not None:
        yield position
    elif isinstance(record, dict) and len(position) < FEW:
        for key, value in record.items():
            yield from _paths(value, (*position, key))


def _at(record: Json, path: Sequence[str]) -> Json:
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record


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
    size = received = count = 0
    for line in lines:
        announced = _size(line, base)
        # Line ends may have been CRLF, which a copied text does not show.
        if announced is not None and (not size or received + 2 * count >= size):
            size, received, count = announced, 0, 0
            continue
        if not size:
            if line.strip():
                yield f"{line}\n"
            continue
        length = len(line.encode("utf-8", "surrogateescape"))
        if count:
            yield "\n"
        yield line
        received += length + 1
        count += 1


def tshark_follow(head: Sequence[str]) -> Layer | None:
    """The frame of `tshark -z follow`, with or without sizes."""
    if not any(line.startswith("Follow: ") for line in head):
        return None
    sized = any(_COUNT.fullmatch(line) for line in head)

    def apply(lines: Iterable[str]) -> Iterator[str]:
        kept = (line for line in lines if not _FOLLOWED.fullmatch(line))
        return segments(kept, 10) if sized else iter(kept)

    return Layer("tshark-follow", "the frame of tshark's follow-stream output", apply)


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


def chunked_coding(head: Sequence[str]) -> Layer | None:
    """A body in chunks, each after its size."""
    if not is_chunked(head) or any(line.startswith("HTTP/") for line in head):
        return None
    return Layer("chunked", "chunked transfer coding", lambda lines: segments(lines, 16))


# -- Strings with any boundaries - ------------------------------------------------------------------------------------

_LITERAL: Final = re.compile(r"""(?<![\w"'\\])[bu]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_LISTED: Final = re.compile(rf"[\s\[(]*(?:{_LITERAL.pattern}[\s,+]*)+[\])]*[\s,;]*")


def cut_strings(head: Sequence[str]) -> Layer | None:
    """Lines that each have parts of the stream as strings, with the chunk boundaries of the network."""
    lines = [line for line in head if line.strip()]
    texts = [text for line in lines if (text := _literals(line))]
    if not texts or len(texts) < MOST * len(lines) or not gains(lines, texts):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        return split(map(_literals, lines))

    return Layer("strings", "strings with parts of the stream", apply)


def _literals(line: str) -> str:
    """The joined string literals of a line: its bytes literals, else all of a list, else the longest one."""
    tokens = [token[0] for token in _LITERAL.finditer(line)]
    chosen = [token for token in tokens if token.startswith("b")]
    if not chosen and tokens:
        chosen = tokens if _LISTED.fullmatch(line) else [max(tokens, key=len)]
    return "".join(map(string, chosen))


# -- Logs of connections and containers -------------------------------------------------------------------------------

_WIRE: Final = re.compile(r'.*? (<<|>>) "(.*)"')
_ENDS: Final = re.compile(r"\[\\r\]|(\[\\n\])|\[0x([0-9a-f]{1,2})\]")


def wire_log(head: Sequence[str]) -> Layer | None:
    """The wire log of Apache's HttpClient: quotes are not escaped, and line ends are names in brackets."""
    if not any((found := _WIRE.fullmatch(line)) and found[2].endswith("[\\n]") for line in head):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        rows = [(found[1], found[2]) for line in lines if (found := _WIRE.fullmatch(line))]
        texts = (_ENDS.sub(_shown_character, text) for way, text in rows if way == "<<")
        return split(text.encode("latin-1", "replace").decode("utf-8", "surrogateescape") for text in texts)

    return Layer("wire-log", "the marks of a wire log", apply)


def _shown_character(found: re.Match[str]) -> str:
    if found[2]:
        return chr(int(found[2], 16))
    return "\n" if found[1] else ""


_ENTRY: Final = re.compile(r"\S+ (?:stdout|stderr) ([PF]) ?(.*)")


def container_log(head: Sequence[str]) -> Layer | None:
    """A container's log in the form of the CRI, which splits long lines: `P` marks a part, `F` the last one."""
    entries = [entry for line in head if (entry := _ENTRY.fullmatch(line))]
    if len(entries) < MOST * len(head) or not any(entry[1] == "P" for entry in entries):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        rows = (_ENTRY.fullmatch(line) for line in lines)
        return split(row[2] + ("\n" if row[1] == "F" else "") for row in rows if row)

    return Layer("container-log", "the marks of a container's log", apply)


_HEADING: Final = re.compile(r"[^\"'{}]*[^\W\d_][^\"'{}]*:\s*")
"""A line with which a log announces what a program received."""
_RULE: Final = re.compile(r"[-=*#~]{3,}")
_PREFIXED: Final = re.compile(r"""([^"'{}]*?[^"'{}\s])[ \t]*(?:data:|event:|\{")""")


def logged_chunks(head: Sequence[str]) -> Layer | None:
    """A log with a heading on a separate line before each chunk of the network."""
    shapes = Counter(_shape(line) for line in head if _HEADING.fullmatch(line))
    headings = {shape for shape, count in shapes.items() if count >= FEW}
    lines = [line for line in head if _shape(line) in headings]
    if not lines or not any(line in event.data for event in Scanner().scan(head) for line in lines):
        return None

    def after(line: str) -> str | None:
        return "" if _shape(line) in headings else None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        return split(_chunks((line for line in lines if not _RULE.fullmatch(line)), after, begins=False))

    return Layer("log-headings", f"headings of a log, such as “{lines[0].strip()}”", apply)


def _shape(line: str) -> str:
    """A line without the parts that differ between the headings of one log."""
    return re.sub(r"\d+", "0", line)


def prefixed_chunks(head: Sequence[str]) -> Layer | None:
    """A log with the same text before each chunk of the network."""
    first = next((found for line in head if (found := _PREFIXED.match(line))), None)
    if first is None:
        return None
    form = re.compile(r"\d+".join(map(re.escape, re.split(r"\d+", first[1]))) + " ?")

    def after(line: str) -> str | None:
        found = form.match(line)
        return line[found.end() :] if found else None

    if sum(after(line) is not None for line in head) < FEW or not gains(head, _chunks(head, after)):
        return None
    message = f"the text before each chunk of the network, such as “{first[1].strip()}”"
    return Layer("log-pieces", message, lambda lines: split(_chunks(lines, after)))


def _chunks(lines: Iterable[str], after: Callable[[str], str | None], *, begins: bool = True) -> Iterator[str]:
    """The joined chunks, of which only the logger ended the last line.

    `after` gives the text after a mark on its line, `begins` whether the chunk begins there.
    """
    begun = False
    for line in lines:
        rest = after(line)
        yield f"\n{line}" if begun and rest is None else line if rest is None else rest
        begun = rest is None or begins


# -- Codings ----------------------------------------------------------------------------------------------------------

_BLOCK: Final = re.compile(r"\s*data: !!binary \|")


def wireshark_packets(head: Sequence[str]) -> Layer | None:
    """Wireshark's “Follow Stream” as YAML: each packet is a block in base64."""
    if not any(map(_BLOCK.fullmatch, head)):
        return None
    return Layer("packets", "packets in base64", lambda lines: decoded(_packet_bytes(lines)))


def _packet_bytes(lines: Iterable[str]) -> Iterator[bytes]:
    in_block = False
    for line in lines:
        if _BLOCK.fullmatch(line):
            in_block = True
        elif in_block and re.fullmatch(r"\s+[A-Za-z0-9+/]+={0,2}", line):
            yield base64.b64decode(line + "==")
        else:
            in_block = False


def in_base64(head: Sequence[str]) -> Layer | None:
    """The complete text in base64."""
    if not is_coded("\n".join(head)):
        return None
    return Layer("base64", "base64", lambda lines: split([text_of("\n".join(lines)) or ""]))


_BURP: Final = re.compile(r'\s*<(?:request|response) base64="true"><!\[CDATA\[(.+)\]\]></(?:request|response)>')


def burp_items(head: Sequence[str]) -> Layer | None:
    """The requests and responses of Burp Suite's items, in base64."""
    if not any(map(_BURP.fullmatch, head)):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        items = (found[1] for line in lines if (found := _BURP.fullmatch(line)))
        return split(f"{from_base64(item).decode('utf-8', 'surrogateescape')}\n" for item in items)

    return Layer("burp", "the items of Burp Suite", apply)


def quoted_printable(head: Sequence[str]) -> Layer | None:
    """A mail whose text is coded as quoted-printable."""
    if not any(re.fullmatch(r"(?i)content-transfer-encoding: *quoted-printable", line) for line in head):
        return None

    def apply(lines: Iterable[str]) -> Iterator[str]:
        texts = (f"{line}\n" if not line.endswith("=") else line[:-1] for line in lines)
        return decoded(quopri.decodestring(text.encode("utf-8", "surrogateescape")) for text in texts)

    return Layer("quoted-printable", "the coding of a mail", apply)
