"""Arguments that a Chat Completions client lacks at a finish: those that were kept back, `{}` that nobody said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.defects.arguments import EMPTY_ARGUMENTS, LOST_ARGUMENTS
from toolstream_core.protocols.chat.repair.doubled import DoubledCalls

if TYPE_CHECKING:
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.waiting import Waiting
    from toolstream_core.wire.frame import Frame


class MissingArguments:
    """What is added to the calls of one stream."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream
        self._reporter = stream.reporter
        self._doubled = DoubledCalls(stream)
        self._lost: list[tuple[ClientCall, int]] = []
        """Calls that a finish found without the arguments they need, and its event: more may follow it."""
        self._waiting_on: dict[int, dict[int, ClientCall]] = {}
        """By choice, and by `id`: whole calls of which a finish that was said again did not release what was kept."""

    def kept_back(
        self, choice: Choice, number: int, waiting: Waiting | None = None, *, again: bool = False
    ) -> list[Frame]:
        """Arguments that waited for what would make sense of them, and never came: they go on as they came.

        `again`: at a finish that was said before: what follows whole arguments waits on.
        """
        out: list[Frame] = []
        keeping = choice.keeping if again else {**self._waiting_on.pop(choice.number, {}), **choice.keeping}
        for key, client_call in keeping.items():
            if again and client_call.spelling.whole:
                self._waiting_on.setdefault(choice.number, {})[key] = client_call
                continue
            rest = client_call.spelling.rest()
            choice.unfinished.touch(client_call)
            here = waiting.deltas_of(client_call) if waiting else []
            if rest and here and (here[-1].emitted.text or not client_call.has_header):
                here[-1].emitted.text += rest
            elif rest and client_call.has_header and not client_call.doubled:
                client_call.has_arguments = True
                out += [*self._doubled.sent_after_all(client_call, number), self._more(client_call, rest, number)]
        choice.keeping.clear()
        return out

    def empty_objects(
        self, choice: Choice, number: int, waiting: Waiting | None, last: int | None = None
    ) -> list[Frame]:
        """`{}` for calls of which nothing was said but who they are; `last`: the last event that may open one."""
        out: list[Frame] = []
        if self._stream.failed or (waiting and waiting.content.error) or any(map(is_cut, choice.reasons)):
            return out
        for client_call in choice.unfinished.silent():
            if not client_call.call.name or client_call.first_event > (number if last is None else last):
                continue
            if not self._owes(choice, client_call, number):
                continue
            client_call.has_arguments = True
            empty = client_call.spelling.rest() or "{}"
            if here := waiting.deltas_of(client_call) if waiting else []:
                here[-1].emitted.text = empty
            elif client_call.has_header:
                out.append(self._more(client_call, empty, number))
        return out

    def report_lost(self) -> None:
        """The stream is over: report the calls whose arguments never came."""
        for client_call, number in self._lost:
            call = client_call.call
            if call.arguments.empty or client_call.says_null:
                message = f"{call.name} has required parameters and got no arguments"
                self._reporter.report(LOST_ARGUMENTS, number, message, call)

    def _owes(self, choice: Choice, client_call: ClientCall, number: int) -> bool:
        """Whether the client is to be given the `{}` that nobody said."""
        call = client_call.call
        if client_call.spelling.owes:
            return True
        if not (call.arguments.empty or client_call.says_null) or choice.unfinished.any_half or self._stream.astray:
            return False
        if self._stream.unread_at >= client_call.first_event:
            return False
        if not client_call.context.may_be_empty(client_call.tool):
            self._lost.append((client_call, number))
            choice.unfinished.lost(client_call)
            return False
        return self._reporter.report(EMPTY_ARGUMENTS, number, "the call has no arguments, not even {}", call)

    def _more(self, client_call: ClientCall, text: str, number: int) -> Frame:
        entry = {"index": client_call.index, "function": {"arguments": text}}
        return self._stream.delta(client_call.choice, {"tool_calls": [entry]}, number=number)
