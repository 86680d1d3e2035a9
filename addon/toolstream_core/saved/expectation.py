"""The expected reading of saved responses: `.expect.json` next to a flow file. Shape: `docs/expect.schema.json`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from toolstream_core.errors import ToolstreamError
from toolstream_core.model import Kind
from toolstream_core.printable import counted, excerpt, first_difference, shown_json
from toolstream_core.saved.bare import EXPECTATION
from toolstream_core.saved.flow import LlmFlow

VERSION: Final = 1
"""The version of the format in `docs/expect.schema.json`."""
_UPDATE = "update it with: pytest --toolstream-update=fix"
_TYPES: Final = {
    "int": (int, "a number"),
    "str": (str, "a string"),
    "bool": (bool, "true or false"),
    "None": (type(None), "null"),
    "tuple": (list, "a list"),
}
"""The JSON type of a field and its words, by the start of the field's annotation."""
# A reviewer cannot see these characters, or they move others; a lone surrogate is not valid UTF-8.
_INVISIBLE = re.compile("[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_SHOWN = 48
"""Characters of a text that are shown from the first difference on."""
_BEFORE = 12
"""Characters that are shown before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """An intended tool call."""

    choice: int
    position: int
    """Its place among the calls of its choice."""
    kind: str
    id: str
    name: str
    arguments: str
    complete: bool = True
    guessed: bool = False

    def __str__(self) -> str:
        """For people: name and the start of the arguments."""
        return f"{shown_json(self.name)} {_from(self.arguments, 0)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFinding:
    """A defect at an event."""

    code: str
    name: str
    event: int
    """Number of the event, from 0."""
    call: int | None

    def __str__(self) -> str:
        call = "" if self.call is None else f" call {self.call}"
        return f"{self.code} {self.name} at event {self.event}{call}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedResponse:
    """A response. Fields with a default are written only if they differ from it."""

    dialect: str
    model: str | None
    status: int = 200
    streamed: bool = True
    events: int
    finish: tuple[str, ...]
    """Finish reasons in order of appearance."""
    ended: bool = True
    """Whether a finish reason or the protocol's terminal event was seen."""
    broken: str | None = None
    error: str | None = None
    """The first error in the body."""
    calls: tuple[ExpectedCall, ...]
    findings: tuple[ExpectedFinding, ...]


type Expectation = tuple[ExpectedResponse, ...]
"""The responses of one flow file, in its order."""
type Noun = ExpectedResponse | ExpectedCall | ExpectedFinding
_LISTS: Final[dict[str, type[ExpectedCall | ExpectedFinding]]] = {"calls": ExpectedCall, "findings": ExpectedFinding}


def expect_path(flow_path: Path) -> Path:
    """The path of the expectation of a flow file: `x.flow` → `x.expect.json`."""
    return flow_path.with_suffix(EXPECTATION)


def expectation_of(flows: Iterable[LlmFlow]) -> Expectation:
    """The current reading of the responses of one flow file."""
    return tuple(map(_response_of, flows))


def _response_of(saved: LlmFlow) -> ExpectedResponse:
    record = saved.record
    found: dict[str, Any] = {"dialect": record.protocol, "status": saved.status, "finish": tuple(record.finish)}
    for name, noun in _LISTS.items():
        names = [one.name for one in fields(noun)]
        found[name] = tuple(noun(**{key: getattr(one, key) for key in names}) for one in getattr(record, name))
    others = {one.name: getattr(record, one.name) for one in fields(ExpectedResponse) if one.name not in found}
    return ExpectedResponse(**others, **found)


def read_expectation(path: Path) -> Expectation:
    """The expectation in a file. Raises `ToolstreamError`, also if there is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ToolstreamError(f"no such file: {path}; create it with: pytest --toolstream-update=create") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ToolstreamError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return loads(text, str(path))


def loads(text: str, source: str = "the expectation") -> Expectation:
    """The expectation in `text`; `source` names it in errors. Raises `ToolstreamError`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolstreamError(f"{source} is not valid JSON: {error}") from error
    if isinstance(document, list):
        raise ToolstreamError(f"{source} has a format older than version {VERSION}; {_UPDATE}")
    if not isinstance(document, dict):
        raise ToolstreamError(f'{source} is not an expectation. Expected an object with "version" and "answers"')
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ToolstreamError(
            f"{source} has version {version}, but this toolstream supports versions up to {VERSION}; "
            "install a newer toolstream"
        )
    if version != VERSION or isinstance(version, bool):
        raise ToolstreamError(f'{source} lacks "version": {VERSION}; {_UPDATE}')
    _refuse_unknown(document, ("version", "answers"), source)
    if not isinstance(responses := document.get("answers"), list):
        raise ToolstreamError(f"{source} lacks the list 'answers'")
    return tuple(_read_response(one, f"{source}: answers[{at}]") for at, one in enumerate(responses))


def _read_response(value: Any, where: str) -> ExpectedResponse:
    read = _read(value, ExpectedResponse, where)
    if not all(isinstance(reason, str) for reason in read["finish"]):
        raise ToolstreamError(f"{where}.finish must be a list of strings")
    read["finish"] = tuple(read["finish"])
    for name, noun in _LISTS.items():
        read[name] = tuple(noun(**_read(one, noun, f"{where}.{name}[{at}]")) for at, one in enumerate(read[name]))
    for at, call in enumerate(read["calls"]):
        if call.kind not in set(Kind):
            raise ToolstreamError(f"{where}.calls[{at}].kind is {call.kind!r}; expected one of {', '.join(Kind)}")
    return ExpectedResponse(**read)


def _read(value: Any, noun: type[Noun], where: str) -> dict[str, Any]:
    """The fields of `noun`, each of its type."""
    if not isinstance(value, dict):
        raise ToolstreamError(f"{where} must be an object")
    known = {one.name: one for one in fields(noun)}
    _refuse_unknown(value, known, where)
    for name, one in known.items():
        if name not in value and one.default is MISSING:
            raise ToolstreamError(f"{where} lacks {name!r}")
        types = [_TYPES[part.partition("[")[0]] for part in str(one.type).split(" | ")]
        # To Python `true` is a number.
        if name in value and type(value[name]) not in [kind for kind, _ in types]:
            raise ToolstreamError(f"{where}.{name} must be {' or '.join(words for _, words in types)}")
    return dict(value)


def _refuse_unknown(value: dict[str, Any], known: Iterable[str], where: str) -> None:
    for name in value:
        if name not in known:
            raise ToolstreamError(
                f"{where} has the unknown field {name!r}; known are {', '.join(known)}. "
                "If a newer toolstream wrote it, install that version"
            )


def dumps(expectation: Expectation) -> str:
    """The text of a `.expect.json` file: valid UTF-8, a line for each call and finding."""
    responses = _lines("answers", [_response_text(response) for response in expectation], "  ")
    return f'{{\n  "version": {VERSION},\n{responses}\n}}\n'


def _response_text(response: ExpectedResponse) -> str:
    parts = [
        _lines(key, [_json(_written(one)) for one in value], "      ")
        if key in _LISTS
        else f'      "{key}": {_json(value)}'
        for key, value in _written(response).items()
    ]
    return "{\n" + ",\n".join(parts) + "\n    }"


def _lines(key: str, entries: Sequence[str], indent: str) -> str:
    if not entries:
        return f'{indent}"{key}": []'
    return f'{indent}"{key}": [\n' + ",\n".join(f"{indent}  {entry}" for entry in entries) + f"\n{indent}]"


def _written(noun: Noun) -> dict[str, Any]:
    """The fields that are written: those without a default, and those that differ from it."""
    values = {one.name: (getattr(noun, one.name), one.default) for one in fields(noun)}
    return {key: value for key, (value, default) in values.items() if default is MISSING or value != default}


def _json(value: Any) -> str:
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def differences(expected: Expectation, found: Expectation) -> list[str]:
    """One line for each difference, empty if there is none."""
    lines = [*_count(expected, found, "response")]
    for at, (one, other) in enumerate(zip(expected, found, strict=False)):
        lines += (f"response {at}: {line}" for line in _between(one, other))
    return lines


def _between(expected: ExpectedResponse, found: ExpectedResponse) -> Iterator[str]:
    yield from _fields(expected, found, "", but=_LISTS)
    yield from _count(expected.calls, found.calls, "call")
    for at, (one, other) in enumerate(zip_longest(expected.calls, found.calls)):
        if one is None:
            yield f"call {at}: not expected, found {other}"
        elif other is None:
            yield f"call {at}: expected {one}, not found"
        else:
            yield from _fields(one, other, f"call {at} ")
    missing = Counter(expected.findings) - Counter(found.findings)
    added = Counter(found.findings) - Counter(expected.findings)
    yield from (f"expected {one}, not found" for one in missing.elements())
    yield from (f"not expected, found {one}" for one in added.elements())
    if expected.findings != found.findings and not missing and not added:
        yield "the findings are in another order"


def _count(expected: Sequence[object], found: Sequence[object], noun: str) -> Iterator[str]:
    if len(expected) != len(found):
        yield f"expected {counted(len(expected), noun)}, found {len(found)}"


def _fields(expected: Noun, found: Noun, of: str, but: Iterable[str] = ()) -> Iterator[str]:
    for name in [one.name for one in fields(expected) if one.name not in but]:
        one, other = getattr(expected, name), getattr(found, name)
        if one == other:
            continue
        if isinstance(one, str) and isinstance(other, str) and max(len(one), len(other)) > _SHOWN:
            at = first_difference(one, other)
            yield f"{of}{name}: differs at character {at}: expected {_from(one, at)}, found {_from(other, at)}"
        else:
            yield f"{of}{name}: expected {shown_json(one)}, found {shown_json(other)}"


def _from(text: str, at: int) -> str:
    start = max(0, at - _BEFORE)
    return excerpt(text, start, at - start + _SHOWN)
