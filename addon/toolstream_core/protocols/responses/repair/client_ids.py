"""The ids that the client of one Responses answer has been given, and for which calls."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.protocols.requests.tools import earlier_ids

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.context import Context


class ClientIds:
    """Which call has which `call_id` and item id; where several have one id, it counts as the first one's."""

    def __init__(self, context: Context) -> None:
        """None is given."""
        self._context = context
        self.calls: list[OpenCall] = []
        """Every call of the answer that the repair knows."""
        self._call_ids: dict[int, str] = {}
        """The `call_id` that the client has for a call, by the call's `id()`."""
        self._by_call_id: dict[str, OpenCall] = {}
        self._by_item_id: dict[str, OpenCall] = {}
        self._shared_item_ids: set[str] = set()

    @cached_property
    def earlier(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        return earlier_ids(self._context.exchange.request)

    def give_item_id(self, item_id: str, call: OpenCall) -> None:
        """The client knows a call's item by this id."""
        if self._by_item_id.setdefault(item_id, call) is not call:
            self._shared_item_ids.add(item_id)

    def has_item_id(self, item_id: str, call: OpenCall) -> bool:
        """Whether an item id counts as a call's."""
        return self._by_item_id.get(item_id) is call

    def is_own_item_id(self, item_id: str) -> bool:
        """Whether an item id is that of one item alone."""
        return item_id != "" and item_id not in self._shared_item_ids

    def give_call_id(self, call_id: str, call: OpenCall) -> None:
        """The client knows a call by this `call_id`."""
        self._call_ids[id(call)] = call_id
        self._by_call_id.setdefault(call_id, call)

    def is_of_other(self, call_id: str, call: OpenCall) -> bool:
        """Whether a `call_id` counts as another call's."""
        return self._by_call_id.get(call_id, call) is not call

    def other_has(self, call_id: str, call: OpenCall) -> bool:
        """Whether another call has a `call_id`, from the provider or for the client."""
        return any(call_id in {self._call_ids.get(id(one), ""), one.id} for one in self.calls if one is not call)
