"""Sends the missing parts of a stream at the end of a choice, of the response or of the body."""

from __future__ import annotations

from collections.abc import Sequence

from toolstream_core.defects.finish import CUT_OFF_CALL, EARLY_FINISH, MISSING_DONE, MISSING_FINISH
from toolstream_core.defects.identity import LATE_NAME
from toolstream_core.model import Json, Phase
from toolstream_core.protocols.chat.edit import read_entry, written
from toolstream_core.protocols.chat.repair.client import Client, ClientCall, Turn
from toolstream_core.protocols.chat.repair.finishing import WORDS, Finish, Finishes
from toolstream_core.protocols.chat.repair.stream import CallFragment, Stream, Waiting
from toolstream_core.protocols.chat.repair.writer import EntryWriter
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.write import SseWriter


class Closing:
    """Sends the missing parts at the ends of one stream."""

    def __init__(self, client: Client, stream: Stream, finishes: Finishes, writer: EntryWriter) -> None:
        self._client, self._stream, self._finishes, self._writer = client, stream, finishes, writer
        self._reporter = client.reporter
        self._report, self._on = client.reporter.report, client.reporter.on
        self._withheld: list[Frame] = []
        """`[DONE]`, while a call is incomplete: the client must see a disconnect then."""
        self._lacks_part = False
        """Whether a call lacked a part at `[DONE]`."""

    def rest_of(self, choice: int, number: int, *, fills: bool, parts: Sequence[CallFragment] = ()) -> list[Frame]:
        """The missing parts of a choice's calls at its end, except calls with a fragment in the event (`parts`).

        `fills`: the finish reason shows that calls without arguments are complete: they get `{}`.
        """
        here = {id(part.state) for part in parts if part.fragment.phase is Phase.MORE}
        out: list[Frame] = []
        turn = self._client.turn(choice)
        turn.decide_all()
        for one in turn.unfinished():
            if id(one) in here:
                continue
            if one.held or self._client.withholding(one, final=True):
                released = self._released(one, choice, number, final=True, fills=fills)
                out += [self._entry(entry, choice, number) for entry in released]
                continue
            if one.text.diverged or one.intended.is_blank or (not one.is_open and self._client.is_duplicate(one)):
                continue
            more = self._writer.lack(one, "", number, upto=one.received, final=True, fills=fills)
            if more.contradicts:
                continue
            defect = more.defect or one.defect or LATE_NAME
            if (more.text or not one.is_open) and self._report(defect, number, defect.meaning, one.intended.call):
                out.append(self._entry(written(read_entry({}), self._writer.added(one, more, number)), choice, number))
        return out

    def held_entries(self, choice: int, number: int, parts: list[CallFragment], *, fills: bool) -> list[Json]:
        """The withheld entries at the end of a choice, to be sent after those of the current event."""
        here = {id(part.state) for part in parts}
        turn = self._client.turn(choice)
        turn.decide_all()
        held = [one for one in turn.unfinished() if id(one) not in here]
        return [entry for one in held for entry in self._released(one, choice, number, final=True, fills=fills)]

    def before(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """The events to send before the usage chunk, which is the last one."""
        if waiting.fragments or waiting.event.content.finishes or not self.is_early_total(waiting.event.frame):
            return []
        if following is None:
            return self._missing_finishes(self._stream.last)
        return self._at_end_of_turns(following.event.frame.number) if following.event.content.end else []

    def at_done(self, frame: Frame) -> list[Frame]:
        """The events to send for `[DONE]`."""
        out = self._at_end_of_turns(frame.number)
        self._stream.done = True
        self._lacks_part = self._any_lacks_part()
        if self._on(CUT_OFF_CALL) and (self._lacks_part or self._client.context.incomplete_calls()):
            self._reporter.attribute_to(CUT_OFF_CALL)
            self._withheld.append(frame)
            return out
        return [*out, frame]

    def at_end(self, *, clean: bool, cut: bool) -> tuple[list[Frame], list[Frame]]:
        """The withheld events, and those that the end of the body lacks; `cut`: the last event is incomplete."""
        self._writer.report_lost()
        number = self._stream.last
        if self._stream.done:
            return [], [] if self._lacks_part or self._client.context.incomplete_calls() else self._withheld
        kept = self._withheld_events(number)
        for choice in {*self._client.turns, *self._finishes.by_choice}:
            self._finishes.report_without_calls(choice)
        if not clean:
            return kept, []
        added = self._missing_finishes(number, cut=cut)
        called = [(self._finishes.of(choice), turn) for choice, turn in self._client.turns.items() if turn.calls]
        closed = called and all(finish.sent and self._finishes.is_final(finish, turn) for finish, turn in called)
        writer = self._client.context.writer  # only event streams have [DONE]: not those of Bedrock, nor JSON lines
        lacks_done = closed and not self._stream.failed and isinstance(writer, SseWriter)
        if lacks_done and self._report(MISSING_DONE, number, "the stream ended without [DONE]"):
            added.append(writer.make(b"[DONE]", number + 1))
        return kept, added

    def released(self, number: int) -> list[Frame]:
        """The events that a policy releases after an event."""
        held = [(choice, one) for choice, turn in self._client.turns.items() for one in turn.unfinished() if one.held]
        return [
            self._entry(entry, choice, number)
            for choice, one in held
            for entry in self._released(one, choice, number, final=False)
        ]

    def held(self) -> list[Frame]:
        """The events that a policy withholds, unchanged."""
        out: list[Frame] = []
        for one in self._client.held:
            out += [self._entry(held.entry, one.intended.call.choice, self._stream.last) for held in one.held]
            one.held = []
        return out

    def is_early_total(self, frame: Frame) -> bool:
        """Whether the event is the usage chunk, which is the last one, although a choice lacks its finish."""
        if json_access.get(frame.json, "choices") or not isinstance(json_access.get(frame.json, "usage"), dict):
            return False
        turns = self._client.turns.items()
        lacking = any(turn.calls and self._finishes.of(number).sent is None for number, turn in turns)
        return lacking and self._on(MISSING_FINISH)

    def _released(self, state: ClientCall, choice: int, number: int, *, final: bool, fills: bool = False) -> list[Json]:
        """The withheld entries of a call, if the policy allows it; parameters as for `EntryWriter.released`."""
        if not state.held or self._client.withholding(state, final=final):
            return []
        return self._writer.released(state, number, final=final, fills=fills)

    def _entry(self, entry: Json, choice: int, number: int) -> Frame:
        """An event with one entry."""
        return self._stream.chunk(self._client.choice(choice), {"tool_calls": [entry]}, number)

    def _at_end_of_turns(self, number: int) -> list[Frame]:
        """The events that choices lack at the end of the response."""
        out: list[Frame] = []
        for choice, turn in list(self._client.turns.items()):
            finish = self._finishes.of(choice)
            turn.complete = turn.complete or not (turn.finished or self._stream.failed)
            self._finishes.report_without_calls(choice)
            out += self.rest_of(choice, number, fills=WORDS.is_complete(finish.delayed or finish.sent or ""))
            if (
                self._stream.failed
                or finish.sent is not None
                or not any(not one.intended.is_blank for one in turn.calls)
            ):
                continue
            complete = not self._reporter.has_gap and all(self._is_complete(one) for one in turn.calls)
            if finish.delayed is not None or (
                complete and self._report(MISSING_FINISH, number, "no finish reason came before [DONE]")
            ):
                out += self._finished(choice, finish, turn, number, fills=True)
            else:
                self._report_possibly_incomplete(turn, number)
        for choice in list(self._finishes.by_choice):
            self._finishes.report_without_calls(choice)
        return out

    def _report_possibly_incomplete(self, turn: Turn, number: int) -> None:
        """Report a missing finish reason, without a repair, if calls without arguments may be incomplete."""
        calls = [one for one in turn.calls if not self._is_complete(one)]
        if (
            calls
            and not self._reporter.has_gap
            and all(one.intended.has_no_arguments and one.intended.may_be_empty for one in calls)
        ):
            message = "no finish reason came before [DONE], and a call has no arguments: it may be incomplete"
            self._client.context.found(MISSING_FINISH.found(number, message)._replace(repair=None))

    def _missing_finishes(self, number: int, *, cut: bool = False) -> list[Frame]:
        """The finishes that the body's end lacks."""
        out: list[Frame] = []
        called = [
            (number, turn, self._finishes.of(number)) for number, turn in self._client.turns.items() if turn.calls
        ]
        lacking = [one for one in called if one[2].sent is None]
        complete = not cut and any(finish.delayed is None for _, _, finish in lacking) and self._lacks_finish()
        for choice, turn, finish in lacking:
            if finish.delayed is not None or complete:
                late = finish.delayed is not None and any(one.intended.opened_after(finish.event) for one in turn.calls)
                fills = not late and WORDS.is_complete(finish.delayed or WORDS.called)
                out += self._finished(choice, finish, turn, number, fills=fills, cut=late)
        return out

    def _finished(
        self, choice: int, finish: Finish, turn: Turn, number: int, *, fills: bool, cut: bool = False
    ) -> list[Frame]:
        """The rest of a choice's calls, and the finish that it lacks; `cut`: the last call was truncated."""
        if finish.delayed is not None:
            self._reporter.attribute_to(EARLY_FINISH)
        out = self.rest_of(choice, number, fills=fills)
        reason = self._finishes.downgraded(finish, turn, finish.delayed or WORDS.called)
        finish.sent = WORDS.cut if cut and self._reporter.repairs_at_end(CUT_OFF_CALL) else reason
        finish.delayed = None
        return [*out, self._stream.chunk(choice, {}, number, finish.sent)]

    def _lacks_finish(self) -> bool:
        """Whether a response without any end has complete calls."""
        turns = self._client.turns.values()
        unknown = self._stream.failed or self._reporter.has_gap or self._finishes.called
        if unknown or not all(turn.calls for turn in turns):
            return False
        calls = [one for turn in turns for one in turn.calls if one.intended.is_id_alone or not one.intended.is_blank]
        complete = bool(calls) and all(one.intended.is_complete_without_end and not one.text.diverged for one in calls)
        return complete and self._report(MISSING_FINISH, self._stream.last, "the stream ended without a finish reason")

    def _is_complete(self, state: ClientCall) -> bool:
        """Whether a call is complete at `[DONE]`: without arguments only if its tool is known to take none."""
        if state.intended.has_no_arguments:
            return state.intended.is_blank or self._client.context.has_no_parameters(state.intended.call.name)
        return bool(state.intended.call.name) and state.intended.is_complete_object

    def _any_lacks_part(self) -> bool:
        """Whether a call without a finish reason lacks a part."""
        if self._stream.failed:
            return False
        for choice, turn in self._client.turns.items():
            if self._finishes.of(choice).sent is None:
                for one in turn.calls:
                    empty = one.intended.call.name and one.intended.has_no_arguments and not one.intended.may_be_empty
                    if one.intended.incomplete or empty:
                        return True
        return False

    def _withheld_events(self, number: int) -> list[Frame]:
        return [frame for choice in list(self._client.turns) for frame in self.rest_of(choice, number, fills=False)]
