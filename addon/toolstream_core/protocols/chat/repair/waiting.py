"""Chat Completions events on their way to the client, and their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import Phase
from toolstream_core.protocols.chat.edit import choice_number, entries_of
from toolstream_core.protocols.chat.repair.other_forms import Form
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Event, Fragment, Json
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.stages.repair.emitted import Emitted


class Part:
    """One entry of one event."""

    __slots__ = ("choice", "client_call", "emitted", "form", "fragment", "fresh", "kept", "place")

    def __init__(
        self,
        fragment: Fragment,
        choice: Choice,
        client_call: ClientCall,
        emitted: Emitted,
        place: int = 0,
        form: Form = Form.PLAIN,
        *,
        fresh: bool = False,
    ) -> None:
        """`place` is the entry's among those of its choice; `fresh`: it says an id or a name for the first time."""
        self.fragment = fragment
        self.choice = choice
        self.client_call = client_call
        self.emitted = emitted
        self.place = place
        self.form = form
        self.fresh = fresh
        self.kept = False
        """Whether the entry as it stands in the payload is not changed, whatever else is."""

    @property
    def stays(self) -> bool:
        """Whether it goes on as it came: arguments in a form of their own, or that do not fit the whole call.

        Nobody knows whose they are, so they are not made that call's where the entry does not say so itself. Those that
        bring back what waited are: without them it would be lost.
        """
        fragment, client_call = self.fragment, self.client_call
        if self.form is Form.FOREIGN and client_call.forms.mixed:
            return True
        if not (self.emitted.stray and client_call.has_header) or self.emitted.text != fragment.arguments:
            return False
        return (
            fragment.index == client_call.index and not fragment.well_formed
            if isinstance(fragment.index, int)
            else True
        )


class Waiting:
    """One event on its way."""

    __slots__ = ("bare", "content", "early", "entries", "event", "frame", "moved", "parts")

    def __init__(self, event: Event, parts: list[Part]) -> None:
        """`parts` are its entries."""
        self.event = event
        self.frame = event.frame
        self.content = event.content
        self.parts = parts
        self.entries: dict[int, list[Json]] | None = None
        """Its entries as they stand in the payload, by choice; looked up where somebody asks."""
        self.bare = False
        """Whether choices without a delta are to get one."""
        self.early: set[Choice] = set()
        """Choices whose finish it says although their calls lack a part: it waits to see whether that follows."""
        self.moved: dict[int, bool] = {}
        """Choices whose final message's calls were said as deltas, and whether no delta has said anything else."""

    @property
    def ready(self) -> bool:
        """Whether all its entries can be sent to the client."""
        return not [part for part in self.parts if part.client_call.pending]

    @property
    def goes_on(self) -> bool:
        """Whether it says more than a finish."""
        content = self.content
        if [part for part in self.parts if part.fresh or part.emitted.text]:
            return True
        return bool(content.end or content.error or content.text.strip() or content.thought.strip())

    def brings_more(self, choice: Choice) -> bool:
        """Whether it brings more of the choice's calls; to say again whose an entry is, is no more."""
        return bool([part for part in self.parts if part.choice is choice and (part.fresh or part.emitted.text)])

    def deltas_of(self, client_call: ClientCall) -> list[Part]:
        """A call's deltas in it."""
        return [part for part in self.parts if part.client_call is client_call and part.fragment.phase is Phase.MORE]

    def entry(self, part: Part) -> dict[str, Json]:
        """The entry as it stands in the payload."""
        if self.entries is None:
            self.entries = {}
            for place, choice in enumerate(json_access.items_at(self.frame.json, "choices")):
                self.entries.setdefault(choice_number(choice, place), entries_of(json_access.get(choice, "delta")))
        entries = self.entries.get(part.fragment.choice, [])
        entry = entries[part.place] if part.place < len(entries) else None
        return entry if isinstance(entry, dict) else {}
