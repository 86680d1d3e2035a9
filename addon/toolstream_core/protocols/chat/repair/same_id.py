"""Calls of one choice under one id: whether one only says another again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.protocols.chat.repair.client_call import ClientCall

# What a call said is remembered once it is whole, by what it means: a thousand calls under one id cost no more than
# each of them alone.


class _Group:
    """The calls that came under one id."""

    def __init__(self) -> None:
        self.open: list[ClientCall] = []
        self.names: dict[str, int] = {}
        """Names of those that are whole, and the order of the first that had it."""
        self.by_meaning: dict[tuple[str, str], ClientCall] = {}
        """By name and arguments, the first of them that said so."""

    def add(self, client_call: ClientCall) -> None:
        """Take a call in, and take up which of the others have become whole."""
        still = [client_call]
        for one in self.open:
            if one is client_call:
                continue
            if one.call.name and one.call.arguments.whole and (one.spelling.whole or one.call.arguments.is_json):
                self.names.setdefault(one.call.name, one.order)
                self.by_meaning.setdefault((one.call.name, one.call.arguments.meaning), one)
            else:
                still.append(one)
        self.open = still

    def has_twin(self, client_call: ClientCall) -> bool:
        """Whether a call came before whose name is, or may become, this one's."""
        name, order = client_call.call.name, client_call.order
        if any(one.order < order and (not (name and one.call.name) or name == one.call.name) for one in self.open):
            return True
        firsts = [self.names[name]] if name in self.names else [] if name else self.names.values()
        return any(first < order for first in firsts)


class Twins:
    """The calls of one choice, by id."""

    def __init__(self) -> None:
        """None yet."""
        self._first: dict[str, ClientCall] = {}
        """The first call of each id."""
        self._groups: dict[str, _Group] = {}
        """Where others follow it."""

    def compare(self, client_call: ClientCall) -> None:
        """Find out whether a call under another call's id is that call again, as long as it may be."""
        identity = client_call.call.id
        first = self._first.setdefault(identity, client_call)
        if first is client_call and identity not in self._groups:
            client_call.may_repeat = False
            return
        group = self._groups.get(identity)
        if group is None:
            group = self._groups[identity] = _Group()
            group.add(first)
        group.add(client_call)
        client_call.may_repeat = False
        if not group.has_twin(client_call):
            return
        if client_call.call.name and client_call.call.arguments.whole:
            first = group.by_meaning.get((client_call.call.name, client_call.call.arguments.meaning), client_call)
            client_call.twin = first if first.order < client_call.order else None
            if client_call.doubled:
                group.open.remove(client_call)
        else:
            client_call.may_repeat = not client_call.settled
