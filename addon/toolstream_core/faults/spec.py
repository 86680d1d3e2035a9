"""A fault specification: `NAME[:key=value,…]`, for example `empty-id:p=0.5,times=2,model=glm*`."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Final

from toolstream_core.calls import OpenCall
from toolstream_core.errors import ToolstreamError, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault, and the streams, calls and events to inject it into."""

    name: str
    """A defect or a preset."""
    host: str | None = None
    """Only streams of hosts that match this glob."""
    path: str | None = None
    """Only streams whose request path (without query) matches this glob."""
    model: str | None = None
    """Only streams of models that match this glob."""
    tool: str | None = None
    """Only calls of tools that match this glob."""
    turn: int | None = None
    """Only the response to a request with this number of tool results: 0 is the first of a conversation."""
    nth: int | None = None
    """Only the nth call of each stream (from 1), among those that match the other targets."""
    p: float = 1.0
    """The probability for each call, or for each stream if the fault acts on the stream."""
    times: int | None = None
    """The most times that it acts, over all streams."""
    own: tuple[tuple[str, str], ...] = ()
    """Keys that only this fault has, with their values."""

    def reaches(self, *, host: str, path: str, model: str | None, turn: int) -> bool:
        """Whether a stream is among the targets."""
        return (
            _matches(host, self.host)
            and _matches(path.partition("?")[0], self.path)
            and _matches(model or "", self.model)
            and (self.turn is None or self.turn == turn)
        )

    def hits(self, tool: str) -> bool:
        """Whether a call of `tool` is among the targets."""
        return _matches(tool, self.tool)

    @property
    def spec(self) -> str:
        """The specification, in its shortest form."""
        pairs = [f"{key}={_text(value)}" for key, value in (*self.own, *self._changed()) if value is not None]
        return f"{self.name}:{','.join(pairs)}" if pairs else self.name

    def _changed(self) -> list[tuple[str, object]]:
        """Keys with other values than their defaults."""
        default = Fault(name=self.name)
        return [(key, getattr(self, key)) for key in KEYS if getattr(self, key) != getattr(default, key)]


KEYS: Final = tuple(one.name for one in fields(Fault) if one.name not in {"name", "own"})
_COUNTS = {"turn": 0, "nth": 1, "times": 0}
"""Keys whose value is an integer, with the least value."""


def parse_fault(text: str, known: Collection[str], own: Callable[[str], Sequence[str]] = lambda name: ()) -> Fault:  # noqa: ARG005
    """The fault that `text` specifies. Raises `ToolstreamError`.

    `known` has the names of all faults; `own` gives the keys that only the fault of a name has.
    """
    name, colon, rest = text.strip().partition(":")
    if name not in known:
        raise ToolstreamError(unknown("fault", name, known))
    own_keys = own(name)
    keys = ", ".join((*own_keys, *KEYS))
    if colon and not rest:
        raise ToolstreamError(f"{text!r}: expected key=value pairs after the colon; keys are {keys}")
    values: dict[str, object] = {}
    own_values: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = (side.strip() for side in part.partition("="))
        if not equals or not value:
            raise ToolstreamError(f"{text!r}: {part.strip()!r} is not a key=value pair; keys are {keys}")
        if key not in (*own_keys, *KEYS):
            raise ToolstreamError(f"{text!r}: {name} has no key {key}; keys are {keys}")
        if key in own_keys:
            own_values[key] = value
        else:
            values[key] = _value(key, value, text)
    return Fault(name=name, own=tuple(own_values.items()), **values)  # type: ignore[arg-type]


def _value(key: str, value: str, text: str) -> object:
    if key == "p":
        return _number(value, text)
    if key not in _COUNTS:
        return value
    least = _COUNTS[key]
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise ToolstreamError(f"{key}={value} in {text!r}: {key} must be an integer, at least {least}")
    return int(value)


def _number(value: str, text: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ToolstreamError(f"p={value} in {text!r}: p must be a number from 0 to 1")
    return number


def _matches(text: str, glob: str | None) -> bool:
    return glob is None or fnmatchcase(text.lower(), glob.lower())


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass
class Budget:
    """How often a fault with `times` may still be selected; shared by all streams."""

    left: int | None

    def spend(self) -> bool:
        """Use one up. Returns whether one was left."""
        if self.left == 0:
            return False
        if self.left is not None:
            self.left -= 1
        return True


@dataclass
class Picker:
    """One fault in one stream."""

    fault: Fault
    seed: str
    """The random seed of this stream and this fault."""
    budget: Budget
    rolled: int = 0
    """The number of selected calls or streams."""
    touched: int = 0
    """The number of changes."""
    _calls: dict[tuple[int, int], bool] = field(default_factory=dict)
    _stream: bool | None = None
    _seen: int = 0

    def __post_init__(self) -> None:
        """Use random numbers of its own."""
        self._random = random.Random(self.seed)

    def call(self, call: OpenCall) -> bool:
        """Whether the fault acts on a call; the same for all its events."""
        key = (call.choice, call.position)
        if key not in self._calls:
            self._calls[key] = self._select(call)
        return self._calls[key]

    def stream(self) -> bool:
        """Whether the fault acts on this stream; always the same."""
        if self._stream is None:
            self._stream = self._roll()
        return self._stream

    def acted(self, times: int = 1) -> None:
        """Count changes that were made."""
        self.touched += times

    def _select(self, call: OpenCall) -> bool:
        if not self.fault.hits(call.name):
            return False
        self._seen += 1
        return self.fault.nth in {None, self._seen} and self._roll()

    def _roll(self) -> bool:
        if self._random.random() >= self.fault.p or not self.budget.spend():
            return False
        self.rolled += 1
        return True
