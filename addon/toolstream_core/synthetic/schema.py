"""Arguments for a tool: values that fit its JSON schema and have no effect."""

from __future__ import annotations

import math
import random
import re
import shutil
import string
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.model import ABSENT
from toolstream_core.synthetic.harmless import has_effect, is_harmless, words_of
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from toolstream_core.model import Json
    from toolstream_core.protocols.requests.tools import OfferedTool


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
    """Remove what calls have made of the paths that did not exist."""
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
    """Whether it is harmless, so that a path argument names a file or folder that exists."""

    @property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return frozenset(words_of(self.name))


NO_TOOL: Final = ForTool()


@dataclass(frozen=True, slots=True)
class _Safe:
    """A kind of text with an effect of its own: which parameters take it, and what they get."""

    words: frozenset[str]
    """In the name of the parameter."""
    make: Callable[[str, int, str, ForTool], str]
    """From the parameter's name, a number from 1 on, what to append where any character is allowed, and the tool."""
    described: frozenset[str] = frozenset()
    """In the description of a parameter whose name is not known."""
    of_tools: frozenset[str] = frozenset()
    """Tools with such a word take it as `also` too."""
    also: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pattern_number(number: int, before: str = "") -> str:
    return f"{before}{number}" if number > 1 else ""


def _command(_name: str, number: int, wide: str, _tool: ForTool) -> str:
    return f"true{_pattern_number(number, ' ')}{wide}"


def _code(_name: str, number: int, wide: str, _tool: ForTool) -> str:
    return f'"{number}{wide}"' if wide else f"{number}"


def _sql(_name: str, number: int, wide: str, _tool: ForTool) -> str:
    return f"SELECT {number}{' --' if wide else ''}{wide}"


def _url(_name: str, number: int, _wide: str, _tool: ForTool) -> str:
    return f"{URL}{_pattern_number(number)}"


def _path(name: str, number: int, wide: str, tool: ForTool) -> str:
    stem = f"{'-'.join(words_of(name)) or 'path'}{_pattern_number(number, '-')}{wide}"
    if not tool.reads:
        return absent(f"no-such-{stem}")
    words = frozenset(words_of(name))
    if words & _FOLDER or (tool.words & _READS_FOLDER and not words & _FILE):
        return sample_folder(f"sample{_pattern_number(number, '-')}{wide}")
    return sample_file(f"sample{_pattern_number(number, '-')}{wide}")


_FOLDER: Final = _words("dir dirs directory directories folder folders cwd workdir root roots workspace")
_FILE: Final = _words("file files filename filenames filepath filepaths notebook")
_READS_FOLDER: Final = _words(
    "list ls tree glob grep rg ripgrep search find directory directories dir dirs folder folders"
)
_SAFE: Final = (
    _Safe(
        _words("sql statement statements"),
        _sql,
        described=_words("sql"),
        of_tools=_words("sql query queries db database postgres mysql sqlite bigquery snowflake duckdb"),
        also=_words("query queries text input"),
    ),
    _Safe(
        _words("command commands cmd cmds argv shell script bash"),
        _command,
        described=_words("shell"),
        of_tools=_words("bash shell exec terminal command cmd console zsh powershell"),
        also=_words("input text args arguments line"),
    ),
    _Safe(
        _words("python javascript js source_code program"),
        _code,
        of_tools=_words("python code javascript js node eval evaluate repl run exec execute"),
        also=_words("code source input function"),
    ),
    _Safe(_words("url urls uri uris link links href endpoint webhook website site"), _url, described=_words("url")),
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
"""Last words of parameters that are about a file, a command or a URL, and are none."""
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
        made = _safe_value(safe, schema, _name(path), (number, wide), tool)
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
    """The kind of text with an effect of its own that the parameter takes."""
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


def _safe_value(safe: _Safe, schema: dict[str, Any], name: str, variant: tuple[int, str], tool: ForTool) -> str | None:
    """The kind's text, as it is or longer, never cut: a part of a path is another path."""
    number, wide = variant
    tried = [safe.make(name, number, one, tool) for one in dict.fromkeys((wide, ""))]
    if safe is _PATH:
        stem = f"{_ABSENT}{_pattern_number(number, '-')}"
        tried += [f"file://{tried[-1]}", *(f"{before}{stem}{end}" for before in ("", "./", "/") for end in _ENDINGS)]
        tried += [re.sub(r"\W", joint, stem) for joint in ("_", "")]
        tried.append(tried[-1].translate(_LETTERS))
    elif safe is _URL:
        tried += [tried[-1].replace("http:", scheme) for scheme in ("https:", "ws:", "wss:")]
        tried += [_FORMATS["hostname"][0], f"https://{_FORMATS['hostname'][0]}/{_pattern_number(number)}"]
    pattern = schema.get("pattern")
    wanted = _compiled(pattern) if isinstance(pattern, str) else re.compile("")
    fits = (text for one in tried if wanted.search(text := _lengthened(one, schema)) and _sized(text, schema) == text)
    return next(fits, None)


def _lengthened(text: str, schema: dict[str, Any]) -> str:
    least = schema.get("minLength")
    return text if not isinstance(least, int) or len(text) >= least else f"{text} ".ljust(least, "1")


def _changed(text: str, pattern: str, random: random.Random) -> str:
    """The text with one letter or digit changed, so that the pattern still matches; where that cannot be, as it is."""
    wanted = _compiled(pattern)
    places_ = random.sample(range(len(text)), len(text))
    others = ((at, other) for at in places_ for other in _others(text[at], random))
    changed = (f"{text[:at]}{other}{text[at + 1 :]}" for at, other in others)
    return next((one for one in changed if wanted.search(one)), text)


def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, or one that matches nothing where Python does not know it."""
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
    """A text that the pattern matches, where one is at hand."""
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


type Schema = dict[str, Any]

_MAX_DEPTH: Final = 8
"""From this depth on only what is required is made."""
_MAX_REFERENCES: Final = 32
_OPTIONAL: Final = 2
"""Optional properties of another value, at most."""
_PREVIEWS: Final = frozenset({"dry", "preview", "simulate"})
"""Words of switches that a careful person turns on."""
_UNIQUE_TRIES: Final = 16
_USUAL_MOST: Final = 10
"""Numbers without bounds go to here."""
_VARIANTS: Final = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class SchemaValues:
    """Makes values for one tool."""

    root: Json
    """The schema in which `$ref` points."""
    seed: str
    wide_characters: bool = False
    """Whether texts that may be any are to have a character beyond the first 65,536."""
    varied: bool = False
    """Whether any value that the schema allows may come, instead of the one that it suggests."""
    tool: ForTool = NO_TOOL

    def arguments(self) -> dict[str, Json]:
        """An object that fits the schema of a tool's parameters."""
        if not isinstance(self.root, dict):
            return {}
        value = self.value(self.root, "", 0)
        return value if isinstance(value, dict) else {}

    def value(self, given: Json, path: str, depth: int) -> Json:
        """A value that fits `given`, a schema inside the root."""
        schema = self._resolved(given, path, depth) if depth <= 2 * _MAX_DEPTH else {"type": "null"}
        chosen = self._chosen(schema, path)
        if chosen is not ABSENT:
            return chosen
        match _type_of(schema):
            case "object":
                return self._object(schema, path, depth)
            case "array":
                return self._array(schema, path, depth)
            case "integer" | "number" as kind:
                return _number(schema, complete=kind == "integer", varied=self.varied, random=self._random(path))
            case "boolean":
                return self._switch(path)
            case "null":
                return None
        drawn, wide = self._random(path), self.wide_characters
        return string_value(schema, path, drawn, wide_characters=wide, varied=self.varied, tool=self.tool)

    def _switch(self, path: str) -> bool:
        if self.varied:
            return self._random(path).choice((False, True))
        return bool(_PREVIEWS & {*words_of(path.rpartition(".")[2])})

    def _chosen(self, schema: Schema, path: str) -> Json:
        """A value that the schema itself names; `ABSENT` where there is none."""
        if "const" in schema:
            return schema["const"]
        choices = [one for one in json_access.items(schema.get("enum")) if self.varied or one is not None]
        choices = [one for one in choices if not has_effect(words_of(str(one)))] or choices
        usual = schema.get("default")
        if choices:
            return usual if usual in choices and not self.varied else self._random(path).choice(choices)
        if self.varied or (_type_of(schema) == "string" and safe_kind(schema, path, self.tool) is not None):
            return ABSENT
        named = [*json_access.items(schema.get("examples"))[:1], usual, schema.get("example")]
        return next((one for one in named if isinstance(one, str | int | float)), ABSENT)

    def _object(self, schema: Schema, path: str, depth: int) -> dict[str, Json]:
        properties = json_access.get(schema, "properties")
        properties = properties if isinstance(properties, dict) else {}
        required = [name for name in json_access.items(schema.get("required")) if isinstance(name, str)]
        optional = [name for name in properties if name not in required]
        least = schema.get("minProperties")
        needed = optional[: max(0, least - len(required))] if isinstance(least, int) else []
        needed += self._more([name for name in optional if name not in needed], path) if depth < _MAX_DEPTH else []
        names = [name for name in properties if name in required or name in needed]
        names += [name for name in required if name not in properties]
        return {name: self.value(properties.get(name, {}), f"{path}.{name}", depth + 1) for name in names}

    def _more(self, optional: list[str], path: str) -> list[str]:
        """Optional properties that make another value, without those whose names mean an effect."""
        plain = [name for name in optional if not has_effect(words_of(name))]
        drawn = self._random(path)
        return drawn.sample(plain, drawn.randint(0, min(_OPTIONAL, len(plain)))) if self.varied else []

    def _array(self, schema: Schema, path: str, depth: int) -> list[Json]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 2)
        heads = json_access.items(schema.get("prefixItems"))
        usual = max(len(heads), 1 if depth < _MAX_DEPTH else 0)
        bounded = isinstance(least, int) and isinstance(most, int)
        count = max(least, min(usual, most)) if bounded else usual
        if self.varied and bounded and depth < _MAX_DEPTH:
            longest = count if schema.get("uniqueItems") is True else most
            count = self._random(path).randint(least, max(least, min(count + 1, longest)))
        schemas = [*heads[:count], *[schema.get("items", {})] * (count - len(heads))]
        made = [self.value(one, f"{path}[{at}]", depth + 1) for at, one in enumerate(schemas)]
        return self._distinct(made, schemas, path, depth) if schema.get("uniqueItems") is True else made

    def _distinct(self, made: list[Json], schemas: list[Json], path: str, depth: int) -> list[Json]:
        """The items, each made again while an earlier one equals it."""
        varied = replace(self, varied=True)
        for at, schema in enumerate(schemas):
            for more in range(1, _UNIQUE_TRIES):
                if made[at] not in made[:at]:
                    break
                made[at] = varied.value(schema, f"{path}[{at + more * len(made)}]", depth + 1)
        return made

    def _resolved(self, given: Json, path: str, depth: int) -> Schema:
        """The schema with its references followed, and one of its variants taken."""
        schema = given if isinstance(given, dict) else {}
        for _ in range(_MAX_REFERENCES):
            if isinstance(schema.get("$ref"), str):
                rest = {key: value for key, value in schema.items() if key != "$ref"}
                schema = {**self._referred(schema["$ref"]), **rest}
            elif variant := next((schema[key] for key in _VARIANTS if json_access.items(schema.get(key))), None):
                rest = {key: value for key, value in schema.items() if key not in _VARIANTS}
                schema = _merged(rest, self._variant(json_access.items(variant), path, depth))
            elif parts := json_access.items(schema.get("allOf")):
                rest = {key: value for key, value in schema.items() if key != "allOf"}
                schema = rest
                for part in parts:
                    schema = _merged(schema, self._resolved(part, path, depth))
            else:
                break
        return schema

    def _variant(self, variants: list[Json], path: str, depth: int) -> Schema:
        schemas = [one for one in variants if isinstance(one, dict)]
        if self.varied and schemas and depth < _MAX_DEPTH:
            return self._random(path).choice(schemas)
        return _preferred(variants, shallow=depth >= _MAX_DEPTH)

    def _referred(self, reference: str) -> Schema:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in reference.removeprefix("#").split("/")[1:]]
        found = json_access.get(self.root, *steps) if reference.startswith("#") else ABSENT
        return found if isinstance(found, dict) else {}

    def _random(self, path: str) -> random.Random:
        return random.Random(f"{self.seed}|{path}")


def _preferred(variants: list[Json], *, shallow: bool) -> Schema:
    """The first variant that is more than null; null, where there is such, if the value is to end soon."""
    null = [one for one in variants if json_access.get(one, "type") == "null"]
    more = [one for one in variants if isinstance(one, dict) and one not in null]
    ranked: list[Schema] = [*null, *more] if shallow else [*more, *null]
    return ranked[0] if ranked else {}


def _type_of(schema: Schema) -> str:
    kind = schema.get("type")
    kinds = [one.lower() for one in (kind if isinstance(kind, list) else [kind]) if isinstance(one, str)]
    named = next((one for one in kinds if one != "null"), "null" if kinds else "")
    if named:
        return named
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def _merged(schema: Schema, other: Schema) -> Schema:
    """Both schemas' demands."""
    merged = {**schema, **other}
    for key in ("properties", "required"):
        if isinstance(schema.get(key), dict) and isinstance(other.get(key), dict):
            merged[key] = {**schema[key], **other[key]}
        elif isinstance(schema.get(key), list) and isinstance(other.get(key), list):
            merged[key] = [*dict.fromkeys([*schema[key], *other[key]])]
    return merged


def _number(schema: Schema, *, complete: bool, varied: bool, random: random.Random) -> Json:
    """A number between the bounds, and a multiple where one is wanted; an integer if the bounds allow it.

    `varied`: if they allow several.
    """
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    low = max((one for one in (_bound(schema, "minimum"), above) if one is not None), default=None)
    high = min((one for one in (_bound(schema, "maximum"), below) if one is not None), default=None)
    step = _bound(schema, "multipleOf")
    span = _USUAL_MOST * (step or 1)
    if low is None:
        low = 1 if high is None or high >= _USUAL_MOST else high - span
    if high is None:
        high = low + span
    multiples = [step] if step else [1.0] if complete else [1.0, (high - low) / 4 or 1.0]
    ranges = [(one, *_range(one, (low, high), (above, below))) for one in multiples]
    enough = (one for one in ranges if one[1] + varied <= one[2])
    multiple, first, last = next(enough, ranges[-1])
    value = multiple * random.randint(first, max(first, min(last, first + _USUAL_MOST)))
    return int(value) if complete or float(value).is_integer() else value


def _range(
    multiple: float, bounds: tuple[float, float], excluded: tuple[float | None, float | None]
) -> tuple[int, int]:
    """The least and the largest factor of the multiples between the bounds."""
    first, last = math.ceil(bounds[0] / multiple), math.floor(bounds[1] / multiple)
    return first + (first * multiple == excluded[0]), last - (last * multiple == excluded[1])


def _bound(schema: Schema, key: str) -> float | None:
    found = schema.get(key)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


_USUAL_TRIES: Final = 8
"""Draws of usual values, before draws of any value that the schema allows."""
_TRIES: Final = 64
"""Even of two values that are equally likely, one is missed by all draws but once in 2⁶³."""


def distinct_arguments(
    tool: OfferedTool, seed: str, taken: Collection[Json], *, wide_characters: bool = False
) -> dict[str, Json] | None:
    """Arguments for `tool` that are none of `taken`; `None` where the schema seems to allow no other.

    The same for the same seed. `wide_characters` as in `SchemaValues`.
    """
    about = ForTool(tool.name, reads=is_harmless(tool))
    for attempt in range(_TRIES):
        drawn = f"{seed}|{attempt}" if attempt else seed
        varied = attempt >= _USUAL_TRIES
        values = SchemaValues(tool.schema, drawn, wide_characters=wide_characters, varied=varied, tool=about)
        made = values.arguments()
        if made not in taken:
            return made
    return None
