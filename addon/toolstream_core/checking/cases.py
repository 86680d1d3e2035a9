"""All cases of a protocol, from the tables of faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.checking.case import EVERYWHERE, Case, Kind, Transport
from toolstream_core.defects.table import ROWS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.model import Severity
from toolstream_core.protocols.registry import PROTOCOLS, SOCKETS
from toolstream_core.transit.rows import TRANSIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.defects.row import Row
    from toolstream_core.protocols.protocol import WireProtocol


class _Variant(NamedTuple):
    """A transit fault with the values that it is tried with."""

    name: str
    fault: str
    keys: str
    what: str = ""
    over: frozenset[Transport] = EVERYWHERE
    needs_lanes: bool = False
    """Whether the API has to tell the answers of a WebSocket apart by a key of messages."""


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
"""Faults that no connection and no known provider has: the result is reported, not judged."""


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
    for row in ROWS:
        if row.name in protocol.injectors:
            yield Case(
                protocol=protocol.name,
                kind=Kind.FAULT,
                name=row.name,
                title=row.meaning,
                code=row.code,
                groups=(row.family,),
                spec=row.name,
                required=_is_required(row),
                lossy=row.lossy,
                may_refuse=row.may_refuse,
                needs=healthy(protocol.name).id,
            )


def _is_required(row: Row) -> bool:
    """No reader can be sure to read the calls of a stream with an error that loses nothing."""
    return row.lossy or row.severity is not Severity.ERROR


def _shapes(protocol: WireProtocol) -> Iterator[Case]:
    for name, stage in protocol.shapes.items():
        yield Case(
            protocol=protocol.name,
            kind=Kind.SHAPE,
            name=name,
            title=(stage.__doc__ or name).partition("\n")[0].rstrip("."),
            spec=name,
            needs=healthy(protocol.name).id,
        )


def _transit(protocol: WireProtocol) -> Iterator[Case]:
    rows = {row.name: row for row in TRANSIT}
    wire = next((one for one in SOCKETS if one.dialect == protocol.name), None)
    spoken = (_HTTP if protocol.over_http else frozenset()) | (frozenset() if wire is None else _SOCKET)
    for name, fault, keys, what, over, needs_lanes in TRANSIT_VARIANTS:
        if over.isdisjoint(spoken) or (needs_lanes and not (wire and wire.lane_key)):
            continue
        row = rows[fault]
        yield Case(
            protocol=protocol.name,
            kind=Kind.TRANSIT,
            name=name,
            title=f"{row.meaning}{': ' if what else ''}{what}",
            groups=(fault,),
            spec=f"{fault}:{keys}",
            required=fault not in NO_CONNECTION,
            informational=fault in NO_CONNECTION,
            over=over,
            lossy=row.lossy,
            needs=healthy(protocol.name).id,
        )


def _presets(protocol: WireProtocol) -> Iterator[Case]:
    there = protocol.injectors.keys() | protocol.shapes.keys()
    rows = {row.name: row for row in ROWS}
    for preset in PRESETS:
        if there.issuperset(preset.parts):
            parts = [rows[part] for part in preset.parts if part in rows]
            yield Case(
                protocol=protocol.name,
                kind=Kind.PRESET,
                name=preset.name,
                title=preset.meaning,
                spec=preset.name,
                required=all(_is_required(row) for row in parts),
                lossy=any(row.lossy for row in parts),
                may_refuse=any(row.may_refuse for row in parts),
                needs=healthy(protocol.name).id,
            )
