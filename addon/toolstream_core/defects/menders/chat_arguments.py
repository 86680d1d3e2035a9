"""The arguments of Chat Completions entries, as the client is to be told them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.defects.menders import chat_placeholders as placeholders
from toolstream_core.defects.menders.told import Told
from toolstream_core.defects.wording import CUMULATIVE_ARGUMENTS, NULL_ARGUMENTS, PLACEHOLDER_ARGUMENTS
from toolstream_core.model import Phase

if TYPE_CHECKING:
    from toolstream_core.defects.menders.chat import ChatMender
    from toolstream_core.defects.menders.chat_call import KnownCall
    from toolstream_core.defects.menders.chat_forms import Form
    from toolstream_core.model import Fragment, Passed


class Arguments:
    """The arguments of one stream's calls."""

    def __init__(self, mender: ChatMender) -> None:
        """For one stream."""
        self._mender = mender

    def take(self, fragment: Fragment, known: KnownCall, form: Form) -> Told:
        """What a fragment's arguments become, and what they say of the call and of others."""
        if known.is_apart(fragment, form):
            return Told("")
        waited = known.spelling.placeholder
        told = self._spelled(fragment, known)
        placeholders.heard(fragment, known, waited=waited)
        known.heard(fragment)
        if not (known.told or known.doubled) and known.call.id and self._may_be_twins:
            known.choice.twins.compare(known)
        return told

    def bare(self, said: str, known: KnownCall) -> Told:
        """What bare argument text becomes."""
        told = known.spelling.take(said, known.judge, may_wait=self._may_wait(known))
        if said.strip() == "null" and known.says_null:
            self._null(told, known)
        if told.text != said:
            known.choice.keeping[id(known)] = known
        return told

    def went_by(self, known: KnownCall, passed: Passed) -> None:
        """Take the arguments of events that went by."""
        known.choice.unfinished.touch(known)
        if passed.text:
            known.spelling.went_by(passed.text, passed.last)
        for number, piece in enumerate(passed.pieces, passed.first):
            known.event = number
            known.said = bool(self.bare(piece, known).text) or known.said

    @property
    def _may_be_twins(self) -> bool:
        return self._mender.on(DOUBLED_CALL) or self._mender.on(DUPLICATE_ID)

    def _spelled(self, fragment: Fragment, known: KnownCall) -> Told:
        said = fragment.arguments
        if fragment.phase is Phase.WHOLE:
            return self._in_message(fragment, known)
        known.streamed = True
        if not isinstance(said, str):
            return Told("")
        return self.bare(said, known)

    def _in_message(self, fragment: Fragment, known: KnownCall) -> Told:
        """What an entry of `message` adds to what those before it said; nothing where deltas say the call."""
        size = known.call.arguments.size
        added, known.message_size = size - known.message_size, size
        said = fragment.arguments if isinstance(fragment.arguments, str) else ""
        if known.streamed or added <= 0:
            return Told("")
        return self.bare(said if len(said) == added else known.call.arguments.text()[-added:], known)

    def _null(self, told: Told, known: KnownCall) -> None:
        """`null` is no arguments: nothing of it goes on, unless it stands for what follows."""
        if known.spelling.placeholder:
            known.null = told
        elif known.judge(NULL_ARGUMENTS, "the arguments are null"):
            told.text = ""

    def _may_wait(self, known: KnownCall) -> bool:
        """Whether a fragment of the call may wait for the next one: one that may be a placeholder, or cumulative."""
        if known.settled or self._mender.context.takes_none(known.tool):
            return False
        return self._mender.on(PLACEHOLDER_ARGUMENTS) or self._mender.on(CUMULATIVE_ARGUMENTS)
