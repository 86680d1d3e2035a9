"""The table of transit faults: names, effects, keys."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from toolstream_core.errors import ToolstreamError
from toolstream_core.protocols.errors import ERRORS
from toolstream_core.transit import faults
from toolstream_core.transit.actions import BreakKind
from toolstream_core.transit.faults import FORMS, FaultContext, Point, Stage, point

type Value = int | str | Point | bool


class Key(NamedTuple):
    """A key of a transit fault."""

    name: str
    parse: Callable[[str], Value | None]
    """Parses the value; `None` for an invalid text."""
    expected: str
    """Its possible values, for messages and the list."""
    default: Value | None
    """`None` if a value is required."""


class Moment(enum.Enum):
    """When faults are selected for a response."""

    ANSWER = "answer"
    """Its headers have arrived."""
    REQUEST = "request"
    """It was requested over HTTP."""
    UPGRADE = "upgrade"
    """A WebSocket was requested."""
    MESSAGE = "message"
    """It was requested by a message of a WebSocket."""


class TransitDefinition(NamedTuple):
    """One transit fault."""

    name: str
    meaning: str
    keys: tuple[Key, ...]
    make: Callable[[FaultContext], Stage] | None
    """`None` if the proxy responds itself, without a request to upstream."""
    lossy: bool = False
    """Whether a part of the response is lost or damaged, and its calls need not run."""


@dataclass(frozen=True, slots=True)
class TransitFault:
    """A transit fault with its values."""

    definition: TransitDefinition
    values: Mapping[str, Value]

    def acts_at(self, moment: Moment) -> bool:
        """Whether it is selected at a moment."""
        before_answer = self.definition.make is None
        match moment:
            case Moment.ANSWER:
                return not before_answer
            case Moment.REQUEST:
                return before_answer
            case _:
                return before_answer and self.values["on"] in {_BOTH, moment.value}


def _number(least: int, most: int = 86_400_000) -> Callable[[str], int | None]:
    def parse(text: str) -> int | None:
        fits = text.isascii() and text.isdigit() and len(text) < 10  # noqa: PLR2004
        return int(text) if fits and least <= int(text) <= most else None

    return parse


def _one_of(*words: str) -> Callable[[str], str | None]:
    return lambda text: text if text in words else None


_CODES = (1000, 1001, faults.NO_CLOSE_FRAME, 1011)


def _code(text: str) -> int | None:
    return next((code for code in _CODES if str(code) == text), None)


_BOTH = "both"
_ON = (_BOTH, Moment.UPGRADE.value, Moment.MESSAGE.value)
_HOW = tuple(how.value for how in BreakKind)
_DISTRIBUTIONS = ("uniform", "normal", "exponential")
_AT = Key("at", point, FORMS, Point("in-arguments"))
_JITTER = Key("jitter", _number(0), "milliseconds", 0)
_DIST = Key("dist", _one_of(*_DISTRIBUTIONS), ", ".join(_DISTRIBUTIONS), "uniform")


def _ms(default: int | None) -> Key:
    return Key("ms", _number(0), "milliseconds", default)


TRANSIT: Final[tuple[TransitDefinition, ...]] = (
    TransitDefinition(
        "first-byte-delay",
        "delays the headers and the first byte of the response",
        (_ms(1000), _JITTER, _DIST),
        faults.FirstByteDelay,
    ),
    TransitDefinition("stall", "pauses the response once", (_ms(1000), _JITTER, _DIST, _AT), faults.Stall),
    TransitDefinition("drip", "delays each event", (_ms(50), _JITTER, _DIST), faults.Drip),
    TransitDefinition(
        "cut",
        "closes the connection inside the response",
        (
            Key("how", _one_of(*_HOW), " or ".join(_HOW), "close"),
            Key(
                "code",
                _code,
                "1000, 1001, 1006 (no close frame) or 1011, the close code of a WebSocket; ignored over HTTP",
                faults.NO_CLOSE_FRAME,
            ),
            _AT,
        ),
        faults.CutOff,
        lossy=True,
    ),
    TransitDefinition(
        "recut",
        "re-chunks the response; the bytes stay the same",
        (
            Key("bytes", _number(1, 1_000_000), "bytes per chunk", 0),
            Key("events", _number(1, 1000), "events per chunk", 0),
            Key("utf8", _one_of("yes"), "yes: each chunk ends inside a multi-byte character, where there is one", ""),
        ),
        faults.Recut,
    ),
    TransitDefinition(
        "http-error",
        "responds with an HTTP error",
        (
            Key("status", _number(400, 599), "an HTTP status from 400 to 599", 529),
            Key("retry-after", _number(0), "seconds", 0),
            Key(
                "on",
                _one_of(*_ON),
                "on a WebSocket: upgrade (an HTTP status), message (an error message for each request) or both",
                _BOTH,
            ),
        ),
        None,
        lossy=True,
    ),
    TransitDefinition(
        "error-event",
        "sends an error inside the stream, which then ends",
        (Key("error", _one_of(*ERRORS), ", ".join(ERRORS), "overloaded"), _AT),
        faults.ErrorEvent,
        lossy=True,
    ),
    TransitDefinition(
        "hold-open",
        "sends the complete response and keeps the connection open",
        (_ms(0), Key("heartbeat", _number(1), "milliseconds between comments", 0)),
        faults.HoldOpen,
    ),
    TransitDefinition("duplicate-event", "sends an event twice", (_AT,), faults.DuplicateEvent, lossy=True),
    TransitDefinition("drop-event", "drops an event", (_AT,), faults.DropEvent, lossy=True),
    TransitDefinition("swap-events", "swaps an event with the next one", (_AT,), faults.SwapEvents, lossy=True),
    TransitDefinition(
        "wrong-stream-id",
        "gives a WebSocket message the stream_id of another response; no effect over HTTP",
        (Key("id", lambda text: text or None, "a stream_id", "other"), _AT),
        faults.WrongStreamId,
        lossy=True,
    ),
)

_BY_NAME = {definition.name: definition for definition in TRANSIT}


def transit_of(name: str, given: Mapping[str, str]) -> TransitFault | None:
    """The transit fault of that name; `None` if there is none. Raises `ToolstreamError`."""
    definition = _BY_NAME.get(name)
    if definition is None:
        return None
    values: dict[str, Value] = {}
    for key in definition.keys:
        text = given.get(key.name)
        value = key.default if text is None else key.parse(text)
        if value is None:
            raise ToolstreamError(f"{key.name}={text}: {key.name} of {name} must be {key.expected}")
        values[key.name] = value
    if name == "recut" and sum(bool(values[key]) for key in ("bytes", "events", "utf8")) != 1:
        raise ToolstreamError("recut needs exactly one of bytes=N, events=N and utf8=yes")
    return TransitFault(definition, values)


def keys_of(name: str) -> tuple[str, ...]:
    """The keys of a transit fault; none for any other name."""
    definition = _BY_NAME.get(name)
    return tuple(key.name for key in definition.keys) if definition else ()
