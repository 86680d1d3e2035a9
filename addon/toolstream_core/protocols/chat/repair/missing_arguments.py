"""Arguments that a Chat Completions client lacks at a finish: those that were kept back, `{}` that nobody said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.defects.arguments import EMPTY_ARGUMENTS, LOST_ARGUMENTS

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
        self._lost: list[tuple[ClientCall, int]] = []
        """Calls that a finish found without the arguments they need, and its event: more may follow it."""

    def kept_back(self, choice: Choice, number: int, waiting: Waiting | None = None) -> list[Frame]:
        """Arguments that waited for what would make sense of them, and never came: they go on as they came."""
        out: list[Frame] = []
        for known in choice.keeping.values():
            rest = known.spelling.rest(whole=known.call.whole())
            choice.unfinished.touch(known)
            here = waiting.deltas_of(known) if waiting else []
            if rest and here and not known.told:
                here[-1].told.text += rest
            elif rest and known.told and not known.doubled:
                known.said = True
                out.append(self._more(known, rest, number))
        choice.keeping.clear()
        return out

    def empty_objects(self, choice: Choice, number: int, waiting: Waiting | None) -> list[Frame]:
        """`{}` for calls of which nothing was said but who they are."""
        out: list[Frame] = []
        if self._stream.failed or (waiting and waiting.content.error) or any(map(is_cut, choice.reasons)):
            return out
        for known in choice.unfinished.silent():
            if not known.call.name or not self._owes(choice, known, number):
                continue
            known.said = True
            if here := waiting.deltas_of(known) if waiting else []:
                here[-1].told.text = "{}"
            elif known.told:
                out.append(self._more(known, "{}", number))
        return out

    def report_lost(self) -> None:
        """The stream is over: report the calls whose arguments never came."""
        for known, number in self._lost:
            call = known.call
            if call.arguments.empty or known.says_null:
                message = f"{call.name} has required parameters and got no arguments"
                self._reporter.report(LOST_ARGUMENTS, number, message, call)

    def _owes(self, choice: Choice, known: ClientCall, number: int) -> bool:
        """Whether the client is to be given the `{}` that nobody said."""
        call = known.call
        if known.spelling.owes:
            return True
        if not (call.arguments.empty or known.says_null) or choice.unfinished.any_half or self._stream.astray:
            return False
        if not known.context.may_be_empty(known.tool):
            self._lost.append((known, number))
            choice.unfinished.lost(known)
            return False
        return self._reporter.report(EMPTY_ARGUMENTS, number, "the call has no arguments, not even {}", call)

    def _more(self, known: ClientCall, text: str, number: int) -> Frame:
        entry = {"index": known.index, "function": {"arguments": text}}
        return self._stream.delta(known.choice, {"tool_calls": [entry]}, number=number)
