"""The certain part of the intended calls of a stream."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import NamedTuple

from toolstream_core.calls import OpenCall, nonblank
from toolstream_core.calls.arguments import ArgumentText, Reading
from toolstream_core.calls.json_text import is_json
from toolstream_core.calls.repetition import Compared, SameId
from toolstream_core.defects.defect import Defect
from toolstream_core.model import Fragment, Kind, Phase
from toolstream_core.protocols.requests.tools import custom_tools, in_namespaces, namespaces
from toolstream_core.protocols.responses.repair.client import ClientItem
from toolstream_core.protocols.responses.repair.events import ADDED
from toolstream_core.repair.arguments_reader import ArgumentsReader, FreeTextReader
from toolstream_core.repair.client_text import is_in_step
from toolstream_core.stages.context import Context
from toolstream_core.wire.frame import Frame, parse
from toolstream_core.wire.json_value import Payload


class IntendedCall:
    """A call of a function or custom tool as received, and the item that was sent for it."""

    def __init__(self, call: OpenCall, order: int) -> None:
        self.call = call
        self.order = order
        self.added = False
        """Whether an event added it."""
        self.sent: ClientItem | None = None
        self.reader = FreeTextReader(call.arguments) if call.kind is Kind.CUSTOM else ArgumentsReader(call.arguments)
        self.items: set[str] = set()
        """Ids of the items that opened the call."""
        self.copies: set[str] = set()
        """Ids of items that only repeat the call."""
        self.is_split = False
        """Whether each fragment has its own item."""
        self.passed = False
        """Whether its events are forwarded unchanged, because no event added its item."""
        self.disordered = False
        """Whether fragments in own items arrived after events of another call: their order is unknown then."""
        self.is_duplicate: bool | None = None
        """Whether it only repeats an earlier call; `None` while that is unknown."""
        self.early: list[CallEvent] = []
        """Deltas before the event that adds it."""
        self.queued = 0
        """The number of its waiting events."""
        self.defect: Defect | None = None
        """The defect for which the last delta was withheld or changed."""

    @property
    def item(self) -> ClientItem:
        """The item that was sent for it."""
        assert self.sent is not None
        return self.sent

    @property
    def is_converted(self) -> bool:
        """Whether the client has a function call as a call of a custom tool."""
        return self.call.kind is Kind.FUNCTION and self.sent is not None and self.sent.is_custom

    @property
    def passes(self) -> bool:
        """Whether its events are forwarded unchanged, because their call is unknown."""
        return self.passed or self.call.guessed or self.disordered

    @property
    def arguments(self) -> ArgumentText:
        """The intended arguments, as far as they grow by fragments."""
        return self._current.source

    @property
    def _current(self) -> ArgumentsReader:
        """The reader, reset if an event replaced the received arguments."""
        if self.reader.received is not self.call.arguments:
            self.reader.add("", self.call.arguments)
        return self.reader

    def is_in_step(self, fragment: str = "") -> bool:
        sent = self.sent
        if sent is None or sent.done or sent.closed or self.call.start_input is not None:
            return False
        return is_in_step(self._current, sent.text, fragment)

    def reading(self, *, final: bool) -> Reading:
        """The intended arguments as far as they are certain; `final`: no more fragments arrive."""
        return Reading("") if self.call.start_input is not None and not final else self._current.read(final=final)

    def take(self, fragment: Fragment, *, after_own: bool) -> None:
        """Note a fragment that the call already has; `after_own`: the previous call event was of the same call."""
        item = nonblank(fragment.item_id)
        if fragment.phase is Phase.MORE and isinstance(fragment.arguments, str) and fragment.arguments:
            self.reader.add(fragment.arguments, self.call.arguments)
        elif fragment.phase is not Phase.OPEN and fragment.phase is not Phase.MORE:
            self._current.decide(final=True)
        if fragment.phase is Phase.OPEN:
            self.added = True
            if self.items and item not in self.items:
                again = self.call.is_complete() and not self.is_split
                self.is_split = not again
                if again:
                    self.copies.add(item)
            self.items.add(item)
        elif fragment.phase is Phase.CLOSE and not self.items:
            self.items.add(item)
        if self.is_split and not after_own and fragment.phase in {Phase.MORE, Phase.OPEN}:
            self.disordered = True


class CallEvent(NamedTuple):
    """An event of a call, and the state of the call at that event."""

    frame: Frame
    payload: Payload
    kind: str
    intended: IntendedCall
    own: str
    """The item id in the event."""
    delta: str
    """The arguments in the event."""

    @property
    def passes(self) -> bool:
        """Whether it is forwarded unchanged: its call is unknown, and it does not add an item."""
        return self.intended.passes and not (self.kind == ADDED and self.intended.sent is None)


class IntendedCalls:
    """All calls of one stream."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.by_key: dict[int, IntendedCall] = {}
        self._same_id = SameId(self._compared)
        self.failed = False
        """Whether the provider reported an error."""

    def of(self, call: OpenCall) -> IntendedCall:
        """The intended call of a resolver's call."""
        one = self.by_key.get(id(call))
        if one is None:
            one = self.by_key[id(call)] = IntendedCall(call, len(self.by_key))
        if call.id:
            self._same_id.add(call.id, one)
        return one

    @cached_property
    def custom_tools(self) -> frozenset[str]:
        """Names of tools that take free text."""
        return custom_tools(self._context.exchange.request)

    @cached_property
    def _namespaces(self) -> Mapping[str, Collection[str]]:
        return namespaces(self._context.exchange.request)

    def in_namespaces(self, name: str, own: str) -> list[tuple[str, str]]:
        """The tools that a call may mean, each with its namespace, unless it names an offered tool exactly."""
        return in_namespaces(self._namespaces, name, own)

    @property
    def open(self) -> list[IntendedCall]:
        """The calls that were sent and not closed."""
        return [one for one in self.by_key.values() if one.sent is not None and not (one.sent.closed or one.passes)]

    # -- identity

    def is_duplicate(self, intended: IntendedCall) -> bool | None:
        """Whether it only repeats an earlier call; `None` while that is unknown."""
        return self._same_id.repeats(intended.call.id, intended)

    def _compared(self, intended: IntendedCall) -> Compared:
        """The facts of a call for comparison with others of its id. The closing event may replace its arguments."""
        call = intended.call
        return Compared(call.name, call.arguments.canonical if self.is_complete(intended) else None, "", call.closed)

    def is_complete(self, intended: IntendedCall) -> bool:
        """Whether the call is complete as received."""
        return intended.call.is_complete(may_be_empty=self._context.may_be_empty(intended.call.name))

    def is_complete_without_event(self, intended: IntendedCall) -> bool:
        """Whether its arguments are an object and not a placeholder, although no event completed them."""
        follows_placeholder = intended.reader.begin > 0 and intended.reader.source.is_complete
        if not (follows_placeholder or intended.call.is_complete()):
            return False
        value = parse(intended.reading(final=True).text.encode("utf-8", "replace"))
        return isinstance(value, dict) and (bool(value) or self._context.has_no_parameters(intended.call.name))

    # -- arguments

    def text_waits(self, intended: IntendedCall) -> bool:
        """Whether the last delta may be a placeholder, or have all arguments so far."""
        if intended.reader.suspect is not None:
            return True
        return not self._context.has_no_parameters(intended.call.name) and intended.reader.may_be_placeholder

    def ends_in_part(self, intended: IntendedCall) -> bool:
        """Whether the closing event has only a part of the arguments: the rest may come in another item."""
        call = intended.call
        return not (call.cut or call.kind is Kind.CUSTOM) and (
            not self.is_complete(intended) or (call.arguments.empty and not is_json(call.arguments.text()))
        )
