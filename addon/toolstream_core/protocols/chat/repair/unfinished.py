"""The calls of one choice of a Chat Completions answer that lack a part, so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.protocols.chat.repair.client_call import ClientCall

# A call is looked at again where something of it came, or was decided on, and where the protocol has said since that it
# is over; so a finish in each event costs the same, however many calls there are.


class Unfinished:
    """What is asked of them at each finish. All dicts are by `id`, in the order in which the calls opened."""

    def __init__(self) -> None:
        """None yet."""
        self._fresh: dict[int, ClientCall] = {}
        """Those that have to be looked at."""
        self._not_over: dict[int, dict[int, ClientCall]] = {}
        """By the choice that the wire gives them, those that were looked at before the protocol said they are over."""
        self._done: set[int] = set()
        self._all: dict[int, ClientCall] = {}
        self._half: set[int] = set()
        self._lacking: set[int] = set()
        """Those that are not whole, even where the answer has said how it finished."""
        self._silent: dict[int, ClientCall] = {}
        """Those of which nothing of the arguments was said."""
        self._owed: dict[int, ClientCall] = {}
        """Those of them whose `{}` was taken for a placeholder."""

    def touch(self, client_call: ClientCall) -> None:
        """Something of a call came, or was decided on."""
        self._fresh[id(client_call)] = client_call

    def __bool__(self) -> bool:
        """Whether any call lacks a part."""
        self._look()
        return bool(self._all)

    def __iter__(self) -> Iterator[ClientCall]:
        """All of them."""
        self._look()
        return iter(list(self._all.values()))

    @property
    def half(self) -> frozenset[int]:
        """Those whose arguments have begun, and are not whole, by `id`."""
        self._look()
        return frozenset(self._half)

    @property
    def any_half(self) -> bool:
        """Whether there is such a one."""
        self._look()
        return bool(self._half)

    @property
    def any_lacking(self) -> bool:
        """Whether one is not whole, even where the answer has said how it finished."""
        self._look()
        return bool(self._lacking)

    def silent(self) -> list[ClientCall]:
        """Those of which nothing of the arguments was said, and that may be given some."""
        self._look()
        asked = self._owed if self._half else self._silent
        for key in [key for key, client_call in asked.items() if client_call.has_arguments or client_call.doubled]:
            self._forget_silent(key)
        return list(asked.values())

    def lost(self, client_call: ClientCall) -> None:
        """A call gets no arguments, unless something of it comes."""
        self._forget_silent(id(client_call))

    def _look(self) -> None:
        for waiting in self._not_over.values():
            if waiting and next(iter(waiting.values())).call.over:
                self._fresh.update(waiting)
                waiting.clear()
        fresh, self._fresh = self._fresh, {}
        for key, client_call in fresh.items():
            if key not in self._done:
                self._look_at(key, client_call)

    def _look_at(self, key: int, client_call: ClientCall) -> None:
        self._half.discard(key)
        self._lacking.discard(key)
        self._not_over.get(client_call.call.choice, {}).pop(key, None)
        whole = client_call.whole
        if whole and client_call.over:
            self._done.add(key)
            self._all.pop(key, None)
            self._forget_silent(key)
            return
        self._all[key] = client_call
        if client_call.half:
            self._half.add(key)
        if not whole:
            self._lacking.add(key)
        if not client_call.call.over:
            self._not_over.setdefault(client_call.call.choice, {})[key] = client_call
        if not (client_call.has_arguments or client_call.doubled):
            self._silent[key] = client_call
            if client_call.spelling.owes:
                self._owed[key] = client_call

    def _forget_silent(self, key: int) -> None:
        self._silent.pop(key, None)
        self._owed.pop(key, None)
