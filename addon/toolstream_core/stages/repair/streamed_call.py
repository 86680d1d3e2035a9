"""A call whose arguments come in deltas, as the client has been given it so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import is_object, says_nothing
from toolstream_core.defects.arguments import LOST_ARGUMENTS
from toolstream_core.stages.repair.arguments import ArgumentRepair

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.emitted import Emitted
    from toolstream_core.wire.frame import Frame


class StreamedCall(ABC):
    """The arguments of one call. A protocol's class adds where the call's events stand, and what they look like."""

    late = False
    """Whether arguments came behind the call's end."""
    given = False
    """Whether the client has been given anything of the arguments."""
    emitted: Emitted | None = None
    """What the client is to be given for the last delta; may still change while that waits."""
    torn = False
    """Whether an event that nobody could read came behind its start: it may have been part of the arguments.

    What is too much behind them may be an end of it, and stays."""
    left_out: Frame | None = None
    """A start that came again behind half of the arguments, and was not sent: clients would forget that half."""
    _anew = False
    """Whether it was started once more behind arguments, which clients forget there."""
    _changed = False
    """Whether the client was given other arguments than those that came."""

    def __init__(self, context: Context, on: Callable[[Row], bool], call: OpenCall) -> None:
        """`on` says whether a row's repair is switched on."""
        self.call = call
        self._context = context
        self._on = on
        self._arguments = ArgumentRepair(on, call.arguments.room)

    @abstractmethod
    def judge(self, row: Row, message: str) -> bool:
        """Report a defect of this call at the event that is looked at; whether it is to be repaired."""

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of it but its end."""
        if self._arguments.whole or self._anew:
            return self._arguments.whole
        return self.call.whole(may_be_empty=self._context.may_be_empty(self.call.name))

    @property
    def given_whole(self) -> bool:
        """Whether the client has all of the arguments, and nothing but them."""
        empty = self.call.arguments.empty
        return not (self.late or self._anew) and (empty or (self._arguments.whole and not self._arguments.spoilt))

    def begin_anew(self) -> None:
        """Its start is sent once more."""
        self._anew, self.given = True, False
        self._arguments = ArgumentRepair(self._on, self.call.arguments.room)

    def is_restarted_by(self, piece: object) -> bool:
        """Whether a delta begins anew behind half of the arguments."""
        return isinstance(piece, str) and self._arguments.restarted_by(piece)

    @property
    def half(self) -> bool:
        """Whether the arguments have begun, and are not whole."""
        return self._arguments.half

    @property
    def finished(self) -> bool:
        """Whether its arguments have come and are whole, so that it can be ended at once."""
        return not self.call.arguments.empty and self.whole

    @property
    def runnable(self) -> bool:
        """Whether it is whole, and its arguments are an object; costs as much as they are long."""
        if self.late or self._anew or not self.whole or self._arguments.spoilt:
            return False
        return is_runnable(self.call, self._context, changed=self._changed and self._arguments.whole)

    @property
    def waiting(self) -> bool:
        """Whether the last delta may turn out to stand for what follows."""
        return self._arguments.waiting

    @property
    def placeholder(self) -> bool:
        """Whether it is a first `{}` that waits so."""
        return self._arguments.placeholder

    def settle(self) -> None:
        """Nothing follows that could change what waits."""
        self._arguments.settle(self.judge)

    def take(self, text: str) -> str:
        """What the client is to be given for the next delta, unless that still waits."""
        may_wait = self.call.name not in self._context.parameterless
        emitted = self.emitted = self._arguments.take(text, self.judge, may_wait=may_wait)
        self.given = self.given or bool(emitted.text.strip(WHITE))
        self._changed = self._changed or emitted.text != text
        return emitted.text

    def check_lost(self) -> None:
        """The call is over: report that a tool which has required parameters got no arguments."""
        call = self.call
        if call.name and call.arguments.empty and not self._context.may_be_empty(call.name):
            self.judge(LOST_ARGUMENTS, f"{call.name} has required parameters and got no arguments")


def is_runnable(call: OpenCall, context: Context, *, changed: bool) -> bool:
    """Whether the arguments of a whole call are an object; `changed`: the client was given others, which are whole.

    A `{}` behind which no end came may stand for arguments that did not come.
    """
    if call.arguments.empty:
        return True
    if changed:
        return call.closed or call.whole()
    text = call.arguments.reading()[0]
    if says_nothing(text) and not call.over:
        return call.name in context.parameterless
    return is_object(text)
