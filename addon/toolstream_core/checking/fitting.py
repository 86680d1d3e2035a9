"""Finds the calls that a case needs in a response, by injecting its fault into generated responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple

from toolstream_core.checking.cases import Case, Kind, Transport, two_calls
from toolstream_core.checking.grading import Result, Skip
from toolstream_core.engine.session import Session, read_body
from toolstream_core.model import Chunk, Json, StreamFacts
from toolstream_core.model.record import runs_on_client
from toolstream_core.protocols.registry import SOCKETS, named
from toolstream_core.protocols.requests import conversation, tools
from toolstream_core.protocols.requests.tools import OfferedTool
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.saved.flowfile import socket_lines
from toolstream_core.settings import Words, settings
from toolstream_core.synthetic.harmless import may_be_called, required
from toolstream_core.synthetic.responses import CallSpec, SyntheticProvider, parse_calls, spec_text
from toolstream_core.synthetic.schema import distinct_arguments
from toolstream_core.verdict.outcome import Grade
from toolstream_core.wire.frame import CONTENT_TYPES, Form, parse

_BY_CONNECTION: Final = "http-error"
"""The transit fault that needs no response."""
_TRANSPORTS: Final = {Transport.HTTP: "HTTP", Transport.SOCKET: "a WebSocket"}


class CheckedRequest(NamedTuple):
    """The request of a client that gets calls as a response."""

    protocol: str
    path: str
    """With its query."""
    body: bytes
    transport: Transport = Transport.HTTP


class _Injected(NamedTuple):
    acted: bool
    """Whether anything was changed."""
    calls: int
    """The number of calls that a client must run."""
    found: tuple[str, ...]
    """Names of the defects found in the result."""


class Fitting:
    """Fits the cases of one protocol to the request of one client."""

    def __init__(
        self, request: CheckedRequest, *, calls: Sequence[str] = (), tools: Sequence[str] = (), seed: int = 0
    ) -> None:
        """`calls` are set by the user; without any, they are generated for `tools`, or for harmless tools."""
        self._request = request
        self._given = tuple(calls)
        self._tools = tuple(tools)
        self._seed = seed
        self._json = parse(request.body)
        self._protocol = named(request.protocol)
        self._reader = self._protocol.api
        self._form = self._reader.form(request.path, self._json)
        self._healthy: dict[tuple[str, ...], tuple[bytes, ...]] = {}
        self._turn = conversation.results(self._json)

    def fitted(self, cases: Iterable[Case], *, wants: Callable[[Case], bool]) -> list[Case]:
        """The cases that can be injected, each with the calls and the specification that it is run with.

        A healthy response with two calls is a case too, if it is wanted or another case needs it.
        """
        found = [fitted for case in self._possible(cases) if (fitted := self._fitted(case)) is not None]
        pair = next((calls for calls in self._candidates if len(parse_calls(calls)) > 1), None)
        if pair is None or self._given:
            return found
        first = two_calls(self._protocol.name, pair)
        tool = parse_calls(pair)[0].tool
        resting = [replace(case, needs=first.id) if _has_other(case, tool) else case for case in found]
        return [first, *resting] if resting != found or wants(first) else found

    def aimed(self, cases: Iterable[Case]) -> list[Case]:
        """The cases for responses that are not generated: each acts only in the response with the calls."""
        return [replace(case, spec=self._aimed(case.spec, once=case.lossy)) for case in self._possible(cases)]

    def skip_reason(self, case: Case) -> Result:
        """The reason why `fitted` or `aimed` did not return a case of this protocol."""
        if self._request.transport not in case.transports:
            why = f"it is not possible over {_TRANSPORTS[self._request.transport]}"
            return Result(Grade.SKIPPED, Skip.OTHER_CONNECTION, why)
        if not self.streams:
            return Result(Grade.SKIPPED, Skip.NO_STREAM, "the client requests responses without streaming")
        why = "the fault finds nothing to change in the responses to this client"
        return Result(Grade.SKIPPED, Skip.NOTHING_TO_CHANGE, why)

    def _possible(self, cases: Iterable[Case]) -> list[Case]:
        """The cases that fit the client's request and its transport."""
        return [case for case in cases if self._request.transport in case.transports]

    @property
    def streams(self) -> bool:
        """Whether the client requests streaming, which most cases need."""
        return self._form is not Form.WHOLE

    def _fitted(self, case: Case) -> Case | None:
        if case.kind is Kind.TRANSIT:
            return self._transit(case)
        read_as: tuple[str, ...] = ()
        for calls in self._candidates if self.streams else ():
            injected = self._injected(calls, case.spec)
            if not injected.acted:
                continue
            if case.kind is Kind.FAULT and case.name not in injected.found:
                read_as = read_as or injected.found
                continue
            lossy = case.lossy or not injected.calls
            spec = self._aimed(case.spec, once=lossy)
            if lossy and not self._injected(calls, spec).acted:
                spec = self._aimed(case.spec, once=False)
            return replace(case, spec=spec, calls=calls, lossy=lossy)
        if not read_as:
            return None
        why = f"with the calls of this check it is the same as {', '.join(read_as)}"
        return replace(case, untriable=why)

    def _transit(self, case: Case) -> Case | None:
        if not self.streams and _BY_CONNECTION not in case.groups:
            return None
        wide = self._candidates[1] if "utf8" in case.spec and len(self._candidates) > 1 else self._candidates[0]
        return replace(case, spec=self._aimed(case.spec, once=case.lossy), calls=wide)

    def _aimed(self, spec: str, *, once: bool) -> str:
        """A specification that acts in the response with the calls; `once`: a retry gets a healthy response."""
        keys = f"turn={self._turn}{',times=1' if once else ''}"
        return f"{spec}{',' if ':' in spec else ':'}{keys}"

    def _injected(self, calls: tuple[str, ...], spec: str) -> _Injected:
        """The result of the fault in a healthy response with these calls."""
        events = self._healthy.get(calls)
        if events is None:
            events = self._healthy[calls] = self._response(calls)
        if not events:
            return _Injected(acted=False, calls=0, found=())
        over_socket = self._request.transport is Transport.SOCKET
        kind = CONTENT_TYPES[Form.LINES] if over_socket else self._protocol.content_type
        exchange = StreamFacts(path=self._request.path, content_type=kind, request=self._json)
        session = Session(exchange, settings(Words(fault=[spec], seed=self._seed)))
        sent = [chunk for event in events for chunk in session.feed(event)]
        sent += session.end()
        record = session.record()
        acted = record is not None and any(fault.changes for fault in record.faults)
        after = read_body(sent, exchange) if acted else None
        complete = [call for call in after.calls if call.complete and runs_on_client(call)] if after is not None else []
        found = tuple(dict.fromkeys(one.name for one in after.findings)) if after is not None else ()
        return _Injected(acted, len(complete), found)

    def _response(self, calls: tuple[str, ...]) -> tuple[bytes, ...]:
        """The events of the healthy response; empty if it has no call."""
        written = SyntheticProvider(parse_calls(calls), self._seed).respond(self._request.path, self._request.body)
        if written is None or not written.calls:
            return ()
        wire = next((one for one in SOCKETS if one.protocol == self._protocol.name), None)
        if self._request.transport is Transport.HTTP or wire is None:
            return written.events
        chunks = [Chunk(0, event) for event in written.events]
        return tuple(line.data for line in socket_lines(chunks, self._protocol.content_type, SocketLane(wire, "")))

    @cached_property
    def _candidates(self) -> list[tuple[str, ...]]:
        """Candidates for calls; those that suffice for most cases are first."""
        if self._given:
            return [self._given]
        return [self._tools[:1], *(tuple(map(spec_text, specs)) for specs in self._made())]

    def _made(self) -> Iterator[list[CallSpec]]:
        choice = self._reader.tool_choice(self._json)
        offered = tools.offered(self._json)
        found = [tool for tool in may_be_called(offered, choice, self._tools) if not tool.custom]
        if not found:
            return
        first = self._call(found[0])
        yield [first]
        if not choice.single and (second := self._second(first, found)) is not None:
            yield [first, second]
            if not first.arguments and second.arguments:
                yield [second]
        empty = [tool for tool in found if not required(tool.schema)]
        yield from ([CallSpec(tool.name, {})] for tool in empty[:1])
        if empty and not choice.single and (without := CallSpec(empty[0].name, {})) != first:
            yield [first, without]

    def _second(self, first: CallSpec, tools: Sequence[OfferedTool]) -> CallSpec | None:
        """Another call: with other arguments, if there is any such, else of another tool; of another tool, if any."""
        others = [*tools[1:], tools[0]]
        made = (self._call(tool, place=1, used=[first.arguments]) for tool in others)
        distinct = next((one for one in made if one.arguments != first.arguments), None)
        return distinct or next((self._call(tool, place=1) for tool in tools[1:]), None)

    def _call(self, tool: OfferedTool, *, place: int = 0, used: Sequence[Json] = ()) -> CallSpec:
        """A call whose arguments have wide characters, end with a text and are none of those `used`, if they can."""
        seed = f"{self._seed}|{tool.name}|{place}"
        made = distinct_arguments(tool, seed, used, wide_characters=True) or {}
        last = sorted(made, key=lambda name: isinstance(made[name], str))
        return CallSpec(tool.name, {name: made[name] for name in last})


def _has_other(case: Case, tool: str) -> bool:
    """Whether a case has another call than the one that the healthy case tries."""
    calls = parse_calls(case.calls)
    return len(calls) > 1 or any(call.tool != tool for call in calls)
