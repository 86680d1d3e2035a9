"""The forms in which Chat Completions entries say arguments: the one that clients read, and others."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.model import Phase
from toolstream_core.protocols.chat.edit import choice_number
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.model import Fragment, Json
    from toolstream_core.wire.frame import Frame

# A call whose arguments come in another form throughout is mended. Where some of them come in the form that clients
# read, these are the call's arguments to them, and the others stay as they came: joined they might be none. So the
# first piece in another form waits for the next one, or for a header with `""` in the form that clients read.


class Form(Enum):
    """How an entry says arguments."""

    PLAIN = auto()
    """In a list, under `function.arguments`, whatever they are."""
    MISNAMED = auto()
    """In a list, and another key of `function` has them."""
    FOREIGN = auto()
    """Anywhere else: clients see nothing of the entry, or it has no index or another one, and does not go on."""


def form_of(frame: Frame, fragment: Fragment, place: int) -> Form:
    """The form of an entry that is not well formed, given its place among those of its choice."""
    if fragment.phase is not Phase.MORE:
        return Form.PLAIN
    for at, choice in enumerate(json_access.items_at(frame.json, "choices")):
        if choice_number(choice, at) == fragment.choice:
            return _form(json_access.get(choice, "delta", "tool_calls"), place)
    return Form.FOREIGN


def _form(entries: Json, place: int) -> Form:
    entry = entries[place] if isinstance(entries, list) and place < len(entries) else None
    function = entry.get("function") if isinstance(entry, dict) else None
    if not isinstance(function, dict):
        return Form.FOREIGN
    return Form.PLAIN if "arguments" in function else Form.MISNAMED


class Forms:
    """The forms in which one call's arguments came so far."""

    __slots__ = ("first", "given_up", "in_message", "joined", "joins", "message_size", "mixed", "waits")

    def __init__(self) -> None:
        """None yet."""
        self.first: Form | None = None
        """That of the first ones; `None` before any came."""
        self.mixed = False
        """Whether they came in the form that clients read, and in another."""
        self.waits = False
        """Whether the next ones decide what becomes of the first."""
        self.joins: bool | None = None
        """Whether entries under another index go on with those under the call's; `None` before one came."""
        self.joined: set[object] = set()
        """The indexes, or none, of those that the client was given under the call's."""
        self.given_up = False
        """Whether a part of the arguments stayed as it came, so that no more of them are put under the call's index."""
        self.in_message: ArgumentText | None = None
        self.message_size = 0
        """The arguments, and how many characters they were, at the last entry of a message."""

    def take(self, fragment: Fragment, form: Form) -> bool:
        """The next fragment: whether it shows that those before it are to stay as they came."""
        given = fragment.arguments
        if fragment.phase is not Phase.MORE or not isinstance(given, str):
            return False
        if not given.strip(WHITE) and not (form is Form.PLAIN and self.waits and (fragment.id or fragment.name)):
            return False
        waited, self.waits = self.waits, False
        if self.first is None:
            self.first, self.waits = form, form is not Form.PLAIN
        elif form is Form.PLAIN and waited:
            self.first = form
            self.mixed = True
            return True
        elif form not in {Form.PLAIN, self.first}:
            self.mixed = True
            return waited
        return False
