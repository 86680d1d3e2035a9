"""What all parts of a Chat Completions repair know of the stream: its choices, its envelope, how far it has come."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.defects.framing import SPLIT_CHOICES
from toolstream_core.model import ABSENT
from toolstream_core.protocols.chat.repair.choice import Choice
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.reporter import Reporter
    from toolstream_core.wire.frame import Frame


class ChatStream:
    """One stream, as the client has it so far."""

    def __init__(self, context: Context, reporter: Reporter) -> None:
        """A stream of which nothing has come."""
        self.context = context
        self.reporter = reporter
        self.choices: dict[int, Choice] = {}
        self.calls: dict[int, ClientCall] = {}
        """By `id` of the call that the wire's fragments belong to."""
        self._anonymous: list[ClientCall] = []
        """Calls that were begun by a fragment with neither id nor name."""
        self.head: dict[str, Json] = {}
        """The envelope of the first chunk that has an id and a choice: it serves for events that are added."""
        self.last = 0
        """Number of the last event that said anything."""
        self.any_finished = False
        """Whether any choice has finished, so that text which follows is looked at."""
        self.skipped = False
        """Whether an event went by unseen, which only text does."""
        self.may_have_text = False
        """Whether a delta had text, or may have had."""
        self.done = self.failed = False
        """Whether `[DONE]` came; whether the provider reported an error."""
        self.legacy_calls: set[int] = set()
        """The choices with a call, where the client wants `function_call`."""
        self.unread_at = -1
        """Number of the last event with arguments where nobody reads them, or that nobody can read; -1 for none."""
        self.ending = self.ending_clean = False
        """Whether nothing more comes, so that nothing may wait; and whether the body ended in order."""

    @cached_property
    def speaks_legacy(self) -> bool:
        """Whether the client asked with `functions`, so that `function_call` is what it wants."""
        request = self.context.exchange.request
        functions, tools = (json_access.items(json_access.get(request, key)) for key in ("functions", "tools"))
        return bool(functions) and not tools

    @cached_property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        return earlier_ids(self.context.exchange.request)

    @property
    def astray(self) -> bool:
        """Whether arguments came that belong to no known call: they may be those that another one lacks."""
        self._anonymous = [one for one in self._anonymous if not (one.call.id or one.call.name)]
        return any(not one.call.arguments.empty for one in self._anonymous)

    def choice(self, number: int) -> Choice:
        """The state of a choice."""
        number = 0 if number and self.folded(number) else number
        return self.choices.get(number) or self.choices.setdefault(number, Choice(number))

    def choice_of(self, client_call: ClientCall) -> Choice:
        """The choice that a call belongs to."""
        return self.choices[client_call.choice]

    def folded(self, number: int) -> bool:
        """Whether a choice that nobody asked for is part of the first."""
        if number == 0 or not isinstance(self.context.exchange.request, dict):
            return False
        wanted = json_access.integer(json_access.get(self.context.exchange.request, "n"))
        message = f"choice {number} came, one was asked for"
        return wanted in {ABSENT, None, 1} and self.reporter.report(SPLIT_CHOICES, 0, message)

    def open(self, call: OpenCall, choice: Choice) -> ClientCall:
        """A call opens."""
        client_call = self.calls[id(call)] = choice.open(call, self.context, self.reporter)
        if not (call.id or call.name):
            self._anonymous.append(client_call)
        return client_call

    def settle(self) -> None:
        """Nothing more is waited for. A choice that has not finished by the end of the stream is cut off."""
        for choice in self.choices.values():
            choice.settle(cut_off=self.ending and not choice.reasons)

    def delta(self, choice: int, delta: Json, *, finish: str | None = None, number: int = 0) -> Frame:
        """A new event of this stream."""
        head = self.head or {"object": "chat.completion.chunk"}
        payload = {**head, "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}
        return self.context.writer.make(payload, number)

    def remember(self, frame: Frame) -> None:
        """Note an event that leaves: its envelope serves for events that are added."""
        self.last = frame.number
        if not self.head.get("id"):
            self.remember_head(frame.json)

    def remember_head(self, payload: Json) -> None:
        """Keep the envelope of the first chunk that has an id and a choice."""
        if not self.head.get("id") and isinstance(payload, dict) and payload.get("choices"):
            self.head = {key: value for key, value in payload.items() if key not in {"choices", "usage", "error"}}
