"""The arguments of Chat Completions entries, as the client is to be told them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.arguments import CUMULATIVE_ARGUMENTS, NULL_ARGUMENTS, PLACEHOLDER_ARGUMENTS
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.model import Phase
from toolstream_core.protocols.chat.repair import placeholders
from toolstream_core.protocols.chat.repair.other_forms import Form
from toolstream_core.stages.repair.emitted import Told

if TYPE_CHECKING:
    from toolstream_core.model import Fragment, SkippedRun
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.stages.repair.reporter import Reporter


class Arguments:
    """The arguments of one stream's calls."""

    def __init__(self, reporter: Reporter) -> None:
        """For one stream."""
        on = reporter.on
        self._may_be_twins = on(DOUBLED_CALL) or on(DUPLICATE_ID)
        self._may_wait = on(PLACEHOLDER_ARGUMENTS) or on(CUMULATIVE_ARGUMENTS)
        """Whether a fragment may wait for the next one: one that may be a placeholder, or cumulative."""

    def take(self, fragment: Fragment, choice: Choice, known: ClientCall, form: Form) -> Told:
        """What a fragment's arguments become, and what they say of the call and of others."""
        usual = form is Form.PLAIN and known.forms.first is Form.PLAIN
        if not usual and known.is_apart(fragment, form):
            return Told("")
        waited = bool(choice.placeholders) and known.spelling.placeholder
        if fragment.phase is Phase.WHOLE:
            told = self._in_message(fragment, choice, known)
        else:
            known.streamed = True
            said = fragment.arguments
            told = self.bare(said, choice, known) if isinstance(said, str) else Told("")
        if choice.placeholders or not known.told or known.may_wait:
            placeholders.resolved(fragment, choice, known, waited=waited)
        if known.told:
            return told
        known.resolved(fragment)
        if not known.doubled and known.call.id and self._may_be_twins:
            choice.twins.compare(known)
        return told

    def bare(self, said: str, choice: Choice, known: ClientCall) -> Told:
        """What bare argument text becomes."""
        may_wait = self._may_wait and not (known.settled or known.takes_none())
        told = known.spelling.take(said, known.judge, may_wait=may_wait)
        if said.strip() == "null" and known.says_null:
            self._null(told, known)
        if told.text != said:
            choice.keeping[id(known)] = known
        return told

    def on_skipped(self, choice: Choice, known: ClientCall, passed: SkippedRun) -> None:
        """Take the arguments of events that went by."""
        choice.unfinished.touch(known)
        if passed.text:
            known.spelling.on_skipped(passed.text, passed.last)
        for number, piece in enumerate(passed.pieces, passed.first):
            known.event = number
            known.said = bool(self.bare(piece, choice, known).text) or known.said

    def _in_message(self, fragment: Fragment, choice: Choice, known: ClientCall) -> Told:
        """What an entry of `message` adds to what those before it said; nothing where deltas say the call."""
        size = known.call.arguments.size
        added, known.message_size = size - known.message_size, size
        said = fragment.arguments if isinstance(fragment.arguments, str) else ""
        if known.streamed or added <= 0:
            return Told("")
        text = said if len(said) == added else known.call.arguments.text()[-added:]
        return self.bare(text, choice, known)

    def _null(self, told: Told, known: ClientCall) -> None:
        """`null` is no arguments: nothing of it goes on, unless it stands for what follows."""
        if known.spelling.placeholder:
            known.null = told
        elif known.judge(NULL_ARGUMENTS, "the arguments are null"):
            told.text = ""
