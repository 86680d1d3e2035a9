"""What the end of a Chat Completions stream lacks: finishes, `[DONE]`, or a break where a call is half."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.finish import CUT_OFF_CALL, EARLY_FINISH, MISSING_CALLS, MISSING_DONE, MISSING_FINISH
from toolstream_core.defects.framing import SPLIT_CHOICES
from toolstream_core.protocols.chat.repair.finish_reason import CALLS, OURS
from toolstream_core.stages.repair.unread import hides_arguments, is_unread
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from toolstream_core.model import Event
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.protocols.chat.repair.finish_reason import FinishReasons
    from toolstream_core.protocols.chat.repair.missing_arguments import MissingArguments
    from toolstream_core.protocols.chat.repair.stream import ChatStream

# What nobody has said to be over is made an end of only where every call is a whole JSON object: a header, or a `{}`
# that may stand for what follows, is not. Nothing is made up where the last thing that came is cut, or could not be
# read, but for the `[DONE]` behind a finish: the cut rest goes then.


class EndOfStream:
    """The end of one stream."""

    def __init__(self, stream: ChatStream, reasons: FinishReasons, missing: MissingArguments) -> None:
        """For one stream."""
        self._stream = stream
        self._reporter = stream.reporter
        self._reasons = reasons
        self._missing = missing
        self.torn = False
        """Whether an event could not be read, so that a call may lack a part that nobody has seen."""
        self.ends_open = False
        """Whether the last event was too large to be read, so that nobody knows whether it has ended."""

    def look(self, event: Event) -> None:
        """Note an event that nobody can read."""
        frame = event.frame
        if event.content.fragments:
            unread = hides_arguments(event)
        elif json_access.items(json_access.get(frame.json, "choices")):
            unread = b'"arguments"' in frame.raw
        else:
            unread = is_unread(event)
            self.torn = self.torn or unread
        if unread:
            self._stream.unread_at = frame.number
        self.ends_open = frame.oversize

    def at_done(self, number: int) -> list[Frame]:
        """What has to come before `[DONE]`, seen at event `number`."""
        out: list[Frame] = []
        for choice in list(self._stream.choices.values()):
            self._without_calls(choice)
            out.extend(self._missing.kept_back(choice, number))
            if self._stream.failed or not choice.has_calls:
                continue
            if choice.finish is not None:
                out.extend(self._missing.empty_objects(choice, number, None) if choice.finish == CALLS else ())
            elif choice.held is not None or self._is_finished(choice, number):
                out.extend(self._missing.empty_objects(choice, number, None))
                out.append(self._finish(choice, choice.held or CALLS, number))
        return out

    def cuts(self) -> bool:
        """Whether `[DONE]` is kept back: a call lacks a part, and nobody has said how the answer finished."""
        open_choices = [choice for choice in self._stream.choices.values() if choice.finish is None]
        lacks = any(self._lacks(client_call) for choice in open_choices for client_call in choice.unfinished)
        return lacks and not self._stream.failed and self._reporter.repairs_row(CUT_OFF_CALL)

    def kept_back(self) -> list[Frame]:
        """Arguments that waited, and that nothing follows."""
        number = self._stream.last
        choices = () if self.ends_open else self._stream.choices.values()
        return [frame for choice in choices for frame in self._missing.kept_back(choice, number)]

    def at_end(self, *, clean: bool, cut: bool) -> list[Frame]:
        """What the body's end lacks; `cut`: the last event is half."""
        stream, number = self._stream, self._stream.last
        self._missing.report_lost()
        if stream.done:
            return []
        for choice in list(stream.choices.values()):
            self._without_calls(choice)
        if not clean or self.ends_open:
            return []
        out = self.finishes(cut=cut)
        called = [choice for choice in stream.choices.values() if choice.has_calls]
        whole = called and all(choice.finish and self._closed(choice) for choice in called) and not stream.failed
        if whole and self._reporter.report(MISSING_DONE, number, "the stream ended without [DONE]"):
            out.append(stream.context.writer.make(b"[DONE]", number + 1))
        return out

    def finishes(self, *, cut: bool = False) -> list[Frame]:
        """The finishes that the body's end lacks: behind half an event, those that were said and held."""
        out: list[Frame] = []
        number = self._stream.last
        lacking = [choice for choice in self._stream.choices.values() if choice.finish is None]
        whole = not cut and any(choice.held is None for choice in lacking) and self._lacks_finish()
        for choice in lacking:
            if choice.held is not None:
                last = choice.held_event if self._opened_behind(choice) else number
                out.extend(self._missing.empty_objects(choice, number, None, last))
            if choice.held is not None or whole:
                out.append(self._finish(choice, choice.held or CALLS, number))
        return out

    def _finish(self, choice: Choice, reason: str, number: int) -> Frame:
        if choice.held is not None:
            self._reporter.because(EARLY_FINISH)
        late = self._opened_behind(choice) and self._reporter.repairs_row(CUT_OFF_CALL)
        choice.finish, choice.held = "length" if late else self._reasons.honest(choice, reason), None
        return self._stream.delta(choice.number, {}, finish=choice.finish, number=number)

    def _opened_behind(self, choice: Choice) -> bool:
        """Whether a call came behind a finish that was held, and has nothing: the finish does not speak of it."""
        empty = [
            client_call
            for client_call in choice.unfinished
            if client_call.call.name and (client_call.call.arguments.empty or client_call.says_null)
        ]
        return not self._stream.done and any(client_call.first_event > choice.held_event for client_call in empty)

    def _is_finished(self, choice: Choice, number: int) -> bool:
        """Whether an answer that says its end but no finish has made all calls of a choice in full."""
        whole = not self.torn and all(self._is_over(client_call) for client_call in choice.calls)
        return whole and self._reporter.report(MISSING_FINISH, number, "no finish reason came before [DONE]")

    def _is_over(self, client_call: ClientCall) -> bool:
        """Whether the call is whole where `[DONE]` comes: without arguments only if its tool is known to take none."""
        if client_call.call.arguments.empty or client_call.says_null:
            return client_call.nothing or client_call.tool in self._stream.context.parameterless
        return bool(client_call.call.name) and client_call.sound

    def _lacks(self, client_call: ClientCall) -> bool:
        """Whether a part of the call is lacking for sure."""
        if client_call.half:
            return True
        empty = bool(client_call.call.name) and (client_call.call.arguments.empty or client_call.says_null)
        return empty and not self._stream.context.may_be_empty(client_call.tool)

    def _closed(self, choice: Choice) -> bool:
        """Whether its finish is behind all of its calls, or they need none."""
        if choice.resumed:
            return all(client_call.sound or client_call.nothing for client_call in choice.calls)
        return choice.whole

    def _lacks_finish(self) -> bool:
        """Whether an answer without any end has made all its calls in full."""
        stream = self._stream
        choices = stream.choices.values()
        if stream.failed or self.torn or not all(choice.calls and not choice.custom for choice in choices):
            return False
        calls = [one for choice in choices for one in choice.calls if one.call.id or not one.nothing]
        whole = bool(calls) and all(client_call.full for client_call in calls)
        return whole and self._reporter.report(
            MISSING_FINISH, self._stream.last, "the stream ended without a finish reason"
        )

    def _without_calls(self, choice: Choice) -> None:
        """Tell a finish that says calls where none came."""
        reasons = {OURS.get(reason, reason) for reason in choice.reasons}
        if CALLS not in reasons or choice.calls or choice.custom or choice.number in self._stream.legacy_calls:
            return
        elsewhere = any(other.calls or other.custom for other in self._stream.choices.values())
        if elsewhere:
            message = "the finish reason says calls, which are in another choice"
            self._reporter.report(SPLIT_CHOICES, choice.finish_event, message)
        else:
            self._reporter.report(MISSING_CALLS, choice.finish_event, "the finish reason says tool calls and none came")


def is_cut(frame: Frame) -> bool:
    """Whether an event that lacks its end is only the beginning of one."""
    return (frame.data or b"").strip() != b"[DONE]" and not isinstance(frame.json, dict)


def ended(frame: Frame) -> Frame:
    """The event with the blank line that ends it, where it lacks that."""
    if not frame.trailing:
        return frame
    newline = b"\r\n" if frame.raw.endswith(b"\r\n") else frame.raw[-1:] if frame.raw.endswith((b"\r", b"\n")) else b""
    return Frame(frame.raw + (newline or b"\n\n"), frame.number, frame.data, frame.name, frame.last_id)
