"""The content blocks that the client has been given of one message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic.repair.identity import KnownIds

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.protocols.anthropic.repair.client_block import ClientBlock
    from toolstream_core.stages.context import Context

# The client gets blocks one after the other, each at the next place, whatever indexes the wire gives them. So every
# block knows its place, and an event is rewritten where its index is another. Blocks that are over are found by index
# or id: an answer may have many thousands of them.

MAX_SAME_ID: Final = 16
"""Calls of one id with which a further one is compared."""


class ClientMessage:
    """The blocks of one message, as the client knows them."""

    def __init__(self, context: Context) -> None:
        """Of one stream."""
        self.last: ClientBlock | None = None
        """The block that started last."""
        self.count = 0
        """How many blocks the client has been given."""
        self.calls: list[ClientBlock] = []
        """The calls among them that the client runs."""
        self.open: dict[int, ClientBlock] = {}
        """Those that are not stopped, by their place."""
        self.by_id: dict[str, list[ClientBlock]] = {}
        """Calls by the id that the provider gave them."""
        self.by_index: dict[int | None, ClientBlock] = {}
        """The newest block of each index of the wire."""
        self.by_call: dict[int, ClientBlock] = {}
        """By the identity of the resolved call."""
        self.ids = KnownIds(context, self.by_id.keys())
        self.lost_arguments = False
        """Whether arguments came that belong to no call."""

    @property
    def whole(self) -> bool:
        """Whether calls came, and nothing is missing of any open block but the stop of a call."""
        return bool(self.calls) and all(one.whole_call for one in self.open.values())

    @property
    def runnable(self) -> bool:
        """Whether calls came, and each of them can be run: nobody can run one without a name."""
        named = all(one.call is None or one.call.name for one in self.calls)
        return named and self.whole and not self.lost_arguments and all(one.arguments.runnable for one in self.calls)

    def add(self, block: ClientBlock, index: int | None) -> None:
        """A block starts; `index` is the wire's."""
        self.last = self.open[block.place] = self.by_index[index] = block
        self.count += 1
        if block.is_call:
            self.calls.append(block)
        if block.call is not None:
            self.by_call[id(block.call)] = block

    def add_id(self, block: ClientBlock) -> None:
        """The client knows the id of a block."""
        if block.is_call and block.given_id:
            same_id = self.by_id.setdefault(block.given_id, [])
            same_id.append(block)
            del same_id[:-MAX_SAME_ID]

    def block_of(self, index: int | None, call: OpenCall | None) -> ClientBlock | None:
        """The block of an index; for arguments of `call` its own while that is open, whatever has the index by now."""
        block = self.by_index.get(index)
        if block is None or block.call is not None or call is None:
            return block
        own = self.by_call.get(id(call))
        return own if own is not None and own.open and own.has(index) else block
