"""Strings for the parameters of a tool, by name, format and pattern: they fit the schema, and have no effect."""

from __future__ import annotations

import random
import re
import shutil
import string
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from toolstream_core.synthetic.harmless import words_of

_CONTENT: Final = "A sample file of toolstream.\n"


@cache
def _made() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="toolstream-")


def absent(stem: str) -> str:
    """A path that does not exist, in an existing folder."""
    folder = Path(_made().name, "absent")
    folder.mkdir(exist_ok=True)
    return str(folder / stem)


def sample_file(stem: str) -> str:
    """The path of a small text file."""
    path = Path(sample_folder("sample"), f"{stem}.txt")
    path.write_text(_CONTENT, encoding="utf-8")
    return str(path)


def sample_folder(stem: str) -> str:
    """The path of a folder with a small text file."""
    folder = Path(_made().name, stem)
    folder.mkdir(exist_ok=True)
    (folder / "sample.txt").write_text(_CONTENT, encoding="utf-8")
    return str(folder)


def clear_places() -> None:
    """Remove the files that calls have made at the paths that did not exist."""
    if _made.cache_info().currsize:
        shutil.rmtree(Path(_made().name, "absent"), ignore_errors=True)
        Path(_made().name, "absent").mkdir(exist_ok=True)


URL: Final = "http://127.0.0.1:9/"
"""Port 9 (discard) is closed nearly everywhere."""
_FORMATS: Final[dict[str, tuple[str, ...]]] = {
    "date": ("2026-03-01", "2026-03-02"),
    "date-time": ("2026-03-01T09:30:00Z", "2026-03-02T10:45:00Z"),
    "time": ("09:30:00Z", "10:45:00Z"),
    "duration": ("PT15M", "PT30M"),
    "email": ("ada@toolstream.invalid", "grace@toolstream.invalid"),
    "hostname": ("toolstream.invalid", "other.toolstream.invalid"),
    "ipv4": ("192.0.2.1", "192.0.2.2"),
    "ipv6": ("2001:db8::1", "2001:db8::2"),
    "uri": (URL, f"{URL}2"),
    "uri-reference": (URL, f"{URL}2"),
    "url": (URL, f"{URL}2"),
    "uuid": ("3f2504e0-4f89-41d3-9a0c-0305e82c3301", "9b2d6f1c-7a05-4c8e-8f3b-51c0a7de4402"),
    "json-pointer": ("/no-such-key", "/no-such-key-2"),
    "regex": ("^a+$", "^b+$"),
    "byte": ("dGV4dA==", "bW9yZQ=="),
}
_BY_NAME: Final = (
    (re.compile(r"city|town|place|location|origin|destination", re.IGNORECASE), ("Lisbon", "Nairobi", "Oslo")),
    (re.compile(r"country", re.IGNORECASE), ("Portugal", "Kenya", "Norway")),
    (re.compile(r"zone", re.IGNORECASE), ("Africa/Nairobi", "Europe/Oslo")),
    (re.compile(r"host|domain", re.IGNORECASE), _FORMATS["hostname"]),
    (re.compile(r"query|question|prompt|search", re.IGNORECASE), ("weather in Lisbon", "opening hours")),
    (re.compile(r"expression|formula", re.IGNORECASE), ("1 + 1", "1 + 2")),
    (re.compile(r"date|day", re.IGNORECASE), ("2026-03-01", "2026-03-02")),
    (re.compile(r"mail", re.IGNORECASE), _FORMATS["email"]),
    (re.compile(r"name|user|person", re.IGNORECASE), ("Ada", "Grace")),
)
_USUAL: Final = ("first light", "green door", "quiet river")
_ABSENT: Final = "no-such-path"
_CANDIDATES: Final = (
    *(text for _, texts in _BY_NAME for text in texts),
    *(text for texts in _FORMATS.values() for text in texts[:1]),
    *("a", "A", "1", "ab", "AB", "12", "abc", "ABC", "123", "1234", "12345", "a1", "A1", "AB12", "a-b", "a_b", "1.0"),
    *("1.2.3", "#ff8800", "+15550100", "en", "en-US", "USD", "10:30", "2026-03", "v1", "@ada"),
)
"""Texts that are tried for a pattern."""
_ENDINGS: Final = ("", ".txt", ".md", ".json", ".py", ".ts", ".js", ".csv", ".html", ".ipynb", ".pdf", ".png", ".yaml")
_KINDS: Final = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
_LETTERS: Final = str.maketrans(string.digits, string.ascii_lowercase[: len(string.digits)])
_WIDE: Final = " 🌍"
_FEW: Final = 999


@dataclass(frozen=True, slots=True)
class ForTool:
    """The tool whose arguments are made."""

    name: str = ""
    reads: bool = False
    """Whether it is harmless: a path argument names an existing file or folder then."""

    @property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return frozenset(words_of(self.name))


NO_TOOL: Final = ForTool()


class _Wanted(NamedTuple):
    """The facts that decide on a text with an effect of its own."""

    name: str
    """The parameter's."""
    tool: ForTool
    number: int
    """From 1 on: another one for each other text."""
    wide: str
    """The text to append if any character is allowed."""

    def numbered(self, before: str = "") -> str:
        """The number, unless it is the first one."""
        return f"{before}{self.number}" if self.number > 1 else ""


@dataclass(frozen=True, slots=True)
class _Safe:
    """A kind of text whose use has an effect: the parameters with it, and harmless values."""

    words: frozenset[str]
    """In the name of the parameter."""
    make: Callable[[_Wanted], str]
    described: frozenset[str] = frozenset()
    """In the description of a parameter whose name is not known."""
    of_tools: frozenset[str] = frozenset()
    """Words of tools whose parameters `also` have it."""
    also: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _path(wanted: _Wanted) -> str:
    words, tool, end = words_of(wanted.name), wanted.tool, f"{wanted.numbered('-')}{wanted.wide}"
    if not tool.reads:
        return absent(f"no-such-{'-'.join(words) or 'path'}{end}")
    is_folder = _FOLDER & {*words} or (tool.words & _READS_FOLDER and not _FILE & {*words})
    return sample_folder(f"sample{end}") if is_folder else sample_file(f"sample{end}")


_FOLDER: Final = _words("dir dirs directory directories folder folders cwd workdir root roots workspace")
_FILE: Final = _words("file files filename filenames filepath filepaths notebook")
_READS_FOLDER: Final = _words(
    "list ls tree glob grep rg ripgrep search find directory directories dir dirs folder folders"
)
_SAFE: Final = (
    _Safe(
        _words("sql statement statements"),
        lambda wanted: f"SELECT {wanted.number}{' --' if wanted.wide else ''}{wanted.wide}",
        described=_words("sql"),
        of_tools=_words("sql query queries db database postgres mysql sqlite bigquery snowflake duckdb"),
        also=_words("query queries text input"),
    ),
    _Safe(
        _words("command commands cmd cmds argv shell script bash"),
        lambda wanted: f"true{wanted.numbered(' ')}{wanted.wide}",
        described=_words("shell"),
        of_tools=_words("bash shell exec terminal command cmd console zsh powershell"),
        also=_words("input text args arguments line"),
    ),
    _Safe(
        _words("python javascript js source_code program"),
        lambda wanted: f'"{wanted.number}{wanted.wide}"' if wanted.wide else f"{wanted.number}",
        of_tools=_words("python code javascript js node eval evaluate repl run exec execute"),
        also=_words("code source input function"),
    ),
    _Safe(
        _words("url urls uri uris link links href endpoint webhook website site"),
        lambda wanted: f"{URL}{wanted.numbered()}",
        described=_words("url"),
    ),
    _Safe(
        _FOLDER | _FILE | _words("path paths src dst dest filename"),
        _path,
        described=_words("path paths filename filepath"),
        of_tools=_words(
            "file files folder folders directory dir path notebook document move mv cp rm mkdir rmdir touch "
            "unlink write"
        ),
        also=_words(
            "source sources destination target targets from to name names old new item items title document key"
        ),
    ),
)
_URL, _PATH = _SAFE[-2:]
_ABOUT: Final = _words(
    "type types pattern patterns id ids extension extensions size mode encoding content contents text count format "
    "language description timeout"
)
"""Last words of parameters that describe a file, a command or a URL."""
_LIKE_PATH: Final = re.compile(r"\.{1,2}([\\/].*)?|[~/\\].*|[A-Za-z]:\\.*|.*[\\/]|[^\s@]+\.[A-Za-z]\w{0,4}")
"""A default or an example that may name a file."""


def string_value(
    schema: dict[str, Any], path: str, random: random.Random, *, wide_characters: bool, varied: bool, tool: ForTool
) -> str:
    """A text that keeps to format, pattern and length; `path` ends with the property's name.

    `varied`: any of those that are known, with another letter or digit where that fits too.
    """
    wide = _WIDE if wide_characters else ""
    safe = safe_kind(schema, path, tool)
    if safe is not None:
        number = (random.randint(2, _FEW) if varied else 1) + _index(path)
        made = _safe_value(safe, schema, _Wanted(_name(path), tool, number, wide))
        if made is not None:
            return made
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        text = _fitting(pattern, schema)
        return _changed(text, pattern, random) if varied else text
    form = schema.get("format")
    if form in _FORMATS:
        return random.choice(_FORMATS[form]) if varied else _FORMATS[form][0]
    text = _sized(random.choice(_texts(path)), schema)
    text = _changed(text, "", random) if varied else text
    return text + wide if _has_room(text, schema) else text


def safe_kind(schema: dict[str, Any], path: str, tool: ForTool) -> _Safe | None:
    """The kind of text with an effect of a parameter."""
    name, form = _name(path), str(schema.get("format") or "")
    words = words_of(name)
    if not words or words[-1] not in _ABOUT:
        for safe in _SAFE:
            if safe.words & {*words} or (safe.also & {*words} and safe.of_tools & tool.words):
                return safe
    described = {*words_of(str(schema.get("description") or "")), *words_of(form)}
    if form in _FORMATS or any(known.search(name) for known, _ in _BY_NAME[:-1]):
        described &= {"sql"}
    found = next((safe for safe in _SAFE if safe.described & described), None)
    return found or _kind_of_example(schema, tool)


def _kind_of_example(schema: dict[str, Any], tool: ForTool) -> _Safe | None:
    """The kind of the text that the schema suggests."""
    given = [schema.get("default"), schema.get("example"), *_listed(schema.get("examples"))[:1]]
    for text in (one for one in given if isinstance(one, str)):
        if "://" in text:
            return _URL
        if _LIKE_PATH.fullmatch(text) or ("/" in text and not tool.reads):
            return _PATH
    return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _safe_value(safe: _Safe, schema: dict[str, Any], wanted: _Wanted) -> str | None:
    """The kind's text, unchanged or longer, never shortened: a part of a path is another path."""
    tried = [safe.make(wanted._replace(wide=one)) for one in dict.fromkeys((wanted.wide, ""))]
    if safe is _PATH:
        stem = f"{_ABSENT}{wanted.numbered('-')}"
        tried += [f"file://{tried[-1]}", *(f"{before}{stem}{end}" for before in ("", "./", "/") for end in _ENDINGS)]
        tried += [re.sub(r"\W", joint, stem) for joint in ("_", "")]
        tried.append(tried[-1].translate(_LETTERS))
    elif safe is _URL:
        tried += [tried[-1].replace("http:", scheme) for scheme in ("https:", "ws:", "wss:")]
        tried += [_FORMATS["hostname"][0], f"https://{_FORMATS['hostname'][0]}/{wanted.numbered()}"]
    pattern = schema.get("pattern")
    fitting = _compiled(pattern) if isinstance(pattern, str) else re.compile("")
    fits = (text for one in tried if fitting.search(text := _lengthened(one, schema)) and _sized(text, schema) == text)
    return next(fits, None)


def _lengthened(text: str, schema: dict[str, Any]) -> str:
    least = schema.get("minLength")
    return text if not isinstance(least, int) or len(text) >= least else f"{text} ".ljust(least, "1")


def _changed(text: str, pattern: str, random: random.Random) -> str:
    """The text with one letter or digit changed that still matches the pattern; unchanged if that is impossible."""
    wanted = _compiled(pattern)
    places_ = random.sample(range(len(text)), len(text))
    others = ((at, other) for at in places_ for other in _others(text[at], random))
    changed = (f"{text[:at]}{other}{text[at + 1 :]}" for at, other in others)
    return next((one for one in changed if wanted.search(one)), text)


def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, or one that matches nothing if Python cannot compile it."""
    try:
        return re.compile(pattern)
    except re.error:
        return re.compile(r"(?!)")


def _others(character: str, random: random.Random) -> list[str]:
    """The other characters of the same kind, in any order."""
    kind = next((kind for kind in _KINDS if character in kind), "")
    return random.sample(others := [one for one in kind if one != character], len(others))


def _name(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path.rpartition(".")[2])


def _index(path: str) -> int:
    """The place in the innermost array."""
    found = re.search(r"\[(\d+)\]$", path)
    return int(found[1]) if found else 0


def _texts(path: str) -> tuple[str, ...]:
    return next((texts for known, texts in _BY_NAME if known.search(_name(path))), _USUAL)


def _fitting(pattern: str, schema: dict[str, Any]) -> str:
    """A text that the pattern matches, if one is known."""
    wanted = _compiled(pattern)
    longer: Sequence[str] = [_sized(character, schema) for character in "a0A"]
    tried = [text for text in _CANDIDATES if _sized(text, schema) == text]
    return next((text for text in (*tried, *longer) if wanted.search(text)), _sized(_USUAL[0], schema))


def _sized(text: str, schema: dict[str, Any]) -> str:
    """A text cut or repeated to the length that is allowed."""
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least:
        text = (text * (least // max(len(text), 1) + 1))[:least]
    return text[:most] if isinstance(most, int) and most >= 0 else text


def _has_room(text: str, schema: dict[str, Any]) -> bool:
    most = schema.get("maxLength")
    return not isinstance(most, int) or len(text) + len(_WIDE) <= most
