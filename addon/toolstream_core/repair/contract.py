"""The contract between the stage and a protocol package: what the stage hands over, and what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.model import Event, Fragment
    from toolstream_core.repair.client import Client
    from toolstream_core.repair.client_call import ClientCall
    from toolstream_core.wire.frame import Frame


class Touched(NamedTuple):
    """A fragment of an event, and its call."""

    fragment: Fragment
    one: ClientCall
    upto: int
    """How many characters of the call's arguments had come with it."""
    fresh: bool
    """Whether it has an id or a name for the first time."""
    guess: ArgumentText | None = None
    """The text that it was put into on a guess."""

    @property
    def is_foreign(self) -> bool:
        """Whether the guess was taken back: the fragment is not the call's."""
        return self.guess is not None and self.guess is not self.one.intended.call.arguments

    @property
    def piece(self) -> str:
        """The arguments that it brings."""
        return self.fragment.arguments if isinstance(self.fragment.arguments, str) else ""


class Waiting(NamedTuple):
    """An event between its arrival and the client."""

    event: Event
    touched: Sequence[Touched]

    @property
    def goes_on(self) -> bool:
        """Whether it has content other than a finish reason."""
        content = self.event.content
        if content.end or content.error or content.text.strip() or content.thought.strip():
            return True
        return any(part.fresh or part.piece for part in self.touched)

    def brings_more(self, choice: int) -> bool:
        """Whether it brings more of a choice's calls; repeated ids and names do not count."""
        return any(part.fragment.choice == choice and (part.fresh or part.piece) for part in self.touched)


class ProtocolRepair(Protocol):
    """The interface of a protocol package: how its events send what a client lacks."""

    client: Client

    @property
    def choice(self) -> Callable[[int], int]:
        """The choice that a fragment of a choice with this number belongs to."""
        ...

    @property
    def skipped(self) -> Callable[[int], None]:
        """Called for events that were forwarded unseen, with the number of the last one."""
        ...

    @property
    def held(self) -> Callable[[], list[Frame]]:
        """The withheld entries of a policy, unchanged."""
        ...

    @property
    def judges_calls(self) -> bool:
        """Whether the request's tools make the calls of this stream relevant."""
        ...

    @property
    def last(self) -> int:
        """Number of the last event that was sent."""
        ...

    @property
    def needs_next_event(self) -> bool:
        """Whether the next event has to be shown to the stage."""
        ...

    def is_forwarded(self, part: Touched, frame: Frame) -> bool:
        """Whether an event with one fragment is forwarded unchanged, because it is what the client lacks."""
        ...

    def arrives(self, waiting: Waiting) -> None:
        """An event came: update what is known of the response."""
        ...

    def waits(self, first: Waiting, following: Waiting | None) -> bool:
        """Whether the first event in the queue waits, because `following`, the next event of substance, may deny it."""
        ...

    def frames(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """The frames to send for an event."""
        ...

    def is_cut(self, frame: Frame) -> bool:
        """Whether the last frame of the body is incomplete."""
        ...

    def end(self, *, clean: bool, cut: bool) -> tuple[list[Frame], list[Frame]]:
        """The withheld frames to forward, and new frames that the end lacks; `cut`: the last event is incomplete."""
        ...
