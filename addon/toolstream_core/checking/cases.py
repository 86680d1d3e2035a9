"""The cases of a check: the injected faults, the required behaviour of a client, and the selection of cases."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from toolstream_core.defects.defect import Defect
from toolstream_core.defects.table import DEFECTS
from toolstream_core.errors import ToolstreamError, unknown
from toolstream_core.faults.presets import PRESETS
from toolstream_core.model import Severity
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS, SOCKETS
from toolstream_core.proxy.option_table import REPEATS
from toolstream_core.report.catalogue import SHAPES
from toolstream_core.stages.framing import PLAIN_LINES
from toolstream_core.testing import Setup
from toolstream_core.transit.definitions import TRANSIT


class Kind(enum.StrEnum):
    """The origin of a case."""

    HEALTHY = "healthy"
    FAULT = "fault"
    SHAPE = "shape"
    TRANSIT = "transit"
    PRESET = "preset"


class Transport(enum.Enum):
    """How a client connects."""

    HTTP = enum.auto()
    SOCKET = enum.auto()


EVERYWHERE: Final = frozenset(Transport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case, in one protocol."""

    protocol: str
    """`""` if it is not known yet."""
    kind: Kind
    name: str
    title: str
    """A description in one line."""
    code: str | None = None
    """The code of the defect."""
    groups: tuple[str, ...] = ()
    """Other words that select it: the family and the name of the fault."""
    spec: str = ""
    """The injected fault, as a value of `toolstream_fault`; `""` for nothing."""
    required: bool = True
    """Whether a client that fails it is wrong."""
    informational: bool = False
    """Whether the case is only reported: no behaviour is right or wrong."""
    lossy: bool = False
    """Whether no call must be run: it is never complete, or cannot be read."""
    may_refuse: bool = False
    """Whether reporting it, instead of running the call, is permitted."""
    must_continue: bool = False
    """Whether the stream is valid, so that a client which ends with an error is wrong."""
    calls: tuple[str, ...] = ()
    """The calls that the provider makes, `TOOL {JSON}` each. Without any, it calls a harmless tool on offer."""
    transports: frozenset[Transport] = EVERYWHERE
    """The transports that it can be injected into."""
    needs: str | None = None
    """The id of a case that must pass first."""
    untriable: str = ""
    """The reason why it cannot be tried with the calls of this check; `""` if it can."""

    @property
    def id(self) -> str:
        """The same in each run: `PROTOCOL/KIND/NAME`."""
        kind = "" if self.kind is Kind.HEALTHY and self.name == Kind.HEALTHY else f"{self.kind}/"
        return f"{self.protocol or UNKNOWN}/{kind}{self.name}"

    @property
    def words(self) -> frozenset[str]:
        """The words that select it, apart from its id."""
        return frozenset(filter(None, [self.name, self.code, self.kind.value, *self.groups]))


UNKNOWN: Final = "unknown"
"""The protocol of a client that sent no request."""


COLLECTIVE: Final = frozenset({"all", *Kind} - {Kind.HEALTHY})
"""Words for all cases, or all of a kind, that the client's protocol has."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects cases by words, in order: `word` adds its cases, `-word` removes them.

    A word is a name, code, family, kind or id, or a glob of these. If the first word takes out, or there is
    none, all are wanted at first.
    """

    words: tuple[str, ...] = ()

    def takes(self, case: Case) -> bool:
        wanted = not self.words or self.words[0].startswith("-")
        for word in self.words:
            if _means(word.removeprefix("-"), case):
                wanted = not word.startswith("-")
        return wanted

    @property
    def is_positive(self) -> bool:
        """Whether any words select cases; without them all are run."""
        return any(not word.startswith("-") for word in self.words)

    def names(self, case: Case) -> bool:
        """Whether a word names a case by more than its kind: it is reported even if it cannot run."""
        words = [word for word in self.words if word not in COLLECTIVE and not word.startswith("-")]
        return self.takes(case) and any(_means(word, case) for word in words)

    def check(self, cases: list[Case]) -> None:
        """Raise `ToolstreamError` for a word that selects no case."""
        for word in self.words:
            if not any(_means(word.removeprefix("-"), case) for case in cases):
                names = {name for case in cases for name in (case.id, *case.words)}
                raise ToolstreamError(unknown("case", word, names))


def _means(word: str, case: Case) -> bool:
    return word == "all" or any(fnmatchcase(name, word) for name in (case.id, *case.words))


class _Variant(NamedTuple):
    """A transit fault with the values that it is tried with."""

    name: str
    fault: str
    keys: str
    what: str = ""
    transports: frozenset[Transport] = EVERYWHERE
    needs_lanes: bool = False
    """Whether the API has to distinguish the responses of a WebSocket by a key of messages."""


_HTTP: Final = frozenset({Transport.HTTP})
_SOCKET: Final = frozenset({Transport.SOCKET})
TRANSIT_VARIANTS: Final = (
    _Variant("first-byte-delay", "first-byte-delay", "ms=400"),
    _Variant("stall", "stall", "ms=400", "in the middle of the arguments"),
    _Variant("drip", "drip", "ms=10"),
    _Variant("cut", "cut", "how=close", "in the middle of the arguments"),
    _Variant("cut-reset", "cut", "how=reset", "by a reset, in the middle of the arguments"),
    _Variant("cut-before-done", "cut", "at=before-done", "before the last event"),
    _Variant("cut-1000", "cut", "code=1000", "with the code 1000, in the middle of the arguments", _SOCKET),
    _Variant("cut-1001", "cut", "code=1001", "with the code 1001, in the middle of the arguments", _SOCKET),
    _Variant("cut-1011", "cut", "code=1011", "with the code 1011, in the middle of the arguments", _SOCKET),
    _Variant("recut-bytes", "recut", "bytes=1", "byte by byte", _HTTP),
    _Variant("recut-events", "recut", "events=1000", "all at once", _HTTP),
    _Variant("recut-utf8", "recut", "utf8=yes", "cut inside a character", _HTTP),
    _Variant("http-429", "http-error", "status=429,retry-after=1", "429, try again in 1 s"),
    _Variant("http-500", "http-error", "status=500", "500"),
    _Variant("http-529", "http-error", "status=529", "529, overloaded"),
    _Variant("message-429", "http-error", "status=429,retry-after=1,on=message", "429 in a message", _SOCKET),
    _Variant("message-500", "http-error", "status=500,on=message", "500 in a message", _SOCKET),
    _Variant("error-event", "error-event", "error=overloaded", "in the middle of the arguments"),
    _Variant("hold-open", "hold-open", "ms=1000", "for a second"),
    _Variant("duplicate-event", "duplicate-event", "at=in-arguments", "in the arguments"),
    _Variant("drop-event", "drop-event", "at=in-arguments", "in the arguments"),
    _Variant("swap-events", "swap-events", "at=in-arguments", "in the arguments"),
    _Variant("wrong-stream-id", "wrong-stream-id", "at=in-arguments", "in the arguments", _SOCKET, needs_lanes=True),
)
NO_CONNECTION: Final = frozenset({"duplicate-event", "drop-event", "swap-events", "wrong-stream-id"})
"""Faults that no connection and no known provider has: the result is reported, not graded."""


def healthy(protocol: str) -> Case:
    """The case that all others need."""
    return Case(protocol=protocol, kind=Kind.HEALTHY, name=Kind.HEALTHY, title="a healthy response with one call")


def two_calls(protocol: str, calls: tuple[str, ...]) -> Case:
    """The case that the cases with two calls need."""
    return Case(
        protocol=protocol,
        kind=Kind.HEALTHY,
        name="two-calls",
        title="a healthy response with two calls",
        calls=calls,
        needs=healthy(protocol).id,
    )


def cases_of(protocol: WireProtocol) -> list[Case]:
    """The cases of this protocol, before they are fitted to calls (`Fitting`)."""
    return [*_faults(protocol), *_shapes(protocol), *_transit(protocol), *_presets(protocol)]


def all_cases() -> list[Case]:
    """The cases of all protocols."""
    return [
        case
        for protocol in PROTOCOLS
        for case in (healthy(protocol.name), two_calls(protocol.name, ()), *cases_of(protocol))
    ]


def _faults(protocol: WireProtocol) -> Iterator[Case]:
    for defect in DEFECTS:
        if defect.name in protocol.injectors:
            yield Case(
                protocol=protocol.name,
                kind=Kind.FAULT,
                name=defect.name,
                title=defect.meaning,
                code=defect.code,
                groups=(defect.family,),
                spec=defect.name,
                required=_is_required(defect),
                lossy=defect.lossy,
                may_refuse=defect.may_refuse,
                must_continue=defect.lossy and defect.severity is Severity.NOTE,
                needs=healthy(protocol.name).id,
            )


def _is_required(defect: Defect) -> bool:
    """No reader can be sure to read the calls of a stream with an error that loses nothing."""
    return defect.lossy or defect.severity is not Severity.ERROR


def _shapes(protocol: WireProtocol) -> Iterator[Case]:
    for name in protocol.shapes:
        if name == PLAIN_LINES:  # healthy responses have such lines
            continue
        yield Case(
            protocol=protocol.name,
            kind=Kind.SHAPE,
            name=name,
            title=SHAPES[name].partition(". ")[0].removesuffix("."),
            spec=name,
            needs=healthy(protocol.name).id,
        )


def _transit(protocol: WireProtocol) -> Iterator[Case]:
    defects = {defect.name: defect for defect in TRANSIT}
    wire = next((one for one in SOCKETS if one.protocol == protocol.name), None)
    spoken = (_HTTP if protocol.over_http else frozenset()) | (frozenset() if wire is None else _SOCKET)
    for name, fault, keys, what, transports, needs_lanes in TRANSIT_VARIANTS:
        if transports.isdisjoint(spoken) or (needs_lanes and not (wire and wire.lane_key)):
            continue
        defect = defects[fault]
        yield Case(
            protocol=protocol.name,
            kind=Kind.TRANSIT,
            name=name,
            title=f"{defect.meaning}{': ' if what else ''}{what}",
            groups=(fault,),
            spec=f"{fault}:{keys}",
            required=fault not in NO_CONNECTION,
            informational=fault in NO_CONNECTION,
            transports=transports,
            lossy=defect.lossy,
            needs=healthy(protocol.name).id,
        )


def _presets(protocol: WireProtocol) -> Iterator[Case]:
    there = protocol.injectors.keys() | protocol.shapes.keys()
    defects = {defect.name: defect for defect in DEFECTS}
    for preset in PRESETS:
        if there.issuperset(preset.parts):
            parts = [defects[part] for part in preset.parts if part in defects]
            yield Case(
                protocol=protocol.name,
                kind=Kind.PRESET,
                name=preset.name,
                title=preset.meaning,
                spec=preset.name,
                required=all(_is_required(defect) for defect in parts),
                lossy=any(defect.lossy for defect in parts),
                may_refuse=any(defect.may_refuse for defect in parts),
                needs=healthy(protocol.name).id,
            )


_TOOL_KEYS: Final = (
    '"tools" *: *[[{][^]}]',
    "tool_?(call|use|result)",
    "tool(Use|Result)",
    "function_?([cC]all|[rR]esponse)",
    "call_output",
)
_ABOUT_TOOLS: Final = f"~bq '{'|'.join(_TOOL_KEYS)}'"
"""Requests with tools, calls or results. Others (for a title) get no fault and are not graded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Cases, calls and options for each client."""

    selection: Selection = Selection()
    calls: tuple[str, ...] = ()
    """The calls to make, `TOOL {JSON}` each; without any, they are generated for the offered tools."""
    tools: tuple[str, ...] = ()
    """The tools to call with generated arguments; without any, harmless ones are."""
    flows: tuple[Path, ...] = ()
    """Saved flows that respond instead."""
    upstream: bool = False
    """Whether the client's own provider responds."""
    repair: tuple[str, ...] = ()
    shape: tuple[str, ...] = ()
    seed: int = 0
    repeat: int = 1
    provider_repeats: int = REPEATS
    """Limit of equal requests per response of `flows`; 0 sets none."""
    sessions: bool = False
    """Keep the sessions of failed cases for the page."""

    @property
    def makes_calls(self) -> bool:
        """Whether the responses are generated."""
        return not self.flows and not self.upstream

    @property
    def chooses(self) -> bool:
        """Whether the tools to call are selected by name."""
        return self.makes_calls and not self.calls and not self.tools

    def has(self, repair: tuple[str, ...] = (), shape: tuple[str, ...] = ()) -> bool:
        """Whether every case has these options."""
        return {*repair} <= {*self.repair} and {*shape} <= {*self.shape}

    def _understood(self, case: Case) -> int:
        """The number of calls of the healthy response that passed before the case is run."""
        if not self.makes_calls or self.shape or case.needs is None:
            return 0
        return 2 if case.needs == two_calls(case.protocol, ()).id else 1

    def setup(self, case: Case, repair: tuple[str, ...] = (), shape: tuple[str, ...] = ()) -> Setup:
        """The setup of the proxy for a case; `repair` and `shape` are added to those of the plan."""
        return Setup(
            flows=self.flows,
            calls=(case.calls or self.calls or self.tools[:1]) if self.makes_calls else None,
            repair=(*self.repair, *repair),
            shape=(*self.shape, *shape),
            fault=(case.spec,) if case.spec else (),
            seed=self.seed,
            provider_repeats=self.provider_repeats,
            network="all" if self.upstream else "loopback",
            understood=self._understood(case),
            options={"toolstream_filter": _ABOUT_TOOLS},
        )
