"""The indexes of one choice of a Chat Completions stream, as the client has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.protocols.chat.repair.client_call import ClientCall


class Indexes:
    """Whose each index is: a call's, or nobody's."""

    def __init__(self) -> None:
        """None is taken."""
        self.taken: dict[int, ClientCall] = {}
        self.free = 0
        """The one that comes next, by those of calls."""
        self._nobodys: dict[int, int] = {}
        """Those of entries that are no call's, by the index under which they came."""

    def take(self, index: int, client_call: ClientCall) -> None:
        """An index is a call's from now on."""
        self.taken[index] = client_call
        self.pass_by(index)

    def pass_by(self, index: int) -> None:
        """The client has an index from now on, be it as that of a call whose events are forwarded unchanged."""
        self.free = max(self.free, index + 1)

    @property
    def unused(self) -> int:
        """One that the client has neither as a call's nor as nobody's."""
        return max([self.free, *(index + 1 for index in self._nobodys.values())])

    def is_nobodys(self, index: int) -> bool:
        """Whether entries that are no call's were given this one."""
        return index in self._nobodys.values()

    def gave_away(self, index: int) -> bool:
        """Whether the client has an index as that of a call that came under another one."""
        return index in self.taken and self.taken[index].wire_index != index

    def nobodys(self, index: int) -> int:
        """One that is no call's, for all entries that came under this index and are nobody's."""
        return self._nobodys.setdefault(index, self.unused)
