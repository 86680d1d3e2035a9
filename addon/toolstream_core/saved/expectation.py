"""What a saved response has to be read as: `.expect.json` beside a flow file."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import MISSING, dataclass, fields
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.errors import ToolstreamError
from toolstream_core.model import Kind
from toolstream_core.saved.layout import EXPECTATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from toolstream_core.model import Call, Finding
    from toolstream_core.saved.flow import Fixture


VERSION: Final = 1
"""Of the form that `docs/expect.schema.json` describes."""
OK: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """One tool call, as it was meant."""

    choice: int
    position: int
    """Its place among the calls of its choice."""
    kind: str
    id: str
    name: str
    arguments: str
    complete: bool = True
    guessed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFinding:
    """One defect, where it shows."""

    code: str
    name: str
    event: int
    """Number of the event, from 0."""
    call: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAnswer:
    """One answer. Fields with a default are written only where they differ from it."""

    dialect: str
    model: str | None
    status: int = OK
    streamed: bool = True
    events: int
    finish: tuple[str, ...]
    """Finish reasons in order of appearance."""
    ended: bool = True
    """Whether a finish reason or the protocol's terminal event was seen."""
    broken: str | None = None
    """How the connection broke, if it did."""
    error: str | None = None
    """The first error in the body."""
    calls: tuple[ExpectedCall, ...]
    findings: tuple[ExpectedFinding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The answers of one flow file, in its order."""

    answers: tuple[ExpectedAnswer, ...]


def expect_path(flow_path: Path) -> Path:
    """Where the expectation of a flow file belongs: `x.flow` → `x.expect.json`."""
    return flow_path.with_suffix(EXPECTATION)


def expectation_of(fixtures: Iterable[Fixture]) -> Expectation:
    """What the fixtures of one flow file are read as now."""
    return Expectation(answers=tuple(_answer(fixture) for fixture in fixtures))


def _answer(fixture: Fixture) -> ExpectedAnswer:
    record = fixture.record
    return ExpectedAnswer(
        dialect=record.dialect,
        model=record.model,
        status=fixture.status,
        streamed=record.streamed,
        events=record.events,
        finish=tuple(record.finish),
        ended=record.ended,
        broken=record.broken,
        error=record.error,
        calls=tuple(_call(call) for call in record.calls),
        findings=tuple(_finding(finding) for finding in record.findings),
    )


def _call(call: Call) -> ExpectedCall:
    return ExpectedCall(
        choice=call.choice,
        position=call.position,
        kind=str(call.kind),
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        complete=call.complete,
        guessed=call.guessed,
    )


def _finding(finding: Finding) -> ExpectedFinding:
    return ExpectedFinding(code=finding.code, name=finding.name, event=finding.event, call=finding.call)


_UPDATE = "update it with: pytest --toolstream-update=fix"
_TYPES = {"int": "a number", "str": "a string", "bool": "true or false", "None": "null", "tuple": "a list"}


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
    answers = _list(document, "answers", source)
    return Expectation(
        answers=tuple(_answer_read(answer, f"{source}: answers[{at}]") for at, answer in enumerate(answers))
    )


def _answer_read(value: Any, where: str) -> ExpectedAnswer:
    said = _object(value, ExpectedAnswer, where)
    reasons = said["finish"]
    if not all(isinstance(reason, str) for reason in reasons):
        raise ToolstreamError(f"{where}.finish must be a list of strings")
    said["finish"] = tuple(reasons)
    for key, noun in (("calls", ExpectedCall), ("findings", ExpectedFinding)):
        entries = [_object(one, noun, f"{where}.{key}[{at}]") for at, one in enumerate(said[key])]
        said[key] = tuple(noun(**entry) for entry in entries)
    for at, call in enumerate(said["calls"]):
        if call.kind not in set(Kind):
            raise ToolstreamError(f"{where}.calls[{at}].kind is {call.kind!r}; expected one of {', '.join(Kind)}")
    return ExpectedAnswer(**said)


def _object(value: Any, noun: type[ExpectedAnswer | ExpectedCall | ExpectedFinding], where: str) -> dict[str, Any]:
    """The fields of `noun`, each of its type."""
    if not isinstance(value, dict):
        raise ToolstreamError(f"{where} must be an object")
    known = {one.name: one for one in fields(noun)}
    _refuse_unknown(value, tuple(known), where)
    for name, one in known.items():
        if name not in value and one.default is MISSING:
            raise ToolstreamError(f"{where} lacks {name!r}")
        if name in value and not _is(value[name], str(one.type)):
            raise ToolstreamError(f"{where}.{name} must be {_words(str(one.type))}")
    return dict(value)


def _is(value: Any, annotation: str) -> bool:
    """Whether a JSON value has the type that a field's annotation names."""
    kinds: dict[str, type] = {"int": int, "str": str, "bool": bool, "None": type(None), "tuple": list}
    wanted = [kinds[name.partition("[")[0]] for name in annotation.split(" | ")]
    # To Python `true` is a number.
    return type(value) in wanted


def _words(annotation: str) -> str:
    return " or ".join(_TYPES[name.partition("[")[0]] for name in annotation.split(" | "))


def _list(document: dict[str, Any], key: str, where: str) -> list[Any]:
    value = document.get(key)
    if not isinstance(value, list):
        raise ToolstreamError(f"{where} lacks the list {key!r}")
    return value


def _refuse_unknown(value: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in value:
        if name not in known:
            raise ToolstreamError(
                f"{where} has the unknown field {name!r}; known are {', '.join(known)}. "
                "If a newer toolstream wrote it, install that version"
            )


# A reviewer does not see these, or sees other characters moved by them; a lone surrogate is not valid UTF-8.
_INVISIBLE = re.compile("[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_LISTS = ("calls", "findings")


def dumps(expectation: Expectation) -> str:
    """The text of a `.expect.json` file, always encodable in UTF-8. Shape: `docs/expect.schema.json`."""
    lines = ["{", f'  "version": {VERSION},']
    if not expectation.answers:
        return "\n".join([*lines, '  "answers": []', "}", ""])
    answers = ",\n".join("\n".join(_answer_object(answer)) for answer in expectation.answers)
    return "\n".join([*lines, '  "answers": [', answers, "  ]", "}", ""])


def _answer_object(answer: ExpectedAnswer) -> Iterator[str]:
    yield "    {"
    said = _said(answer)
    for at, (key, value) in enumerate(said.items()):
        comma = "," if at < len(said) - 1 else ""
        if key in _LISTS and value:
            yield f'      "{key}": ['
            yield from _lines(value)
            yield f"      ]{comma}"
        else:
            yield f'      "{key}": {_json(list(value) if isinstance(value, tuple) else value)}{comma}'
    yield "    }"


def _lines(entries: Sequence[ExpectedCall | ExpectedFinding]) -> Iterator[str]:
    for at, entry in enumerate(entries):
        yield f"        {_json(_said(entry))}{',' if at < len(entries) - 1 else ''}"


def _said(noun: ExpectedAnswer | ExpectedCall | ExpectedFinding) -> dict[str, Any]:
    """The fields that are written: those without a default, and those that differ from it."""
    said = {one.name: (getattr(noun, one.name), one.default) for one in fields(noun)}
    return {key: value for key, (value, default) in said.items() if default is MISSING or value != default}


def _json(value: Any) -> str:
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


_SHOWN = 48
"""Characters of a text that are shown from the place of the first difference on."""
_BEFORE = 12
"""Characters that are shown before it."""


def differences(expected: Expectation, found: Expectation) -> list[str]:
    """One line for each difference, empty if there is none."""
    lines: list[str] = []
    if len(expected.answers) != len(found.answers):
        lines.append(f"expected {_count(expected.answers, 'response')}, found {len(found.answers)}")
    for at, (one, other) in enumerate(zip(expected.answers, found.answers, strict=False)):
        lines += (f"response {at}: {line}" for line in _answer_differences(one, other))
    return lines


def _answer_differences(expected: ExpectedAnswer, found: ExpectedAnswer) -> Iterator[str]:
    for one in fields(expected):
        if one.name not in {"calls", "findings"}:
            yield from _value(one.name, getattr(expected, one.name), getattr(found, one.name))
    if len(expected.calls) != len(found.calls):
        yield f"expected {_count(expected.calls, 'call')}, found {len(found.calls)}"
    yield from _calls(expected.calls, found.calls)
    yield from _findings(expected.findings, found.findings)


def _calls(expected: Sequence[ExpectedCall], found: Sequence[ExpectedCall]) -> Iterator[str]:
    for at, (one, other) in enumerate(zip_longest(expected, found)):
        if one is None:
            yield f"call {at}: not expected, found {_call_differences(other)}"
        elif other is None:
            yield f"call {at}: expected {_call_differences(one)}, not found"
        else:
            for key in fields(one):
                yield from _value(f"call {at} {key.name}", getattr(one, key.name), getattr(other, key.name))


def _findings(expected: Sequence[ExpectedFinding], found: Sequence[ExpectedFinding]) -> Iterator[str]:
    missing, added = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    yield from (f"expected {_finding_text(one)}, not found" for one in missing.elements())
    yield from (f"not expected, found {_finding_text(one)}" for one in added.elements())
    if list(expected) != list(found) and not missing and not added:
        yield "the findings are in another order"


def _value(name: str, expected: Any, found: Any) -> Iterator[str]:
    if expected == found:
        return
    if isinstance(expected, str) and isinstance(found, str) and max(len(expected), len(found)) > _SHOWN:
        at = _first_difference(expected, found)
        yield f"{name}: differs at character {at}: expected {_from(expected, at)}, found {_from(found, at)}"
    else:
        yield f"{name}: expected {_shown(expected)}, found {_shown(found)}"


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _from(text: str, at: int) -> str:
    start = max(0, at - _BEFORE)
    cut = text[start : at + _SHOWN]
    return f"{'…' if start else ''}{_shown(cut)}{'…' if at + _SHOWN < len(text) else ''}"


def _shown(value: Any) -> str:
    """As JSON, with nothing in it that steers a terminal."""
    plain = json.dumps(value, ensure_ascii=False)
    return plain if plain.isprintable() else json.dumps(value)


def _call_differences(call: ExpectedCall) -> str:
    return f"{_shown(call.name)} {_from(call.arguments, 0)}"


def _finding_text(finding: ExpectedFinding) -> str:
    call = "" if finding.call is None else f" call {finding.call}"
    return f"{finding.code} {finding.name} at event {finding.event}{call}"


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"
