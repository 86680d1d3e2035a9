"""The intended call as far as it is certain: its identity and its arguments. Knows no protocol."""

from __future__ import annotations

from collections.abc import Callable

from toolstream_core.calls import OpenCall
from toolstream_core.calls.arguments import ArgumentText, Reading
from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.placeholders import LONGEST_PLACEHOLDER, is_placeholder
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
from toolstream_core.repair.identity import may_grow
from toolstream_core.repair.meaning import Meaning
from toolstream_core.stages.context import Context


class IntendedCall:
    """One call of the resolver, and the meaning of its arguments, which can be read after each fragment."""

    def __init__(self, call: OpenCall, context: Context, on: Callable[[Defect], bool]) -> None:
        """A call that opens; `on`: whether a defect's repair is on."""
        self.call = call
        self.meaning = Meaning(call.arguments)
        self._context = context
        self._on = on
        self.is_placeholder: bool | None = None
        """Whether a first `{}` or `null` is a placeholder for later arguments; `None` while that is undecided."""
        self.settled = False
        """Whether its identity cannot change any more."""
        self.cut_off = False
        """Whether it is settled because the stream was truncated: its name may be missing."""

    # -- received fragments

    def settle(self, *, cut_off: bool = False, over: bool = True) -> None:
        """No later event can change it; `cut_off`: because the stream was truncated.

        `over`: no more of it is expected; if not, too many events wait.
        """
        self.settled, self.cut_off = True, cut_off
        self.meaning.settle(over=over)
        if self.is_placeholder is None:
            self.is_placeholder = False

    # -- identity

    @property
    def tool(self) -> str:
        """The tool that it calls, by the name in the request."""
        return self._context.tool(self.call.name)

    @property
    def nothing(self) -> bool:
        """Whether it has no name, arguments or id; an id counts only while a name may still follow."""
        may_follow = self.cut_off or not self.settled
        return not ((self.call.id and may_follow) or self.call.name) and self.call.arguments.empty

    @property
    def is_id_alone(self) -> bool:
        """Whether it has an id, and neither a name nor arguments."""
        return bool(self.call.id) and not self.call.name and self.call.arguments.empty

    @property
    def waits_for_identity(self) -> bool:
        """Whether its name or its id may still change, or arrive."""
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

    # -- arguments

    @property
    def arguments(self) -> ArgumentText:
        """The intended arguments, as far as they grow by fragments."""
        return self.meaning.source

    @property
    def waits_for_text(self) -> bool:
        """Whether its arguments so far may stand for later ones."""
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
        """Whether it has no arguments, or `null`."""
        arguments = self.call.arguments
        if arguments.empty or arguments.size > LONGEST_PLACEHOLDER:
            return arguments.empty
        return arguments.text().strip(WHITE) == "null"

    @property
    def may_be_placeholder(self) -> bool:
        """Whether the received text is a `{}` or `null` which may stand for later arguments."""
        return self.meaning.may_be_placeholder and not self._context.has_no_parameters(self.call.name)

    @property
    def replaces_placeholder(self) -> bool:
        """Whether its arguments follow a `{}` or `null`."""
        begin = self.meaning.begin
        return 0 < begin <= LONGEST_PLACEHOLDER and is_placeholder(self.call.arguments.text()[:begin])

    # -- missing parts

    @property
    def incomplete(self) -> bool:
        """Whether its arguments have begun and are not complete."""
        return self.call.incomplete and not self.silent

    @property
    def lacks(self) -> bool:
        """Whether it lacks a part, or all arguments, or they may be only a placeholder."""
        if self.incomplete or (self.silent if self.call.name else not self.nothing):
            return True
        return self.is_placeholder is None and self.may_be_placeholder

    def opened_after(self, event: int) -> bool:
        """Whether it opened after an event, and has no arguments."""
        return bool(self.call.name) and self.silent and next(iter(self.call.runs)) > event

    @property
    def may_be_empty(self) -> bool:
        """Whether the tool may be called without arguments."""
        return self._context.may_be_empty(self.call.name)

    @property
    def is_complete_at_finish(self) -> bool:
        """Whether it is complete at the finish reason: it may lack arguments then."""
        if self.silent:
            return self.nothing or self.may_be_empty
        return self.call.arguments.closed or self.is_complete_object or self.call.is_complete()

    @property
    def is_complete_object(self) -> bool:
        """Whether its intended arguments are a complete JSON object."""
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
        if reading.defect is TRAILING_GARBAGE:  # a part of it may be missing
            return False
        return reading.text.strip(WHITE) != "{}" or self._context.has_no_parameters(self.call.name)
