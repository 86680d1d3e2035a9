"""The certain part of an intended call: its id, name and arguments."""

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
from toolstream_core.repair.arguments_reader import ArgumentsReader
from toolstream_core.repair.identity import may_begin_tool
from toolstream_core.stages.context import Context


class IntendedCall:
    """A call of the resolver, and its intended arguments after each fragment."""

    def __init__(self, call: OpenCall, context: Context, on: Callable[[Defect], bool]) -> None:
        """`on`: whether a defect's repair is on."""
        self.call = call
        self.reader = ArgumentsReader(call.arguments)
        self._context = context
        self._on = on
        self.is_placeholder: bool | None = None
        """Whether a first `{}` or `null` is a placeholder for later arguments; `None` while that is undecided."""
        self.identified = False
        """Whether its id and name can no longer change."""
        self.cut_off = False
        """Whether the stream was truncated: its name may be missing."""

    # -- received fragments

    def decide(self, *, cut_off: bool = False, final: bool = True) -> None:
        """Decide its id, name and arguments without later events; `cut_off`: the stream was truncated.

        `final`: no more fragments arrive; otherwise too many events wait.
        """
        self.identified, self.cut_off = True, cut_off
        self.reader.decide(final=final)
        if self.is_placeholder is None:
            self.is_placeholder = False

    # -- identity

    @property
    def tool(self) -> str:
        """The tool that it calls, by the name in the request."""
        return self._context.tool(self.call.name)

    @property
    def is_blank(self) -> bool:
        """Whether it has no name, arguments or id; an id counts only while a name may still follow."""
        may_follow = self.cut_off or not self.identified
        return not ((self.call.id and may_follow) or self.call.name) and self.call.arguments.empty

    @property
    def is_id_alone(self) -> bool:
        """Whether it has an id, and neither a name nor arguments."""
        return bool(self.call.id) and not self.call.name and self.call.arguments.empty

    @property
    def waits_for_identity(self) -> bool:
        """Whether its events wait for its name or id."""
        call, schemas = self.call, self._context.schemas
        if self.identified:
            return False
        if not call.name:
            return self._on(LATE_NAME)
        if call.name not in schemas:
            grows = may_begin_tool(call.name, schemas) if schemas else self._context.is_saved and call.arguments.empty
            if grows and (schemas or call.runs.last == next(iter(call.runs))) and self._on(SPLIT_NAME):
                return True
        return not call.id and call.arguments.empty and self._on(LATE_ID)

    # -- arguments

    @property
    def arguments(self) -> ArgumentText:
        """The intended arguments, as far as they grow by fragments."""
        return self.reader.source

    @property
    def waits_for_text(self) -> bool:
        """Whether its events wait because later arguments may replace those so far."""
        if self.reader.suspect is not None or (self.reader.last_object is not None and self._on(SNAPSHOT_ARGUMENTS)):
            return True
        if self.call.in_objects and not self.identified and self._on(OBJECT_ARGUMENTS):
            return True
        if self.is_placeholder is not None or not self._on(PLACEHOLDER_ARGUMENTS):
            return False
        return self.may_be_placeholder

    def text(self, *, final: bool) -> Reading:
        """The intended arguments as far as they are certain; `final`: no more fragments arrive."""
        if self.has_no_arguments:
            raw = self.call.arguments.text()
            return Reading("", NULL_ARGUMENTS) if raw.strip(WHITE) else Reading(raw)
        if self.is_placeholder and self.reader.may_be_placeholder:
            return Reading(self.reader.read(final=True).text if final else "", PLACEHOLDER_ARGUMENTS)
        return self.reader.read(final=final)

    @property
    def has_no_arguments(self) -> bool:
        """Whether it has no arguments, or `null`."""
        arguments = self.call.arguments
        if arguments.empty or arguments.size > LONGEST_PLACEHOLDER:
            return arguments.empty
        return arguments.text().strip(WHITE) == "null"

    @property
    def may_be_placeholder(self) -> bool:
        """Whether the received text is `{}` or `null`, and may be a placeholder for later arguments."""
        return self.reader.may_be_placeholder and not self._context.has_no_parameters(self.call.name)

    @property
    def replaces_placeholder(self) -> bool:
        """Whether its arguments follow a `{}` or `null`."""
        begin = self.reader.begin
        return 0 < begin <= LONGEST_PLACEHOLDER and is_placeholder(self.call.arguments.text()[:begin])

    # -- missing parts

    @property
    def incomplete(self) -> bool:
        """Whether its arguments have begun and are not complete."""
        return self.call.incomplete and not self.has_no_arguments

    @property
    def lacks(self) -> bool:
        """Whether a part or all arguments are missing, or they may be only a placeholder."""
        if self.incomplete or (self.has_no_arguments if self.call.name else not self.is_blank):
            return True
        return self.is_placeholder is None and self.may_be_placeholder

    def opened_after(self, event: int) -> bool:
        """Whether it opened after an event, and has no arguments."""
        return bool(self.call.name) and self.has_no_arguments and next(iter(self.call.runs)) > event

    @property
    def may_be_empty(self) -> bool:
        """Whether the tool may be called without arguments."""
        return self._context.may_be_empty(self.call.name)

    @property
    def is_complete_at_finish(self) -> bool:
        """Whether it is complete at the finish reason, perhaps without arguments."""
        if self.has_no_arguments:
            return self.is_blank or self.may_be_empty
        return self.call.arguments.closed or self.is_complete_object or self.call.is_complete()

    @property
    def is_complete_object(self) -> bool:
        """Whether its intended arguments are a complete JSON object."""
        text = self.call.arguments
        if text.has_trailing_text:
            return is_object(self.text(final=True).text)
        return text.is_complete or (self.replaces_placeholder and self.arguments.is_complete)

    @property
    def is_complete_without_end(self) -> bool:
        """Whether it is complete although no event ended it; `{}` may be a placeholder."""
        if not (self.call.name and self.is_complete_object):
            return False
        reading = self.text(final=True)
        if reading.defect is TRAILING_GARBAGE:  # a part of it may be missing
            return False
        return reading.text.strip(WHITE) != "{}" or self._context.has_no_parameters(self.call.name)
