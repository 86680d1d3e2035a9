"""Reports whether clients understood the responses, by their next requests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from toolstream_core.defects.finish import MISSING_CALLS
from toolstream_core.model import BAD_STATUS
from toolstream_core.printable import counted
from toolstream_core.protocols.requests.conversation import ReturnedCall
from toolstream_core.protocols.requests.match_key import wants_stream
from toolstream_core.report.verdict import as_flags
from toolstream_core.testing.exchanges import (
    FoundProblem,
    ProxiedExchange,
    SentCall,
    SentRequest,
    to_llms,
    until_complete,
)
from toolstream_core.verdict import Outcome, judge, to_run

_SHOWN = 72
"""Characters of arguments and results that are shown."""
_WIDTH = 120
"""Characters of a line without a terminal."""
_MARGIN = 6
"""The characters of them that pytest and we leave blank at the beginning."""
_WHY = 400
"""Characters of the reason for which a request was refused."""


@dataclass(frozen=True, slots=True)
class JudgedExchange:
    """A response, the request after it, and how the client interpreted it."""

    exchange: ProxiedExchange
    after: SentRequest | None
    verdict: str
    problems: Sequence[FoundProblem]


def distrusted(servers: Mapping[str, bool], base_url: str) -> str:
    """The certificates that the client rejected, and what to do; `""` if there are none.

    `servers`: whether that is certain. `base_url`: how to give the client the base URL, imperative.
    """
    if not servers:
        return ""
    certain = [server for server, known in servers.items() if known]
    what = (
        f"the client rejected the proxy's certificate for {', '.join(certain)}"
        if certain
        else f"the client closed its connection to {', '.join(servers)} before it sent a request; perhaps it does not "
        "trust the proxy's certificate"
    )
    return f"{what}. Let it trust the file that SSL_CERT_FILE names, or {base_url}: plain HTTP needs no certificate"


def unanswered(exchanges: Sequence[ProxiedExchange], distrust: Mapping[str, bool] | None = None) -> str | None:
    """The message why the clients got no readable response; `None` if they got one.

    `distrust`: the servers whose certificate they rejected.
    """
    to_llm = to_llms(exchanges)
    if not to_llm:
        return _no_request(exchanges, distrust)
    if all((one.status or BAD_STATUS) >= BAD_STATUS for one in to_llm):
        return f"the client received no response: {_status(to_llm[-1])}"
    return None


def misunderstood(exchanges: Sequence[ProxiedExchange], distrust: Mapping[str, bool] | None = None) -> list[str]:
    """Lines about the misunderstood responses; empty if all were understood."""
    reason = unanswered(exchanges, distrust)
    if reason is not None:
        return [reason]
    to_llm = to_llms(exchanges)
    bad = [*(one for one in _judged(to_llm) if one.problems), *_taken_for_an_end(to_llm)]
    return [line for one in bad for line in _lines(one)]


def incomplete_calls(exchanges: Sequence[ProxiedExchange], distrust: Mapping[str, bool] | None = None) -> list[str]:
    """Calls that never completed and that the client returned or ran, as lines for people."""
    to_llm = to_llms(exchanges)
    lines = [] if to_llm else [_no_request(exchanges, distrust)]
    for at, one in enumerate(to_llm):
        incomplete = [call for call in one.calls if not call.complete]
        later = (other for other in to_llm[at + 1 :] if other.request.protocol == one.request.protocol)
        for after in until_complete(incomplete, later):
            verdict = judge(one.calls, one.added_by(after.request))
            problems = [
                FoundProblem(verdict=problem.outcome, call=problem.call, message=problem.text)
                for problem in verdict.problems
                if problem.outcome in (Outcome.RAN_INCOMPLETE_CALL, Outcome.RETURNED_INCOMPLETE_CALL)
            ]
            if problems:
                lines += _lines(JudgedExchange(one, after.request, problems[0].verdict, problems))
                break
    return lines


def _no_request(exchanges: Sequence[ProxiedExchange], distrust: Mapping[str, bool] | None) -> str:
    others = "".join(f", only {one.request.method} {one.request.url}" for one in exchanges[:1])
    why = distrusted(distrust or {}, "give it toolstream.base_url(PROTOCOL)")
    hint = (
        "A client that was created at import does not use the proxy: create it in the test, or in a function that the "
        "test calls"
    )
    return f"no request to an LLM reached toolstream{others}{f', because {why}' if why else f'. {hint}'}"


def _judged(exchanges: Sequence[ProxiedExchange]) -> Iterator[JudgedExchange]:
    """Each response with a verdict.

    A flow may match more often than was recorded; such a repetition counts only if a request followed it.
    """
    requests = {one.request.number: one.request for one in exchanges}
    reported: set[str] = set()
    for one in exchanges:
        if one.verdict is None:
            continue
        after = None if one.verdict.request is None else requests.get(one.verdict.request)
        if after is not None or one.source not in reported:
            wrong = [problem for problem in one.verdict.problems if problem.verdict != Outcome.CALL_REJECTED]
            yield JudgedExchange(one, after, one.verdict.verdict, wrong)
        reported.update([one.source] if one.source else [])


def _taken_for_an_end(exchanges: Sequence[ProxiedExchange]) -> Iterator[JudgedExchange]:
    """Streams without calls whose finish reason announces calls, and after which the client sent no request."""
    for at, one in enumerate(exchanges):
        later = {other.request.protocol for other in exchanges[at + 1 :]}
        missing = any(finding.code == MISSING_CALLS.code for finding in one.findings) and not one.calls
        if missing and one.request.protocol not in later and wants_stream(one.request.path, one.request.json):
            problem = FoundProblem(
                verdict=MISSING_CALLS.name, call=None, message="the client treats it as the final response"
            )
            yield JudgedExchange(one, None, MISSING_CALLS.name, [problem])


def _lines(judged: JudgedExchange) -> list[str]:
    """One response: the calls sent and returned, then the problems."""
    exchange, after = judged.exchange, judged.after
    source = f" from {_here(exchange.source)}" if exchange.source else ""
    where = "no later request" if after is None else f"request {after.number}"
    rows = _in_columns([_sent(call) for call in to_run(exchange.calls)], [*_returned(exchange, after)], where)
    whys = [
        f"  {problem.verdict}: {'' if problem.call is None else f'call {problem.call} '}{problem.message}"
        for problem in judged.problems
    ]
    found = [
        f"  finding: {one.name} ({one.code}, {one.severity}) at event {one.event}: {one.message}"
        for one in exchange.findings
    ]
    broken = [f"  truncated response: {exchange.broken}"] if exchange.broken else []
    head = f"{judged.verdict}: response {exchange.request.number}{source} ({exchange.request.protocol})"
    return [head, *rows, *whys, *found, *broken]


def _in_columns(sent: Sequence[str], back: Sequence[str], where: str) -> list[str]:
    """The calls sent and returned in two columns, or below each other if the terminal is too narrow."""
    left, right = ["sent", *sent], [f"returned ({where})", *back]
    width, room = max(map(len, left)), shutil.get_terminal_size((_WIDTH, 0)).columns - _MARGIN
    pairs = list(zip_longest(left, right, fillvalue=""))
    if width + max(map(len, right)) + len(" | ") <= room:
        return [f"  {one:<{width}} | {other}" for one, other in pairs]
    lines: list[str] = []
    for one, other in pairs[1:]:
        for title, text in ((left[0], one), (right[0], other)):
            lines += [title, *(f"  {line}" for line in wrap(text, room - 2))] if text else []
    return [f"  {line}" for line in lines or [" | ".join(pairs[0])]]


def _here(text: str) -> str:
    """A text with paths relative to the working directory."""
    return text.replace(f"{Path.cwd()}{os.sep}", "")


def _sent(call: SentCall) -> str:
    state = "" if call.complete else " (incomplete)"
    return f"{call.name} id={call.id!r} {_clip(call.arguments)}{state} {_events(call.events)}"


def _events(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    first, last = numbers[0], numbers[-1]
    return f"event {first}" if first == last else f"events {first}-{last}"


def _returned(exchange: ProxiedExchange, after: SentRequest | None) -> Iterator[str]:
    """The calls that are new in the next request, each with its result; then results without a call."""
    if after is None:
        return
    new = exchange.added_by(after)
    left = list(new.results)
    for call in new.calls:
        result = next((one for one in new.results_of(call) if one in left), None)
        if result is not None:
            left.remove(result)
        yield _returned_line(call) + ("" if result is None else f" → {_clip(result.text)}")
    yield from (f"result id={one.id!r} → {_clip(one.text)}" for one in left)


def _returned_line(call: ReturnedCall) -> str:
    return f"{call.name or '(no name)'} id={call.id!r} {_clip(call.arguments) or '(no arguments)'}"


def _clip(text: str, shown: int = _SHOWN) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= shown else f"{flat[: shown - 1]}…"


def _status(exchange: ProxiedExchange) -> str:
    if exchange.status is None:
        return exchange.broken or "the proxy sent no response"
    return f"HTTP {exchange.status} {_clip(_here(exchange.comment), _WHY)}".rstrip()


def sources(exchanges: Iterable[ProxiedExchange]) -> set[str]:
    """The flow files that were used."""
    return {one.source.rpartition("#")[0] for one in exchanges if one.source}


_REVERSE: Final = (
    "some clients never use a proxy for servers of this machine (Go, for example); if --base-url does not help, run "
    'mitmdump --mode reverse:http://127.0.0.1:PORT -s "$(toolstream addon-path)", with PORT of the server, and set '
    "the client's base URL to http://127.0.0.1:8080"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The counts of a proxy's traffic."""

    requests: int
    """Requests to LLMs."""
    others: int
    """Other requests."""
    refused: int
    """Requests to LLMs with an HTTP error as the response."""
    websockets: int
    """Connections to LLMs as WebSockets; each may have had many responses."""
    unopened: int
    """WebSockets to LLMs that were refused with an HTTP error."""
    responses: int
    """Responses of LLMs, including truncated ones."""
    calls: int
    findings: Mapping[str, int]
    """The number of findings, by the defect's name."""
    changes: Mapping[str, int]
    """Responses that were rewritten, by the name of the repair or shape."""
    faults: Mapping[str, int]
    """Responses into which faults were injected, by the fault's specification; 0 if no event matched."""
    verdicts: Mapping[str, int]
    advice: Mapping[str, str]
    """For verdicts, an option under which the client would have understood."""
    unreached: Mapping[str, str]
    """The error of each failed connection, by host and port."""
    distrust: Mapping[str, bool]
    """The servers whose certificate clients rejected; `False`: they may have."""
    captured: Sequence[Path]

    def lines(self) -> Iterator[str]:
        yield ", ".join(self._counts())
        yield from self._connections()
        if self.findings:
            yield f"findings: {_listed(self.findings)}"
        if self.changes:
            yield f"responses changed: {_listed(self.changes)}"
        if acted := {spec: count for spec, count in self.faults.items() if count}:
            yield f"injected: {_listed(acted)}"
        if idle := [spec for spec, count in self.faults.items() if not count]:
            yield f"injected nothing (no matching event): {', '.join(idle)}"
        if self.verdicts:
            yield f"verdicts: {_listed(self.verdicts, self.advice)}"
        if self.captured:
            folders = dict.fromkeys(str(path.parent) for path in self.captured)
            yield f"captured: {counted(len(self.captured), 'flow')} in {', '.join(folders)}"

    def _connections(self) -> Iterator[str]:
        """WebSockets, and why there may have been no request or response."""
        if self.websockets:
            yield f"{counted(self.websockets, 'WebSocket')} to an LLM"
        if self.unopened:
            yield f"{counted(self.unopened, 'WebSocket')} to an LLM rejected with an HTTP error"
        if self.unreached and not self.responses:
            yield from (f"could not connect to {server}: {error}" for server, error in self.unreached.items())
        elif not self.requests and not self.websockets and not self.unopened:
            if self.distrust:
                yield distrusted(self.distrust, "use --base-url")
                return
            yield (
                "no LLM request seen; for clients that ignore proxy variables (Node's fetch before Node 22.21, for"
                " example), use --base-url, and let the client read its base URL from the environment"
            )
            yield _REVERSE

    def _counts(self) -> Iterator[str]:
        yield counted(self.requests, "request")
        if self.refused:
            yield f"{self.refused} rejected with an HTTP error"
        yield counted(self.responses, "response")
        yield f"{counted(self.calls, 'call')} sent"
        if self.others:
            yield counted(self.others, "other request")


def passed_of(values: Mapping[str, Any]) -> Passed:
    """Read the proxy's final report."""
    chosen = {one.name: values[one.name] for one in fields(Passed)}
    return Passed(**{**chosen, "captured": [Path(path) for path in values["captured"]]})


def _listed(counts: Mapping[str, int], advice: Mapping[str, str] | None = None) -> str:
    """Names and numbers, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    helped = {name: f" → {as_flags(option)}" for name, option in (advice or {}).items()}
    return ", ".join(f"{name} {count}{helped.get(name, '')}" for name, count in ordered)
