"""Rewrites the events of a Chat Completions stream: choices, deltas, messages and finish reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolstream_core.calls import nonblank
from toolstream_core.defects.arguments import EMPTY_ARGUMENTS
from toolstream_core.defects.finish import CUT_OFF_CALL, EARLY_FINISH, IN_BAND_ERROR, UNSTREAMED_CALLS
from toolstream_core.defects.framing import DATA_AFTER_END, MISSING_CHOICES, MISSING_DELTA
from toolstream_core.model import ABSENT, Event, EventContent, Fragment, Json, Kind, Phase
from toolstream_core.protocols.chat.edit import (
    CHUNK,
    ReceivedEntry,
    choice_number,
    continuation,
    ending_of,
    entries_of,
    entry_chunk,
    has_nothing,
    has_role,
    read_entry,
    with_entries,
    without_ending,
    written,
)
from toolstream_core.protocols.chat.repair.client import Client, Turn
from toolstream_core.protocols.chat.repair.closing import Closing
from toolstream_core.protocols.chat.repair.finishing import WORDS, Finishes
from toolstream_core.protocols.chat.repair.stream import CallFragment, Stream, Waiting
from toolstream_core.protocols.chat.repair.writer import EntryWriter
from toolstream_core.repair.shapes import ONE_CALL_PER_EVENT, Position, at_once
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame

_STREAMED: Final = frozenset(
    {"role", "content", "reasoning", "reasoning_content", "reasoning_details", "refusal", "annotations", "audio"}
)
"""Keys of a message that earlier deltas had."""


def unstreamed(
    raw: dict[str, Json],
    fragments: list[CallFragment],
    number: int,
    client: Client,
    stream: Stream,
    writer: EntryWriter,
) -> list[Frame] | None:
    """The new events with the calls of a message; `None` if the message is forwarded unchanged."""
    entries = [read_entry(entry) for entry in _message_entries(raw)]
    out: list[Frame] = []
    moved = False
    for at, part in enumerate(fragments):
        one, choice = part.state, part.fragment.choice
        one.received = part.upto
        if (one.is_open or one.held) and not one.in_message:
            one.defect = UNSTREAMED_CALLS  # if the deltas lack a part that only the message has
            continue
        if one.intended.is_blank or client.is_duplicate(one):
            continue
        more = one.lack(part.delta, upto=part.upto)
        if more.contradicts:
            continue
        one.in_message = True
        if not client.reporter.report(UNSTREAMED_CALLS, number, "the call comes in a message only", one.intended.call):
            one.text.diverged = True
            continue
        moved = True
        if names := client.withholding(one, final=True):
            client.reporter.shape(names)
            continue
        if one.is_open and not more.text:
            continue
        entry = entries[at].raw if at < len(entries) else {}
        rest = {key: value for key, value in entry.items() if key != "index"} if isinstance(entry, dict) else {}
        fields = writer.added(one, more, number)
        out.append(
            stream.chunk(client.choice(choice), {"tool_calls": [written(ReceivedEntry({}, rest), fields)]}, number)
        )
    return out if moved else None


def without_calls(choice: dict[str, Json], *, has_text: bool) -> dict[str, Json]:
    """A choice whose calls were sent as deltas: the rest of its message becomes the delta, if no text precedes it."""
    rest, delta = rest_of(choice), choice.get("delta")
    kept = {key: value for key, value in choice.items() if key != "message"}
    if has_text:
        rest = {key: value for key, value in rest.items() if key not in _STREAMED}
    return {**kept, "delta": {**rest, **(delta if isinstance(delta, dict) else {})}}


def rest_of(choice: dict[str, Json]) -> dict[str, Json]:
    """The message of a choice without its calls."""
    return {key: value for key, value in choice["message"].items() if key not in {"tool_calls", "function_call"}}


def _message_entries(choice: Json) -> list[Json]:
    message = json_access.get(choice, "message")
    entries = json_access.items(json_access.get(message, "tool_calls"))
    if entries:
        return entries
    legacy = json_access.get(message, "function_call")
    return [{"function": legacy}] if isinstance(legacy, dict) else []


def spread(frame: Frame, client: Client) -> list[Frame]:
    """Split an event into one for each fragment of the policy; the last one gets the finish reason."""
    payload: Json = frame.json
    writer, policy = client.context.writer, client.policy
    entries: list[tuple[int, Json]] = []
    received = 0
    for place, choice in enumerate(json_access.items(json_access.get(payload, "choices"))):
        number = choice_number(choice, place)
        for entry in json_access.items(json_access.get(choice, "delta", "tool_calls")):
            received += 1
            entries += [(number, part) for part in _fragments(entry, client, client.turn(number))]
    if len(entries) < 2 or (len(entries) == received and not policy.one_call_per_event):  # noqa: PLR2004
        return [frame]
    if received > 1 and policy.one_call_per_event:
        client.reporter.shape(ONE_CALL_PER_EVENT.names)
    first = writer.rewrite(frame, without_ending(with_entries(payload, entries[:1])))
    middle = [writer.make(entry_chunk(payload, *one), frame.number) for one in entries[1:-1]]
    return [first, *middle, writer.make(ending_of(payload, entries[-1]), frame.number)]


def _fragments(entry: Json, client: Client, turn: Turn) -> list[Json]:
    text, index = json_access.get(entry, "function", "arguments"), json_access.get(entry, "index")
    one = next((one for one in turn.calls if one.place == index), None)
    if not isinstance(text, str) or one is None:
        return [entry]
    at = Position(nonblank(entry.get("id", ABSENT)) != "", text.endswith("}") and one.has_all)
    first, *more = client.policy.split(text, at)
    if not more:
        return [entry]
    client.reporter.shape(client.policy.splitting(text, at))
    head = {**entry, "function": {**entry["function"], "arguments": first}}
    return [head, *(continuation(one.place, delta) for delta in more)]


class ChatEvents:
    """One Chat Completions stream."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._context = client.context
        self._report, self._on = client.reporter.report, client.reporter.on
        self.stream = Stream(client)
        self._finishes = Finishes(client, self.stream)
        self._writer = EntryWriter(client, self.stream, self._finishes)
        self._closing = Closing(client, self.stream, self._finishes, self._writer)
        policy = client.policy
        self._withholds, self._spreads = policy.withholds, policy.one_call_per_event or policy.split is not at_once
        self.held = self._closing.held

    @property
    def needs_next_event(self) -> bool:
        """Whether the stage must get the next event."""
        return self.stream.needs_next_event or (self._finishes.any_sent and not self.stream.done)

    def is_forwarded(self, part: CallFragment, frame: Frame) -> bool:
        """Whether an event with one fragment is forwarded unchanged, because it is exactly what the client lacks."""
        fragment, one, delta = part.fragment, part.state, part.delta
        if self.stream.done or not one.is_open or not delta or not fragment.well_formed:
            return False
        if self._withholds or self._spreads:
            return False
        if fragment.id is not ABSENT or fragment.name is not ABSENT or not (fragment.type is ABSENT or fragment.type):
            return False
        if fragment.index != one.place or fragment.phase is not Phase.MORE or part.state.header["index"] != one.place:
            return False
        finish = self._finishes.by_choice.get(fragment.choice)
        if (finish is not None and finish.sent) or not one.is_in_step(delta):
            return False
        if self.client.choice(fragment.choice) != fragment.choice or self.stream.differs(frame):
            return False
        self.stream.note_forwarded(frame)
        one.note_sent(delta, as_received=True)
        self.stream.last = frame.number
        return True

    def take(self, waiting: Waiting) -> None:
        """Update the state of the response with a received event."""
        self.stream.take(waiting.event)
        if len(waiting.fragments) != len(waiting.event.content.fragments):
            self._note_unchecked(waiting.event.content.fragments)
        if self._finishes.by_choice:
            self._finishes.note(waiting)
        for finish in waiting.event.content.finishes:
            turn = self.client.turn(finish.choice)
            turn.finished = turn.finished or bool(finish.reason)
            turn.complete = WORDS.is_complete(finish.reason) if finish.reason else turn.complete
            if finish.reason and not (WORDS.is_complete(finish.reason) and turn.lacks):
                turn.decide_all()

    def _note_unchecked(self, fragments: Iterable[Fragment]) -> None:
        """Note calls that are forwarded unchanged: of custom tools, or if calls are not checked."""
        for one in fragments:
            if one.kind is Kind.CUSTOM or not self.stream.checks_calls:
                self._finishes.called.add(one.choice)
                self.client.turn(one.choice).note_place(one.index)

    def waits(self, first: Waiting, following: Waiting | None) -> bool:
        """Whether the first event in the queue waits; `following`: the next event with content.

        A finish waits if calls lack a part, the usage chunk if a choice lacks its finish.
        """
        content = first.event.content
        if following is not None or self.stream.done or (first.fragments and not content.finishes):
            return False
        reasons = [one for one in content.finishes if one.reason]
        if not reasons:
            return not first.fragments and self._closing.is_early_total(first.event.frame)
        if self._on(EARLY_FINISH):
            return True
        if not (self._on(CUT_OFF_CALL) or self._on(EMPTY_ARGUMENTS)):
            return False
        return any(WORDS.is_complete(one.reason) and self.client.turn(one.choice).lacks for one in reasons)

    def frames(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """The frames to send for an event."""
        return self._spread(self._sent(waiting, following))

    def _spread(self, frames: list[Frame]) -> list[Frame]:
        """Split frames as the policy requires."""
        if not self._spreads:
            return frames
        return [part for frame in frames for part in spread(frame, self.client)]

    def _sent(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """The frames to send for an event, before they are split."""
        event, frame = waiting.event, waiting.event.frame
        content = event.content
        if self.stream.done and frame.data is not None:
            return [] if self._report(DATA_AFTER_END, frame.number, "an event follows [DONE]") else [frame]
        if content.error:
            self.stream.failed = True
            self._report(IN_BAND_ERROR, frame.number, f"the provider reports an error: {content.error}")
        if content.end and not content.finishes and not waiting.fragments:
            return self._closing.at_done(frame)
        if frame.data is None:
            return [frame]
        payload = frame.json
        before = [] if waiting.fragments else self._closing.before(waiting, following)
        if not isinstance(payload, dict) or payload.get("choices") is None:
            self.stream.last = frame.number
            result = self._with_choices(frame, content)
            if result is not payload and has_nothing(result, self.stream.head):
                return before  # some clients read the first choice of each chunk
            return [*before, *self.stream.with_stream_id(frame, result)]
        result = self._rewritten(payload, waiting, following, before)
        released = self._closing.released(frame.number) if self._withholds else []
        if result is payload:
            return [*before, frame, *released]
        sent = {} if self.stream.head is payload else self.stream.head
        if (waiting.fragments or content.finishes) and has_nothing(result, sent) and not has_role(result):
            return [*before, *released]
        return [*before, self._context.writer.rewrite(frame, result), *released]

    def _with_choices(self, frame: Frame, content: EventContent) -> Json:
        """The payload of an event without choices; with an empty list of them if it is a chunk."""
        payload = frame.json
        if not isinstance(payload, dict) or content.error:
            return payload
        if not ("choices" in payload or (payload.get("object") == CHUNK and "usage" in payload)):
            return payload  # another event, such as a ping, or one that cannot be read
        repair = self._report(MISSING_CHOICES, frame.number, "the chunk has no list of choices")
        return {**payload, "choices": []} if repair else payload

    def _rewritten(
        self, payload: dict[str, Json], waiting: Waiting, following: Waiting | None, before: list[Frame]
    ) -> dict[str, Json]:
        """The replacement of a chunk; the same object if it is forwarded unchanged. `before` gets new events."""
        frame, listed = waiting.event.frame, payload["choices"]
        raws = listed if isinstance(listed, list) else json_access.items(listed)
        choices = [
            self._choice(raw, choice_number(raw, place), waiting, following, before) for place, raw in enumerate(raws)
        ]
        self.stream.last = frame.number
        self.stream.remember(payload)
        changed = any(made is not raw for made, raw in zip(choices, raws, strict=True))
        result = {**payload, "choices": choices} if changed else payload
        if self.stream.differs(frame, seen=bool(waiting.fragments or waiting.event.content.finishes)):
            result = {**result, "id": self.stream.head["id"]}
        return result

    def is_cut(self, frame: Frame) -> bool:
        """Whether the last frame of the body is incomplete."""
        return (frame.data or b"").strip() != b"[DONE]" and not isinstance(frame.json, dict)

    def end(self, *, clean: bool, cut: bool) -> tuple[list[Frame], list[Frame]]:
        """The withheld frames to forward, and new frames that the end lacks; `cut`: the last event is incomplete."""
        kept, added = self._closing.at_end(clean=clean, cut=cut)
        return self._spread(kept), self._spread(added)

    def _choice(self, raw: Json, number: int, waiting: Waiting, following: Waiting | None, before: list[Frame]) -> Json:
        """The replacement of a choice; the same object if it is forwarded unchanged."""
        if not isinstance(raw, dict):
            return raw
        event = waiting.event
        own_calls = (
            [part for part in waiting.fragments if part.fragment.choice == number] if self.stream.checks_calls else []
        )
        ends = [one for one in event.content.finishes if one.choice == number]
        final = bool(ends) and ends[0].reason != "" and not (following is not None and following.has_more_of(number))
        out = self._with_delta(self._streamed(raw, own_calls, event, before), own_calls, event, ends=bool(ends))
        fails = following is not None and following.event.content.error is not None
        fills = final and WORDS.is_complete(ends[0].reason) and not fails
        if isinstance(out.get("delta"), dict):
            out = self._delta(out, own_calls, event, final=final)
            if final and own_calls and self._withholds:
                out = _with_entries(out, self._closing.held_entries(number, event.frame.number, own_calls, fills=fills))
        for finish in ends:
            before += self._closing.rest_of(number, event.frame.number, fills=fills, parts=own_calls) if final else []
            value = self._finishes.value(finish.reason, number, event, following)
            if value != finish.reason:
                out = {**out, "finish_reason": value}
        if (place := self.client.choice(number)) != number:
            out = {**out, "index": place}
        return out

    def _streamed(
        self, choice: dict[str, Json], own_calls: list[CallFragment], event: Event, before: list[Frame]
    ) -> dict[str, Json]:
        """The choice without the calls of its message, which are sent as deltas before it."""
        complete = [part for part in own_calls if part.fragment.phase is Phase.WHOLE]
        if not complete:
            return choice
        number = event.frame.number
        streamed = unstreamed(choice, complete, number, self.client, self.stream, self._writer)
        if streamed is None:
            names = tuple(name for part in complete for name in self.client.withholding(part.state, final=True))
            self.client.reporter.shape(names)
            return {**choice, "message": rest_of(choice)} if names else choice
        before += streamed
        return without_calls(choice, has_text=self.stream.has_text)

    def _with_delta(
        self, choice: dict[str, Json], own_calls: list[CallFragment], event: Event, *, ends: bool
    ) -> dict[str, Json]:
        """The choice with a `delta` object, if it lacks one."""
        bare = not isinstance(choice.get("delta"), dict) and ("message" not in choice or self.stream.head)
        if not (bare and (ends or not own_calls)):
            return choice
        if not self._report(MISSING_DELTA, event.frame.number, "a choice has no delta object"):
            return choice
        return {**choice, "delta": {}, "finish_reason": choice.get("finish_reason")}

    def _delta(
        self, choice: dict[str, Json], own_calls: list[CallFragment], event: Event, *, final: bool
    ) -> dict[str, Json]:
        """The choice with the missing parts of its calls; `final`: no more fragments arrive."""
        delta = choice["delta"]
        parts = [part for part in own_calls if part.fragment.phase is Phase.MORE]
        if parts and len(parts) != len(entries_of(delta)):  # among entries of custom tools
            for part in parts:
                part.state.text.diverged = True
            parts = []
        changed = self._writer.delta(delta, parts, event, final=final) if parts else delta
        self.stream.has_text = self.stream.has_text or bool(delta.get("content"))
        return choice if changed is delta else {**choice, "delta": changed}


def _with_entries(choice: dict[str, Json], entries: list[Json]) -> dict[str, Json]:
    """The choice with these entries after its own."""
    if not entries:
        return choice
    delta = choice["delta"]
    return {**choice, "delta": {**delta, "tool_calls": [*json_access.items(delta.get("tool_calls")), *entries]}}
