"""The intended call as far as it is certain: its identity and its arguments. Knows no protocol."""

from __future__ import annotations

from collections.abc import Callable

from toolstream_core.calls import OpenCall
from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.scanner import WHITE
from toolstream_core.defects.arguments import (
    NULL_ARGUMENTS,
    OBJECT_ARGUMENTS,
    PLACEHOLDER_ARGUMENTS,
    SNAPSHOT_ARGUMENTS,
    TRAILING_GARBAGE,
)
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.identity import LATE_ID, LATE_NAME, SPLIT_NAME
from toolstream_core.repair.identity import may_grow, plain_name
from toolstream_core.repair.meaning import Meaning
from toolstream_core.repair.reading import LONGEST_PLACEHOLDER, Reading, is_placeholder
from toolstream_core.stages.context import Context


class IntendedCall:
    """One call of the resolver, and what its arguments mean: grows with its fragments, is read at any time."""

    def __init__(self, call: OpenCall, context: Context, on: Callable[[Defect], bool]) -> None:
        """A call that opens; `on`: whether a defect's repair is on."""
        self.call = call
        self.meaning = Meaning(call.arguments)
        self._context = context
        self._on = on
        self.is_placeholder: bool | None = None
        """Whether a first `{}` or `null` stands for what follows; `None` while that is open."""
        self.settled = False
        """Whether who it is cannot change any more."""
        self.cut_off = False
        """Whether that is so because the stream broke off: its name may have been still to come."""

    # -- what comes

    def settle(self, *, cut_off: bool = False, over: bool = True) -> None:
        """Nothing follows that could change what has come; `cut_off`: because the stream broke off.

        `over`: nothing more of it is awaited; if not, too many events wait.
        """
        self.settled, self.cut_off = True, cut_off
        self.meaning.settle(over=over)
        if self.is_placeholder is None:
            self.is_placeholder = False

    # -- who it is

    @property
    def tool(self) -> str:
        """The tool that it calls, as the request names it."""
        return plain_name(self.call.name, self._context.schemas)

    @property
    def nothing(self) -> bool:
        """Whether it has no name, no arguments and no id; an id counts only while a name may still follow."""
        may_follow = self.cut_off or not self.settled
        return not ((self.call.id and may_follow) or self.call.name) and self.call.arguments.empty

    @property
    def is_id_alone(self) -> bool:
        """Whether it has an id, and neither a name nor arguments."""
        return bool(self.call.id) and not self.call.name and self.call.arguments.empty

    @property
    def waits_for_identity(self) -> bool:
        """Whether its name or its id may still change, or come."""
        call, schemas = self.call, self._context.schemas
        if self.settled:
            return False
        if not call.name:
            return self._on(LATE_NAME)
        if call.name not in schemas:
            grows = may_grow(call.name, schemas) if schemas else self._context.patient and call.arguments.empty
            if grows and (schemas or call.runs.last == next(iter(call.runs))) and self._on(SPLIT_NAME):
                return True
        return not call.id and call.arguments.empty and self._on(LATE_ID)

    # -- what it says

    @property
    def arguments(self) -> ArgumentText:
        """The intended arguments, as far as they grow by fragments."""
        return self.meaning.source

    @property
    def waits_for_text(self) -> bool:
        """Whether its arguments so far may stand for what follows."""
        if self.meaning.suspect is not None or (self.meaning.newest is not None and self._on(SNAPSHOT_ARGUMENTS)):
            return True
        if self.call.in_objects and not self.settled and self._on(OBJECT_ARGUMENTS):
            return True
        if self.is_placeholder is not None or not self._on(PLACEHOLDER_ARGUMENTS):
            return False
        return self.may_be_placeholder

    def text(self, *, over: bool) -> Reading:
        """The arguments as far as they are certain; `over`: the provider sends no more of them."""
        if self.silent:
            raw = self.call.arguments.text()
            return Reading("", NULL_ARGUMENTS) if raw.strip(WHITE) else Reading(raw)
        if self.is_placeholder and self.meaning.may_be_placeholder:
            return Reading(self.meaning.read(over=True).text if over else "", PLACEHOLDER_ARGUMENTS)
        return self.meaning.read(over=over)

    @property
    def silent(self) -> bool:
        """Whether its arguments are nothing, or `null`."""
        arguments = self.call.arguments
        if arguments.empty or arguments.size > LONGEST_PLACEHOLDER:
            return arguments.empty
        return arguments.text().strip(WHITE) == "null"

    @property
    def may_be_placeholder(self) -> bool:
        """Whether all that came is a `{}` or `null` which may stand for what follows."""
        return self.meaning.may_be_placeholder and self.tool not in self._context.parameterless

    @property
    def replaces_placeholder(self) -> bool:
        """Whether its arguments follow a `{}` or `null`."""
        begin = self.meaning.begin
        return 0 < begin <= LONGEST_PLACEHOLDER and is_placeholder(self.call.arguments.text()[:begin])

    # -- what it lacks

    @property
    def incomplete(self) -> bool:
        """Whether its arguments have begun and are not complete."""
        return self.call.incomplete and not self.silent

    @property
    def lacks(self) -> bool:
        """Whether a part of it is lacking, or all of its arguments, or they may be nothing but a placeholder."""
        if self.incomplete or (self.silent if self.call.name else not self.nothing):
            return True
        return self.is_placeholder is None and self.may_be_placeholder

    def opened_after(self, event: int) -> bool:
        """Whether it opened after an event, and has no arguments."""
        return bool(self.call.name) and self.silent and next(iter(self.call.runs)) > event

    @property
    def may_be_empty(self) -> bool:
        """Whether the tool may be called without arguments."""
        return self._context.may_be_empty(self.tool)

    @property
    def is_complete_at_finish(self) -> bool:
        """Whether it is complete at the finish reason: it may lack arguments then."""
        if self.silent:
            return self.nothing or self.may_be_empty
        return self.call.arguments.closed or self.is_complete_object or self.call.is_complete()

    @property
    def is_complete_object(self) -> bool:
        """Whether what it means is a complete JSON object."""
        text = self.call.arguments
        if text.spilled:
            return is_object(self.text(over=True).text)
        return text.is_complete or (self.replaces_placeholder and self.arguments.is_complete)

    @property
    def is_complete_without_end(self) -> bool:
        """Whether it is complete although no event ended it; `{}` may be a placeholder."""
        if not (self.call.name and self.is_complete_object):
            return False
        reading = self.text(over=True)
        if reading.defect is TRAILING_GARBAGE:  # more of it may have been still to come
            return False
        return reading.text.strip(WHITE) != "{}" or self.tool in self._context.parameterless
