"""The function calls of one Responses answer, each with what the client has been given of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.resolver import same_arguments
from toolstream_core.protocols.responses.repair.client_item import ClientItem
from toolstream_core.protocols.responses.repair.item_start import Start
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.protocols.responses.repair.state import RepairState


class ClientItems:
    """In the order of their first events."""

    def __init__(self, state: RepairState) -> None:
        """None yet."""
        self._state = state
        self._by_call: dict[int, ClientItem] = {}
        self._by_id: dict[str, list[ClientItem]] = {}
        self._indexed: set[int] = set()

    def __iter__(self) -> Iterator[ClientItem]:
        """Each of them."""
        return iter(self._by_call.values())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._by_call)

    def unclosed(self) -> list[ClientItem]:
        """Those that the client was given, and of which deltas may follow."""
        return [item for item in self._by_call.values() if item.start is Start.ADDED and not item.closed]

    def find(self, call: OpenCall) -> ClientItem | None:
        """The item of a call; `None` before its first event was dealt with."""
        return self._by_call.get(id(call))

    def of(self, call: OpenCall) -> ClientItem:
        """The item of a call of which an event is at hand."""
        item = self._by_call.get(id(call))
        if item is None:
            item = self._by_call[id(call)] = ClientItem(self._state, call)
            self._state.begin_call(call)
        if call.id and id(call) not in self._indexed:
            self._indexed.add(id(call))
            self._by_id.setdefault(call.id, []).append(item)
        return item

    def with_id(self, call_id: str) -> Sequence[ClientItem]:
        """Those with a `call_id`, in order."""
        return self._by_id.get(call_id, ())

    def outdated(self, item: ClientItem) -> bool:
        """Whether an item was closed with other arguments than those that are known by now, and whole."""
        arguments = item.call.arguments
        if not item.closed or item.in_pieces or arguments.truncated or not arguments.whole:
            return False
        closed_with = json_access.get(self._state.places.closed.get(item.place), "arguments")
        return not same_arguments(item.arguments.meant, closed_with if isinstance(closed_with, str) else "")
