"""The proxy's reports on responses and clients, as objects with the fields of the reports' JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

from toolstream_core.model import Json
from toolstream_core.protocols.requests import match_key, tools
from toolstream_core.protocols.requests.conversation import Conversation, ReturnedCall, ToolResult
from toolstream_core.redact import redacted
from toolstream_core.verdict import added, history_of


class ReportEntry:
    """Allows `entry["name"]` for `entry.name`, as in the JSON of reports."""

    def __getitem__(self, name: str) -> Any:
        """The field with this name. Raises `KeyError`."""
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def keys(self) -> Iterator[str]:
        return (one.name for one in fields(self))  # type: ignore[arg-type]  # subclasses are dataclasses

    @classmethod
    def of(cls, values: Mapping[str, Any], **own: Any) -> Self:
        """Read one from the proxy's report; `own` are values of fields that the report has in another form."""
        names = [one.name for one in fields(cls) if one.name not in own]  # type: ignore[arg-type]  # as in `keys`
        found = {name: tuple(values[name]) if isinstance(values[name], list) else values[name] for name in names}
        return cls(**found, **own)


@dataclass(frozen=True, kw_only=True)
class FoundDefect(ReportEntry):
    """A defect of a response, and the event at which it was found."""

    code: str
    name: str
    severity: str
    """`error`, `warning`, `note`."""
    event: int
    call: int | None
    message: str
    repair: str | None
    """`safe`, `unsafe`; `None` if it cannot be repaired."""


@dataclass(frozen=True, kw_only=True)
class FoundProblem(ReportEntry):
    """One way in which a client's next request did not match the response."""

    verdict: str
    call: int | None
    """Place of the call among those of the response; `None` if it is another call."""
    message: str


@dataclass(frozen=True, kw_only=True)
class FoundVerdict(ReportEntry):
    """How the client interpreted a response, according to its next request."""

    verdict: str
    """`ok`, `returned-without-arguments`, `silent`, …: `docs/jsonl.schema.json` has them all."""
    understood: bool
    """Whether the client interpreted the calls correctly."""
    call: int | None
    """Place of the decisive call, among those of the response."""
    event: int | None
    """The event that the client misread."""
    explained: tuple[str, ...]
    """Names of the ways in which the client deviates from the protocol."""
    explanation: str
    """The explanation as text; `""` if unknown."""
    fix: str
    """The change to the client, or the statement that no known client bug has this effect; else `""`."""
    advice: tuple[str, ...]
    """Options under which the client would have understood the response."""
    problems: tuple[FoundProblem, ...]
    sent: tuple[Mapping[str, Json], ...] = field(repr=False)
    """The returned calls: id, name, arguments."""
    results: tuple[Json, ...]
    """The ids of the returned results."""
    count: int
    """The number of identical repeated requests, if there were any."""
    request: int | None
    """The number of the request that followed; `None` if none did."""


@dataclass(frozen=True, kw_only=True)
class FoundFault(ReportEntry):
    """A fault that was applied to a response."""

    spec: str
    drawn: int
    """The number of calls, or streams, that were randomly selected."""
    changes: int
    """The number of changes: 0 if the fault found nothing to act on."""


@dataclass(frozen=True, kw_only=True)
class SentCall(ReportEntry):
    """A call that was sent to a client, as intended."""

    choice: int
    position: int
    """Its place among the calls of its choice."""
    kind: str
    """`function`, `custom` (free text), `server` (the provider runs it)."""
    id: str
    name: str
    arguments: str
    """As text; `input` is its content."""
    complete: bool
    """Whether it arrived completely."""
    events: tuple[int, ...]
    """The numbers of its events."""

    @property
    def signed(self) -> bool:
        """Always false: the proxy judges signatures, and its report lacks them."""
        return False

    @cached_property
    def input(self) -> Json:
        """The arguments as JSON; the text itself if it is not JSON. No arguments are `{}`."""
        try:
            return json.loads(self.arguments) if self.arguments else {}
        except ValueError:
            return self.arguments


@dataclass(frozen=True, kw_only=True)
class SentRequest(ReportEntry):
    """A request of a client."""

    number: int
    """Counted from 0 since the last reset, including requests to other servers than LLMs."""
    method: str
    url: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    """By lower-case name; the values of credentials are left out, as in `url` and `path`."""
    text: str = field(repr=False)
    """The body as text."""
    over_socket: bool = False
    """Whether it arrived over a WebSocket; the body is then that of the same request over HTTP."""
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """The values of its credentials; reports and failures do not show them."""

    def __getitem__(self, name: str) -> Any:
        """The field with this name, else the value of this key in the body."""
        try:
            return super().__getitem__(name)
        except KeyError:
            if isinstance(self.json, dict) and name in self.json:
                return self.json[name]
            raise

    @cached_property
    def json(self) -> Json:
        """The body as JSON, `None` if it is not JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    @cached_property
    def protocol(self) -> str | None:
        """`openai-chat`, …; `None` if it is not for an LLM."""
        wanted = match_key.read(self.path, self.json) if self.method == "POST" else None
        return wanted.protocol if wanted else None

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that it offers."""
        return tuple(tool.name for tool in tools.offered(self.json))

    @property
    def model(self) -> str | None:
        """The requested model."""
        return match_key.model_of(self.path, self.json)

    @cached_property
    def history(self) -> Conversation:
        """The calls and results in the conversation so far."""
        return match_key.reader_of(self.path, self.json).conversation(self.json)

    @cached_property
    def shown(self) -> Conversation:
        """The same without secrets, for reports and failures."""
        history, hide = self.history, self.hide
        calls = (
            replace(one, id=one.id and hide(one.id), name=hide(one.name), arguments=hide(one.arguments))
            for one in history.calls
        )
        results = (replace(one, id=hide(one.id), name=hide(one.name), text=hide(one.text)) for one in history.results)
        return replace(history, calls=tuple(calls), results=tuple(results), texts=tuple(map(hide, history.texts)))

    def hide(self, text: str) -> str:
        """`text` without secrets, those of this request included."""
        return redacted(text, self.secrets)

    @property
    def calls(self) -> tuple[ReturnedCall, ...]:
        """The assistant's calls in its conversation."""
        return self.history.calls

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results of tools in it."""
        return self.history.results


@dataclass(frozen=True, kw_only=True)
class ProxiedExchange:
    """A request and its response, as observed by the proxy."""

    request: SentRequest
    over: bool
    """Whether the response has ended."""
    status: int | None
    calls: tuple[SentCall, ...]
    findings: tuple[FoundDefect, ...]
    finish: tuple[str, ...]
    broken: str | None
    """The error with which the response ended, if any."""
    source: str
    """The saved flow of the response, `PATH#N`; `""` if there is none."""
    changes: tuple[str, ...]
    """Names of the repairs and shapes for which events were rewritten."""
    comment: str
    """The proxy's comment."""
    response: str | None
    """`exact`: the request was the recorded one; `diverged`: this flow fits best; `finished`: a final text, as the
    request holds the results of this flow's calls; `refused`: none fits, or the limit of equal requests is reached."""
    verdict: FoundVerdict | None
    """How the client interpreted it; `None` if there was no call to run."""
    faults: tuple[FoundFault, ...]
    """The faults that were injected into it."""
    sent: tuple[str, ...] = field(repr=False)
    """The events that the client received, as texts, if requested."""
    truncated: bool
    """Whether there were more events."""

    @property
    def problems(self) -> tuple[FoundProblem, ...]:
        """The problems of the verdict; none without a verdict."""
        return () if self.verdict is None else self.verdict.problems

    def added_by(self, after: SentRequest) -> Conversation:
        """The additions of a later request to this one, without secrets."""
        return added(history_of(self.request.shown), after.shown)


def to_llms(exchanges: Iterable[ProxiedExchange]) -> list[ProxiedExchange]:
    """The exchanges with LLMs."""
    return [one for one in exchanges if one.request.protocol is not None]


def until_complete(calls: Iterable[SentCall], later: Iterable[ProxiedExchange]) -> Iterator[ProxiedExchange]:
    """The exchanges after incomplete calls, up to the one whose response completes the last of them."""
    incomplete = {(call.id, call.name) for call in calls}
    for one in later:
        if not incomplete:
            return
        yield one
        incomplete -= {(call.id, call.name) for call in one.calls if call.complete}


def proxied_exchange(values: Mapping[str, Any]) -> ProxiedExchange:
    """Read one from the proxy's report."""
    record: Mapping[str, Any] = values.get("record") or {}
    request = values["request"]
    return ProxiedExchange(
        request=SentRequest(
            number=request["number"],
            method=request["method"],
            url=request["url"],
            path=request["path"],
            headers={name.lower(): value for name, value in request["headers"]},
            text=request["body"],
            over_socket=bool(request.get("socket")),
            secrets=tuple(request.get("secrets", ())),
        ),
        over=values["over"],
        status=values.get("status"),
        calls=tuple(map(SentCall.of, record.get("calls", ()))),
        findings=tuple(map(FoundDefect.of, record.get("findings", ()))),
        finish=tuple(record.get("finish", ())),
        broken=record.get("broken") or values.get("broken"),
        source=(values.get("replay") or {}).get("source") or "",
        changes=tuple(record.get("changes", ())),
        comment=str(values.get("comment") or ""),
        response=(values.get("replay") or {}).get("answer"),
        verdict=_verdict(values["verdict"]) if values.get("verdict") else None,
        faults=tuple(map(FoundFault.of, record.get("faults", ()))),
        sent=tuple(values.get("events", ())),
        truncated=bool(values.get("truncated")),
    )


def _verdict(values: Mapping[str, Any]) -> FoundVerdict:
    return FoundVerdict.of(values, problems=tuple(map(FoundProblem.of, values["problems"])))
