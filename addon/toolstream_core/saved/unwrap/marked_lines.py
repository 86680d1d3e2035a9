"""Layers that leave each line a line: marks and prefixes, escapes, printed objects, the other lines of a diff."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise, takewhile
from typing import Final

from toolstream_core.saved.unwrap.lines import FEW, MOST, Layer, gains
from toolstream_core.saved.unwrap.literals import printed_fields as read_printed
from toolstream_core.wire.write import encoded

# -- Terminals and browsers -------------------------------------------------------------------------------------------

_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_()][0-9A-B]?|[\x08\x0e\x0f\u200b\ufeff]"
)


def terminal_escapes(head: Sequence[str]) -> Layer | None:
    """Colours, control sequences, and invisible marks."""
    is_terminal = any("\x1b" in line for line in head)
    if not (is_terminal or any("\ufeff" in line[:1] for line in head)):
        return None
    return Layer(
        "terminal-escapes",
        "terminal colours and control sequences" if is_terminal else "a byte order mark",
        lambda lines: (_ESCAPES.sub("", line) for line in lines),
    )


def html_entities(head: Sequence[str]) -> Layer | None:
    """The source of a web page."""
    if not any("{&quot;" in line or "{&#34;" in line for line in head):
        return None
    return Layer("html-entities", "HTML entities", lambda lines: map(_unescaped, lines))


def _unescaped(line: str) -> str:
    """The quotes of an attribute around escaped text do not belong to it."""
    return html.unescape(line.replace('"', " ") if "&quot;" in line else line)


_TYPOGRAPHIC: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "})


def typographic_quotes(head: Sequence[str]) -> Layer | None:
    """A text that a word processor or a chat changed."""
    if not any(re.search(r"\{\s*[“”„]|data:\u00a0|^\u00a0+[\"{]", line) for line in head):
        return None
    return Layer(
        "typographic-quotes",
        "typographic quotes and spaces",
        lambda lines: (line.translate(_TYPOGRAPHIC) for line in lines),
    )


# -- Printed objects --------------------------------------------------------------------------------------------------

_PRINTED: Final = re.compile(r"[a-z_]\w*=\S.* [a-z_]\w*=")


def printed_fields(head: Sequence[str]) -> Layer | None:
    """Objects as pydantic's `str` prints them: fields without a name around them."""
    lines = [line for line in head if _PRINTED.match(line)]
    objects = [found for line in lines if (found := _as_json(line)) != line]
    if not objects or not gains(lines, objects):
        return None
    return Layer("printed-fields", "the notation of printed objects", lambda lines: map(_as_json, lines))


def _as_json(line: str) -> str:
    """The object on a line as JSON, else the line."""
    if not _PRINTED.match(line):
        return line
    try:
        return encoded(read_printed(line)).decode("utf-8", "replace")
    except (ValueError, RecursionError, OverflowError):
        return line


# -- Marks in front of lines ------------------------------------------------------------------------------------------

_CURL: Final = re.compile(r"(?:[*=]{1,2}(?: |$)|[{}] \[\d+ bytes data\])")
_BODY: Final = "* Response body:"
"""Hurl prints what curl prints, and marks the body like a message."""


def curl_verbose(head: Sequence[str]) -> Layer | None:
    """The marks and messages of `curl -v`."""
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

    return Layer("curl-verbose", "the marks and messages of curl -v", apply)


def doubled_lines(head: Sequence[str]) -> Layer | None:
    """Each line twice in a row, as loggers with two handlers print it."""
    lines = [line for line in head if line.strip()]
    if len(lines) < 2 * FEW or lines[::2][: len(lines) // 2] != lines[1::2] or len(set(lines[::2])) == 1:
        return None
    return Layer("doubled-lines", "the second of two equal lines", _singled)


def _singled(lines: Iterable[str]) -> Iterator[str]:
    before = None
    for line in lines:
        if line == before:
            before = None
        else:
            yield line
            before = line


_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")


def unified_diff(head: Sequence[str]) -> Layer | None:
    """A unified diff: the added and the unchanged lines are the newer version."""
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

    return Layer("diff", "the marks of a diff, and the lines that it removes", apply)


_MATCHED: Final = re.compile(r"(?:\S+?:(?=\d+:)|\S+?-(?=\d+-))?(\d+)([:-])")


def grep_context(head: Sequence[str]) -> Layer | None:
    """What `grep -n -C` prints: a colon after the number of a match, a dash after the number of a line around it."""
    rows = [found for line in head if (found := _MATCHED.match(line))]
    following = sum(int(after[1]) - int(row[1]) == 1 for row, after in pairwise(rows))
    if len({row[2] for row in rows}) == 1 or following < MOST * len(head):
        return None
    return Layer("grep", "the line numbers of grep", lambda lines: (_MATCHED.sub("", line, count=1) for line in lines))


_EVENT_BEGINS: Final = re.compile(r"""data:|event:|[{\[]|"|'|[bu]["']|[A-Z]\w*\(|HTTP/|(?:POST|GET|PUT) /""")
_NUMBER: Final = re.compile(r"[ \t]*[0-9a-fA-F]*\d[0-9a-fA-F]*")
_ANY_NUMBER: Final = "\0"


def common_prefix(head: Sequence[str]) -> Layer | None:
    """The common beginning of most lines except for numbers: quotes, line numbers, time stamps, container names."""
    lines = [line for line in head if line.strip()]
    common = _common(lines) if len(lines) >= FEW else ""
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
        return Layer("indentation", "indentation", apply)
    return Layer("line-prefix", f"the prefix of each line, such as “{sample}”", apply)


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
    return common if marked and len(alike) >= MOST * len(lines) else ""


def _any_number(found: re.Match[str]) -> str:
    """The sign for a number; a blank before it may belong to a mark: `> 12`."""
    return found[0][:1].strip("0123456789abcdefABCDEF") * bool(found.start()) + _ANY_NUMBER


def _before_event(line: str) -> str:
    found = _EVENT_BEGINS.search(line)
    return line[: found.start()] if found else line


# -- Strings ----------------------------------------------------------------------------------------------------------

_OPENS: Final = re.compile(r"""^[^{]*(?:\"""|'''|`)""")


def doubled_backslashes(head: Sequence[str]) -> Layer | None:
    """A stream as one string of a program, in which each backslash is doubled."""
    if not any(map(_OPENS.match, head)) or not gains(head, (f"{_single(line)}\n" for line in head)):
        return None
    return Layer("doubled-backslashes", "the second of two backslashes", lambda lines: map(_single, lines))


def _single(line: str) -> str:
    return line.replace("\\\\", "\\")


_TEXT: Final = r'"(?:arguments|partial_json|delta|content|text|reasoning_content|thinking)"\s*:\s*"'
_BEGINS_TEXT: Final = re.compile(_TEXT)
_UNESCAPED: Final = re.compile(rf'{_TEXT}[^"\\]*"\s*[^\s,}}\]]')
"""A text with a quote that does not end it, and has no backslash."""
_MAY_CLOSE: Final = re.compile(r'"(?=\s*(?:[}\]]\s*[}\],]|,\s*"\w+"\s*:))')
"""A quote that may end a text: ends of objects follow it, or another key."""
_MOST_CLOSING: Final = 200


def lost_backslashes(head: Sequence[str]) -> Layer | None:
    """JSON without the backslashes before quotes in its texts, as a page shows Markdown."""
    if not any(map(_UNESCAPED.search, head)) or not gains(head, (f"{_escaped(line)}\n" for line in head)):
        return None
    return Layer(
        "lost-backslashes", "a view without the backslashes before quotes in JSON", lambda lines: map(_escaped, lines)
    )


def _escaped(line: str) -> str:
    """The line with the backslashes that its JSON needs; the unchanged line if that is not known."""
    begin, written, done = line.find("{"), line, 0
    while begin >= 0 and (wrong := _wrong_at(written, begin)) is not None:
        found = _last_text(written, done, wrong)
        if found is None:
            return line
        for close in islice(_MAY_CLOSE.finditer(written, found.end()), _MOST_CLOSING):
            text = written[: found.end()] + _in_json(written[found.end() : close.start()])
            tried = text + written[close.start() :]
            after = _wrong_at(tried, begin)
            if after is None or _last_text(tried, len(text), after):
                written, done = tried, len(text)
                break
        else:
            return line
    return written


def _last_text(line: str, begin: int, end: int) -> re.Match[str] | None:
    return max(_BEGINS_TEXT.finditer(line, begin, end), key=re.Match.end, default=None)


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _wrong_at(line: str, begin: int) -> int | None:
    """Where the JSON on a line is wrong, or ends before all texts do."""
    try:
        _, end = json.JSONDecoder().raw_decode(line, begin)
    except json.JSONDecodeError as error:
        return error.pos
    except RecursionError:
        return begin
    return end if '"' in line[end:] else None


# -- Comments ---------------------------------------------------------------------------------------------------------

_COMMENTED: Final = re.compile(r"""((?:[^"/#]|"(?:[^"\\]|\\.)*"|/(?!/)|(?<!\s)#)*+)[#/].*""")


def comments(head: Sequence[str]) -> Layer | None:
    """JSON to which a person added comments, each to the end of its line."""
    if not any(map(_COMMENTED.fullmatch, head)) or not gains(head, (f"{_uncommented(line)}\n" for line in head)):
        return None
    return Layer("comments", "comments in the JSON", lambda lines: map(_uncommented, lines))


def _uncommented(line: str) -> str:
    found = _COMMENTED.fullmatch(line)
    return found[1].rstrip() if found else line
