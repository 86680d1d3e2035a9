"""Compares streaming and non-streaming responses of a provider, case by case."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from toolstream_core.calls.json_text import INVALID, equal, value_of
from toolstream_core.engine.session import read_body
from toolstream_core.model import BAD_STATUS, Call, Finding, Json, Record, Severity
from toolstream_core.model.record import runs_on_client
from toolstream_core.printable import counted, printable
from toolstream_core.probing.ask import Asker, Target
from toolstream_core.protocols.api import Question, Tool
from toolstream_core.protocols.registry import named
from toolstream_core.report.columns import code, escaped
from toolstream_core.report.jsonform import message_object
from toolstream_core.saved.exchange import Exchange


class Case(NamedTuple):
    """A prompt and the offered tools."""

    name: str
    prompt: str
    tools: tuple[Tool, ...]


def _object(**properties: Json) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_TEXT: Final = {"type": "string"}
_WEATHER: Final = Tool("get_weather", "The weather in a city.", _object(city=_TEXT))
_PING: Final = Tool("ping", "Checks that the system is alive. Takes no arguments.", _object())
_NOTE: Final = Tool(
    "save_note",
    "Saves a note.",
    _object(
        title=_TEXT,
        tags={"type": "array", "items": _TEXT},
        place=_object(name=_TEXT, at=_object(lat={"type": "number"}, lon={"type": "number"})),
    ),
)
_EXACTLY: Final = "Do nothing else, and respond with tool calls only."

CASES: Final = (
    Case("single call", f"Call get_weather with the city Oslo. {_EXACTLY}", (_WEATHER,)),
    Case(
        "parallel calls",
        "Call get_weather twice in the same response, side by side: first with the city Oslo, then with the city Lima. "
        + _EXACTLY,
        (_WEATHER,),
    ),
    Case("no-argument tool", f"Call ping. {_EXACTLY}", (_PING,)),
    Case(
        "text, then call",
        "First write the sentence “Let me look.”, then call get_weather with the city Oslo.",
        (_WEATHER,),
    ),
    Case(
        "nested and Unicode arguments",
        'Call save_note with exactly these arguments: {"title":"Tromsø 🌊 \\"quoted\\"\\nsecond line","tags":["a/b",'
        f'"c\\\\d"],"place":{{"name":"日本","at":{{"lat":69.65,"lon":18.96}}}}}}. {_EXACTLY}',
        (_NOTE,),
    ),
)


_SHOWN = 200
"""Characters of arguments that are shown."""


@dataclass(frozen=True, slots=True)
class ProbedResponse:
    """A response and its record."""

    response: Exchange
    record: Record | None
    """`None` if it is not an LLM response."""

    @property
    def failure(self) -> str | None:
        """The reason if it cannot be compared: no response, an HTTP error, or not the protocol."""
        if not self.response.facts.status:
            return self.response.broken
        if self.response.facts.status >= BAD_STATUS or self.record is None:
            body = self.response.body[:300].decode("utf-8", "replace").strip()
            return f"HTTP {self.response.facts.status}{': ' if body else ''}{body}"
        return None


class Difference(NamedTuple):
    """A difference of a streamed response from the unstreamed ones."""

    streamed: int
    """The number of the streamed response, from 0."""
    what: str


class Seen(NamedTuple):
    """A defect in the streamed responses to a case."""

    finding: Finding
    """The first of its kind."""
    responses: int
    """The number of responses with it."""


class Verdict(NamedTuple):
    """The result of one case."""

    case: str
    streamed: list[ProbedResponse]
    unstreamed: list[ProbedResponse]
    differences: list[Difference]
    varying: bool
    """Whether the unstreamed responses differ from each other: then a difference in values may be chance."""
    defects: list[Seen]

    @property
    def found(self) -> bool:
        return bool(self.differences) or any(seen.finding.severity.counts for seen in self.defects)

    @property
    def failures(self) -> list[str]:
        both = [("streamed", self.streamed), ("unstreamed", self.unstreamed)]
        return [
            f"{kind} {number}: {one.failure}"
            for kind, responses in both
            for number, one in enumerate(responses, 1)
            if one.failure
        ]


def read(response: Exchange) -> ProbedResponse:
    """Read a response."""
    return ProbedResponse(response, read_body(response.chunks, response.facts, broken=response.broken))


def verdict(case: str, streamed: Sequence[ProbedResponse], unstreamed: Sequence[ProbedResponse]) -> Verdict:
    """Compare the responses to one case. A streamed response is right if it has the calls of any unstreamed one."""
    right = [_calls(one.record) for one in unstreamed if one.record is not None and one.failure is None]
    varying = any(_between(calls, right[0]) for calls in right)
    differences = [
        Difference(number, what)
        for number, one in enumerate(streamed)
        if one.record is not None and one.failure is None
        for what in _differences(_calls(one.record), right, varying=varying)
    ]
    return Verdict(case, list(streamed), list(unstreamed), differences, varying, list(_defects(streamed)))


def _defects(streamed: Sequence[ProbedResponse]) -> Iterator[Seen]:
    first: dict[str, Finding] = {}
    counts: Counter[str] = Counter()
    for one in streamed:
        findings = one.record.findings if one.record is not None and one.failure is None else []
        for finding in findings:
            first.setdefault(finding.code, finding)
        counts.update({finding.code for finding in findings})
    for found in sorted(first):
        yield Seen(first[found], counts[found])


def _calls(record: Record) -> list[Call]:
    """The intended calls that the client must run."""
    return [call for call in record.calls if runs_on_client(call)]


def _differences(calls: list[Call], right: list[list[Call]], *, varying: bool) -> list[str]:
    """The differences of `calls` from the nearest correct response, except possible chance."""
    found = min((_between(calls, one) for one in right), key=len, default=[])
    return [what for what, by_chance in found if not (varying and by_chance)]


def _between(calls: list[Call], right: list[Call]) -> list[tuple[str, bool]]:
    """Each difference, and whether sampling alone could cause it."""
    found: list[tuple[str, bool]] = []
    if len(calls) != len(right):
        found.append((f"{_count(calls)} instead of {_count(right)}", False))
    for number, (one, other) in enumerate(zip(calls, right, strict=False)):
        value, expected = _value(one), _value(other)
        if one.name != other.name:
            found.append((f"call {number} is {one.name or '(no name)'} instead of {other.name}", False))
        elif value is INVALID and (expected is not INVALID or one.arguments != other.arguments):
            shown = one.arguments[:_SHOWN]
            found.append((f"call {number} {one.name}: its arguments are not valid JSON: {shown}", False))
        elif not equal(value, expected):
            difference = f"call {number} {one.name}: {_text(one)} instead of {_text(other)}"
            found.append((difference, _keys(value) == _keys(expected)))
    return found


def _value(call: Call) -> Json:
    return value_of(call.arguments) if call.complete else INVALID


def _count(calls: list[Call]) -> str:
    return counted(len(calls), "call") if calls else "no calls"


def _text(call: Call) -> str:
    value = _value(call)
    text = call.arguments if value is INVALID else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _keys(arguments: Json) -> frozenset[str] | None:
    return frozenset(arguments) if isinstance(arguments, dict) else None


_NO_USE = frozenset({0, 401, 403, 404, 405, 407})
"""Statuses after which later requests would fail too; 0 means that there was no connection."""


class Probe(NamedTuple):
    """The result of a probe."""

    target: Target
    times: int
    verdicts: list[Verdict]

    @property
    def compared(self) -> bool:
        """Whether any streamed response could be compared with an unstreamed one."""
        return any(_any_heard(one.streamed) and _any_heard(one.unstreamed) for one in self.verdicts)

    @property
    def found(self) -> bool:
        return any(one.found for one in self.verdicts)

    @property
    def failed(self) -> bool:
        return any(one.failures for one in self.verdicts)


def probe(target: Target, cases: Sequence[Case], times: int, asker: Asker, say: Callable[[str], None]) -> Probe:
    """Send the requests of each case. Stops at a status after which later requests would fail too."""
    verdicts: list[Verdict] = []
    for case in cases:
        responses: dict[bool, list[ProbedResponse]] = {True: [], False: []}
        for number in range(1, times + 1):
            for streamed in (True, False):
                one = _ask(target, case, asker, streamed=streamed)
                responses[streamed].append(one)
                say(f"{case.name}, {'streamed' if streamed else 'not streamed'} {number} of {times}: {_described(one)}")
                if one.response.facts.status in _NO_USE:
                    return Probe(target, times, [*verdicts, verdict(case.name, responses[True], responses[False])])
        verdicts.append(verdict(case.name, responses[True], responses[False]))
    return Probe(target, times, verdicts)


def _ask(target: Target, case: Case, asker: Asker, *, streamed: bool) -> ProbedResponse:
    question = Question(target.model or "", case.prompt, case.tools, streamed)
    request = named(target.protocol).api.request(question)
    return read(asker.ask(target.url(streamed=streamed), request))


def _described(response: ProbedResponse) -> str:
    if response.failure:
        return response.failure
    calls = len(response.record.calls) if response.record is not None else 0
    took = response.response.times[-1] if response.response.times else 0
    return f"HTTP {response.response.facts.status}, {counted(calls, 'call')}, {took} ms"


def _any_heard(responses: Sequence[ProbedResponse]) -> bool:
    return any(one.failure is None for one in responses)


VERSION: Final = 1


def printed(probe: Probe, form: str, hide: Callable[[str], str]) -> str:
    """The result as `text`, `markdown` or `json`; `hide` removes secrets from the provider's texts."""
    if form == "json":
        return json.dumps(document(probe, hide), ensure_ascii=False)
    lines = _markdown(probe, hide) if form == "markdown" else _cell_text(probe, hide)
    return "\n".join(lines)


def document(probe: Probe, hide: Callable[[str], str]) -> dict[str, Any]:
    """Plain JSON objects."""
    return {
        "version": VERSION,
        "url": hide(probe.target.url(streamed=True)),
        "protocol": probe.target.protocol,
        "model": probe.target.model,
        "times": probe.times,
        "found": probe.found,
        "cases": [
            {
                "case": one.case,
                "streamed": len(one.streamed),
                "whole": len(one.unstreamed),
                "varying": one.varying,
                "differences": [{"streamed": diff.streamed, "what": hide(diff.what)} for diff in one.differences],
                "defects": [{**message_object(seen.finding, hide), "answers": seen.responses} for seen in one.defects],
                "failures": [hide(failure) for failure in one.failures],
            }
            for one in probe.verdicts
        ],
    }


def _cell_text(probe: Probe, hide: Callable[[str], str]) -> Iterator[str]:
    for one in probe.verdicts:
        yield f"{one.case}: {_sum(one)}"
        for diff in one.differences:
            yield f"  streamed {diff.streamed + 1}: {printable(hide(diff.what))}"
        for seen in one.defects:
            yield f"  {printable(_defect(seen, one, hide))}"
        for failure in one.failures:
            yield f"  request failed, {printable(hide(failure))}"
    yield _result(probe)


def _markdown(probe: Probe, hide: Callable[[str], str]) -> Iterator[str]:
    yield f"# {probe.target.protocol} at {escaped(probe.target.host)}: calls with and without a stream\n"
    yield "| | |\n|---|---|"
    yield f"| endpoint | {code(hide(probe.target.url(streamed=True)))} |"
    yield f"| model | {code(probe.target.model or '')} |"
    yield f"| requests | {len(probe.verdicts)} prompts, {probe.times} times each, streamed and not streamed |\n"
    for one in probe.verdicts:
        yield f"## {one.case}\n"
        yield f"{_sum(one).capitalize()}.\n"
        yield from (f"- streamed response {diff.streamed + 1}: {escaped(hide(diff.what))}" for diff in one.differences)
        yield from (f"- {escaped(_defect(seen, one, hide))}" for seen in one.defects)
        yield from (f"- request failed, {escaped(hide(failure))}" for failure in one.failures)
        if one.differences or one.defects or one.failures:
            yield ""
    yield f"{_result(probe).capitalize()}."


def _sum(reported: Verdict) -> str:
    compared = sum(response.failure is None for response in reported.streamed)
    right = compared - len({diff.streamed for diff in reported.differences})
    if not compared or all(response.failure for response in reported.unstreamed):
        return "nothing to compare"
    summary = f"{right} of {compared} streamed responses have the calls of the unstreamed ones"
    return f"{summary}; the unstreamed ones differ from each other" if reported.varying else summary


def _defect(seen: Seen, reported: Verdict, hide: Callable[[str], str]) -> str:
    finding = seen.finding
    where = f"in {seen.responses} of {len(reported.streamed)} streamed responses"
    return f"{finding.severity} {finding.code} {finding.name} {where}: {hide(finding.message)}"


def _result(probe: Probe) -> str:
    differences = sum(len(one.differences) for one in probe.verdicts)
    codes = {seen.finding.severity: set[str]() for one in probe.verdicts for seen in one.defects}
    for one in probe.verdicts:
        for seen in one.defects:
            codes[seen.finding.severity].add(seen.finding.code)
    counts = [f"{counted(len(codes.get(severity, ())), severity)}" for severity in Severity]
    failures = sum(len(one.failures) for one in probe.verdicts)
    tail = f", {counted(failures, 'request')} failed" if failures else ""
    return f"{counted(differences, 'difference')}; {', '.join(counts)} in the streams{tail}"
