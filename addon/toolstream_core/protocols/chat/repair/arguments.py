"""The arguments of Chat Completions entries, as the client is to get them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.open_call import nonblank
from toolstream_core.defects.arguments import CUMULATIVE_ARGUMENTS, NULL_ARGUMENTS, PLACEHOLDER_ARGUMENTS
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.model import Phase
from toolstream_core.protocols.chat.repair import placeholders
from toolstream_core.protocols.chat.repair.other_forms import Form
from toolstream_core.stages.repair.arguments import ArgumentRepair
from toolstream_core.stages.repair.emitted import Emitted

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

    def take(self, fragment: Fragment, choice: Choice, client_call: ClientCall, form: Form) -> Emitted:
        """What a fragment's arguments become, and what they say of the call and of others."""
        forms = client_call.forms
        usual = form is Form.PLAIN and (forms.first is Form.PLAIN or not (fragment.arguments or forms.waits))
        if not usual and client_call.is_apart(fragment, form):
            return Emitted("")
        waited = bool(choice.placeholders) and client_call.spelling.placeholder
        if fragment.phase is Phase.WHOLE:
            emitted = self._in_message(fragment, choice, client_call)
        else:
            if forms.message_size and not (client_call.streamed or client_call.has_header):
                client_call.spelling = ArgumentRepair(
                    client_call.reporter.on, client_call.call.arguments.room
                )  # the message waits, and goes as it came
            client_call.streamed = True
            given = fragment.arguments if isinstance(fragment.arguments, str) else ""
            if given and _is_nobodys(fragment, given, client_call):
                return Emitted(given, stray=True)
            emitted = self.bare(given, choice, client_call) if given else Emitted("")
        if choice.placeholders:
            placeholders.resolved(fragment, choice, client_call, waited=waited)
        elif not client_call.has_header or client_call.may_wait:
            placeholders.waits(choice, client_call)
        if client_call.has_header:
            return emitted
        client_call.resolved(fragment)
        if self._may_be_twins and client_call.call.id and not client_call.doubled:
            choice.twins.compare(client_call)
        return emitted

    def bare(self, given: str, choice: Choice, client_call: ClientCall) -> Emitted:
        """What bare argument text becomes."""
        may_wait = self._may_wait and not (client_call.settled or client_call.takes_none())
        emitted = client_call.spelling.take(given, client_call.judge, may_wait=may_wait)
        if given.strip(WHITE) == "null" and client_call.says_null:
            self._null(emitted, client_call)
        if emitted.text != given:
            choice.keeping[id(client_call)] = client_call
        return emitted

    def on_skipped(self, choice: Choice, client_call: ClientCall, passed: SkippedRun) -> None:
        """Take the arguments of events that went by."""
        choice.unfinished.touch(client_call)
        if passed.text:
            client_call.spelling.on_skipped(passed.text, passed.last)
        for number, piece in enumerate(passed.pieces, passed.first):
            client_call.event = number
            client_call.has_arguments = bool(self.bare(piece, choice, client_call).text) or client_call.has_arguments

    def _in_message(self, fragment: Fragment, choice: Choice, client_call: ClientCall) -> Emitted:
        """What an entry of `message` adds to what those before it said; nothing where deltas say the call."""
        forms, now = client_call.forms, client_call.call.arguments
        before, added = forms.in_message, now.size - forms.message_size
        forms.in_message, forms.message_size = now, now.size
        given = fragment.arguments if isinstance(fragment.arguments, str) else ""
        if client_call.streamed or added <= 0 or not (before is None or before is now or _continues(now, before)):
            return Emitted("")
        text = given if len(given) == added else client_call.call.arguments.text()[-added:]
        return self.bare(text, choice, client_call)

    def _null(self, emitted: Emitted, client_call: ClientCall) -> None:
        """`null` is no arguments: nothing of it goes on, unless it stands for what follows."""
        if client_call.spelling.placeholder:
            client_call.null = emitted
        elif client_call.judge(NULL_ARGUMENTS, "the arguments are null"):
            emitted.text = ""


def _continues(now: ArgumentText, before: ArgumentText) -> bool:
    """Whether arguments that are said once more begin as those that they replace."""
    return now.text().startswith(before.text())


def _is_nobodys(fragment: Fragment, given: str, client_call: ClientCall) -> bool:
    """Whether an entry without an index, id or name has what cannot begin the arguments of a call that has an index."""
    if isinstance(fragment.index, int) or not isinstance(client_call.call.index, int) or client_call.spelling.begun:
        return False
    text = ArgumentText()
    text.add(given)
    return not (nonblank(fragment.id) or nonblank(fragment.name) or text.viable)
