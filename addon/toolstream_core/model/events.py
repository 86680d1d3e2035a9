"""The tool-call content of a stream's events."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import ABSENT, Seen


class Phase(enum.StrEnum):
    """The phase of a call to which a fragment belongs."""

    OPEN = "open"
    """Announces a call (`output_item.added`, `content_block_start`)."""
    MORE = "more"
    """A delta."""
    ARGUMENTS = "arguments"
    """Repeats the complete arguments (`function_call_arguments.done`)."""
    CLOSE = "close"
    """Ends the call, perhaps with all its fields (`output_item.done`, `content_block_stop`)."""
    WHOLE = "whole"
    """Has a call that may never have been streamed (`message.tool_calls`, `response.completed`)."""


class Kind(enum.StrEnum):
    """The kind of a call: who runs it, and the form of its arguments."""

    FUNCTION = "function"
    """The client runs it; arguments are JSON text."""
    CUSTOM = "custom"
    """The client runs it; arguments are free text (Responses `custom_tool_call`)."""
    SERVER = "server"
    """The provider runs it (Anthropic `server_tool_use`, Responses `web_search_call`)."""


class Fragment(NamedTuple):
    """One tool-call entry of one event, as seen. A tuple because one is made for every delta."""

    choice: int = 0
    index: Seen[int] = ABSENT  # type: ignore[assignment]  # a tuple has a method of this name
    """The protocol's place of the call: `index`, `output_index`, content block index."""
    id: Seen[str] = ABSENT
    """The id by which the client returns the result: `id`, `call_id`."""
    item_id: Seen[str] = ABSENT
    """A second id that only the stream uses (Responses `item_id`)."""
    name: Seen[str] = ABSENT
    arguments: Seen[str] = ABSENT
    """Argument text; an object on the wire is its JSON text here."""
    type: Seen[str] = ABSENT
    phase: Phase = Phase.MORE
    kind: Kind = Kind.FUNCTION
    well_formed: bool = True
    """Whether the entry has the form of the protocol: in a list, arguments as text, index a number."""
    cut: bool = False
    """Whether it marks the call as cut off (`status` of a Responses item)."""
    doubtful: bool = False
    """Whether clients may read it as a call of another kind: a function's entry that has `custom` too (pi#8504)."""
    is_object: bool = False
    """Whether its arguments are an object, not text."""
    signed: bool = False
    """Whether it has a signature that the next request must have."""


class Finish(NamedTuple):
    """A finish reason as seen: `finish_reason`, `stop_reason`, `status`, `finishReason`."""

    choice: int
    reason: str
    """May be `""`, which some servers send during the turn."""


class EventContent(NamedTuple):
    """The content of one event that concerns tool calls."""

    fragments: tuple[Fragment, ...] = ()
    finishes: tuple[Finish, ...] = ()
    text: str = ""
    """Visible text, of all choices."""
    model: str | None = None
    error: str | None = None
    """An in-band error, as text."""
    end: bool = False
    """Nothing of this response follows (`[DONE]`, `message_stop`, `response.completed`)."""
    thought: str = ""
    """Reasoning that is shown, of all choices."""
    begins: tuple[Seen[int], ...] = ()
    """Places at which something other than a call begins: they belong to no call any more."""
    cancels: bool = False
    """Whether all calls so far are cancelled, and the client must not run them: another model continues the
    response (Anthropic `fallback`), or the provider has run them (Interactions `function_result`)."""


NOTHING: Final = EventContent()
"""The content of a frame without tool call, finish, error or end."""


class Event:
    """A frame and its meaning. A stage that changes an event makes another frame."""

    __slots__ = ("content", "frame")

    def __init__(
        self, frame: Frame, read: Callable[[Frame], EventContent], content: EventContent | None = None
    ) -> None:
        """`read` is the protocol's reader; `content` is the frame's content, if it is known."""
        self.frame = frame
        self.content = read(frame) if content is None else content


class SkippedRun(NamedTuple):
    """Events that were forwarded unparsed: each has some text of one call's arguments, and nothing else."""

    first: int
    """Number of the first one; the others follow it."""
    events: int
    size: int
    """Total size in bytes."""
    text: str
    """Their texts, joined, if they are plain."""
    last: str
    """The text of the last one."""
    changed: bool
    """Whether they were rewritten."""
    counter: int | None
    """The last event's own number, if the events have one."""
    fragments: Sequence[str] = ()
    """Their texts one by one, if they are not plain."""
