"""The state of a stream apart from its calls: the envelope of chunks, and event numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from toolstream_core.defects.arguments import TRAILING_GARBAGE
from toolstream_core.defects.framing import CHANGING_STREAM_ID
from toolstream_core.defects.identity import DETACHED_SIGNATURE
from toolstream_core.model import Event, Fragment, Json
from toolstream_core.protocols.chat.edit import choice_number, chunk
from toolstream_core.protocols.chat.repair.client import Client, ClientCall
from toolstream_core.stages.repair.repairer import hides_arguments, is_unread
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame

_SIGNATURE: Final = b'"thought_signature"'
ENOUGH: Final = 2
"""Chunks after which an id that has not changed counts as the stream's."""


class CallFragment(NamedTuple):
    """A fragment, and its call at the client."""

    fragment: Fragment
    state: ClientCall
    upto: int
    """The number of characters of the call's arguments up to it."""
    fresh: bool
    """Whether it has the first id or name of the call."""

    @property
    def delta(self) -> str:
        """The arguments in it."""
        return self.fragment.arguments if isinstance(self.fragment.arguments, str) else ""


class Waiting(NamedTuple):
    """An event that was not sent yet."""

    event: Event
    fragments: Sequence[CallFragment]

    @property
    def has_content(self) -> bool:
        """Whether it has content other than a finish reason."""
        content = self.event.content
        if content.end or content.error or content.text.strip() or content.thought.strip():
            return True
        return any(part.fresh or part.delta for part in self.fragments)

    def has_more_of(self, choice: int) -> bool:
        """Whether it continues calls of a choice; repeated ids and names do not count."""
        return any(part.fragment.choice == choice and (part.fresh or part.delta) for part in self.fragments)


class Stream:
    """One stream."""

    def __init__(self, client: Client) -> None:
        self._context, self._reporter, self._report = client.context, client.reporter, client.reporter.report
        self.head: dict[str, Json] = {}
        """The envelope of the first chunk that has a choice, for added events."""
        self.last, self.last_received = 0, -1
        """Numbers of the last event that was sent, and of the last that was received."""
        self.done = False
        """Whether `[DONE]` was received."""
        self.failed = False
        """Whether an error was received."""
        self.unread_at = -1
        """The number of the last event with unreadable arguments; -1 for none."""
        self.has_text = False
        """Whether a delta had text."""
        self._called: dict[int, bool] = {}
        """By choice with calls, whether one of them has a thought signature."""
        self._chunks = 0
        self._unifies_ids = self._unseen = False
        """Whether all chunks get the first id; whether text events were skipped."""

    @property
    def needs_next_event(self) -> bool:
        """Whether the id of the next chunk must be read."""
        return self._chunks < ENOUGH or self._unifies_ids

    @cached_property
    def checks_calls(self) -> bool:
        """Whether calls are checked: a client that sent `functions` expects `function_call`."""
        request = self._context.exchange.request
        functions, tools = (json_access.items(json_access.get(request, key)) for key in ("functions", "tools"))
        return not functions or bool(tools)

    def take(self, event: Event) -> None:
        """Take an event."""
        self.note_forwarded(event.frame)
        self._note_unread(event)
        self._judge_signature(event)

    def _judge_signature(self, event: Event) -> None:
        """Report a thought signature after a call instead of in it, which clients do not read."""
        has_signature = _SIGNATURE in event.frame.raw
        for fragment in event.content.fragments:
            self._called[fragment.choice] = has_signature or self._called.get(fragment.choice, False)
        if not has_signature or event.content.fragments or event.content.text:
            return
        for place, choice in enumerate(json_access.items(json_access.get(event.frame.json, "choices"))):
            is_signed = self._called.get(choice_number(choice, place), True)
            if not is_signed and isinstance(json_access.get(choice, "delta", "extra_content"), dict):
                message = "a thought signature comes after the call, in a delta without it"
                self._report(DETACHED_SIGNATURE, event.frame.number, message)

    def note_forwarded(self, frame: Frame) -> None:
        """Note an event that is forwarded unchanged."""
        self._unseen = self._unseen or frame.number > self.last_received + 1
        self.last_received = frame.number

    def skipped(self, number: int) -> None:
        """Note that events up to `number` were skipped."""
        self.last = self.last_received = number

    def remember(self, payload: Json) -> None:
        if not self.head.get("id") and isinstance(payload, dict) and payload.get("choices"):
            self.head = payload

    def differs(self, frame: Frame, *, seen: bool = True) -> bool:
        """Whether the chunk's id is to be replaced by the stream's.

        `seen`: the stage gets the event with any chunk boundaries; text events may be skipped.
        """
        payload = frame.json
        if not isinstance(payload, dict) or not (seen or self.needs_next_event or not payload.get("choices")):
            return False
        self._chunks += bool(payload.get("choices"))
        identity, first = payload.get("id"), self.head.get("id")
        if not identity or not isinstance(identity, str) or not isinstance(first, str) or identity == first:
            return False
        repair = self._report(CHANGING_STREAM_ID, frame.number, "the chunk's id is another than the first one's")
        self._unifies_ids = repair and (self._unifies_ids or not self._unseen)
        return self._unifies_ids

    def with_stream_id(self, frame: Frame, payload: Json) -> list[Frame]:
        """An event without choices, of which `payload` is to be sent, with the stream's id."""
        if self.differs(frame):
            payload = {**payload, "id": self.head["id"]}
        return [frame] if payload is frame.json else [self._context.writer.rewrite(frame, payload)]

    def chunk(self, choice: int, delta: Json, number: int, finish: str | None = None) -> Frame:
        """A new event of this stream."""
        return self._context.writer.make(chunk(self.head or None, choice, delta, finish), number)

    def _note_unread(self, event: Event) -> None:
        """Record an unreadable event."""
        frame = event.frame
        if frame.data is None:
            return
        if event.content.fragments:
            unread = hides_arguments(event)
        elif json_access.items(json_access.get(frame.json, "choices")):
            unread = b'"arguments"' in frame.raw
        else:
            unread = is_unread(event)
            if unread:
                self._reporter.note_gap(TRAILING_GARBAGE)  # it may be the rest of a call that began here
        if unread:
            self.unread_at = frame.number
