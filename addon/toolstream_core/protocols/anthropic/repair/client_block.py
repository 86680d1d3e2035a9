"""One content block as the client gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import says_nothing
from toolstream_core.defects.arguments import PREFILLED_ARGUMENTS
from toolstream_core.defects.framing import MISSING_INPUT
from toolstream_core.model import Kind
from toolstream_core.protocols.anthropic.repair.block_mode import LEADS_TO, BlockMode, Stop
from toolstream_core.protocols.anthropic.repair.client_arguments import ClientArguments
from toolstream_core.protocols.anthropic.repair.events import Payload, index_of
from toolstream_core.protocols.anthropic.repair.identity import identify
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.anthropic.repair.identity import KnownIds
    from toolstream_core.protocols.anthropic.repair.output import NamedEventRepairer
    from toolstream_core.wire.frame import Frame

_BEGINS: Final = frozenset('{"')
"""How arguments begin: as an object, or as text that holds one."""


class InnerText(NamedTuple):
    """A delta of text that came inside a call."""

    frame: Frame
    payload: Payload


class ClientBlock:
    """A content block of any kind; `place` is the index under which the client gets it."""

    claimed = False
    """Whether arguments of it came under an index that is not its own."""
    doubtful = False
    """Whether those may have been another's: it gets no more, so that nobody runs it."""
    _made_up_id = ""
    """The id that the client knows, where it was made up."""

    def __init__(
        self, repairer: NamedEventRepairer, content: Payload, call: OpenCall | None, index: Json, place: int
    ) -> None:
        """`content` is the `content_block` of its start, `index` the wire's."""
        self._repairer = repairer
        self.content = content
        self.started_as = content
        """What its last start said."""
        self.call = call
        self.index = index
        self.place = place
        self.moved = False
        """Whether its events carry another index than its place."""
        self.mode = BlockMode.OPEN
        self.open = True
        """Whether the client has been given no stop of it."""
        self.stop_owed = False
        """Whether its stop is kept back until its arguments are whole."""
        self.texts: list[InnerText] = []
        """Deltas of text that came inside it although it is a call."""
        self.is_call = call is not None and call.kind is Kind.FUNCTION
        self.given_id = nonblank(content.get("id")) if self.is_call else ""
        """The id that the provider gave it."""
        self.name = nonblank(content.get("name"))
        self.arguments = ClientArguments(repairer.context, repairer.on, self.judge, call, client_runs=self.is_call)

    @property
    def stopped_early(self) -> bool:
        """Whether the client has been given a stop before the block's own came."""
        return self.mode is BlockMode.STOPPED_EARLY

    def stop(self, stop: Stop) -> None:
        """It is stopped, or its stop is kept back."""
        self.mode = LEADS_TO[self.mode, stop]
        self.open = self.stop_owed = self.mode is BlockMode.STOP_OWED

    @property
    def keeps(self) -> bool:
        """Whether anything of it is kept: text that came inside it, or a start that came again."""
        return bool(self.texts) or self.arguments.left_out is not None

    @property
    def begun(self) -> bool:
        """Whether more of it may come: it is open, or was stopped early and its arguments did not come whole."""
        return self.open or (self.stopped_early and self.call is not None and not self.call.whole())

    @property
    def accepts_any(self) -> bool:
        """Whether fragments of its arguments may be skipped, and taken later."""
        return self.mode is BlockMode.OPEN and self.arguments.accepts_any

    @property
    def whole_call(self) -> bool:
        """Whether it is a call, and nothing is missing of it but its stop."""
        return self.is_call and self.arguments.whole

    def has(self, index: int | None) -> bool:
        """Whether the wire started it at this index."""
        return index_of({"index": self.index}) == index

    def is_same_call(self, name: str, means: str) -> bool:
        """Whether it is a whole call of this tool whose arguments mean this."""
        return self.name == name and self.arguments.mean(means, name)

    def judge(self, row: Row, message: str) -> bool:
        """Report a defect of this call at the event that is being repaired."""
        return self._repairer.report(row, self._repairer.number, message, self.call)

    def moved_to_place(self, payload: Payload) -> Payload:
        """An event of it under the index that the client knows."""
        return {**payload, "index": self.place} if self.moved else payload

    def header(self, payload: Payload, ids: KnownIds) -> Payload:
        """The start event as the client is to get it."""
        content = dict(self.content)
        if self.is_call:
            self._made_up_id = identify(content, self.given_id, self.name, ids, self.judge)
            self._move_input(content)
        if content == self.content and not self.moved:
            return payload
        return self.moved_to_place({**payload, "content_block": content})

    def header_again(self, payload: Payload) -> Payload:
        """A repeated start event, under the id that the client knows."""
        moved, content = self.moved_to_place(payload), payload.get("content_block")
        if not (self._made_up_id and isinstance(content, dict)):
            return moved
        return {**moved, "content_block": {**content, "id": self._made_up_id}}

    def _move_input(self, content: Payload) -> None:
        """The input of a start is `{}`; any other comes in a delta."""
        given = content.get("input")
        if given is None or (isinstance(given, str) and says_nothing(given)):
            if self.judge(MISSING_INPUT, "the block starts without input"):
                content["input"] = {}
        elif isinstance(given, str) and given.lstrip(WHITE)[:1] not in _BEGINS:
            self.judge(PREFILLED_ARGUMENTS, "the block starts with text that is no arguments")
        elif given != {} and self.judge(PREFILLED_ARGUMENTS, "the block starts with its arguments"):
            content["input"] = {}
            self.arguments.prefilled = given if isinstance(given, str) else encoded(given).decode()

    def delta(self, payload: Payload) -> Payload:
        """A delta as the client is to get it."""
        changed, delta = self.moved_to_place(payload), payload.get("delta")
        if not self.is_call or not isinstance(delta, dict) or "partial_json" not in delta:
            return changed
        repaired = self.arguments.in_delta(delta)
        return changed if repaired is delta else {**changed, "delta": repaired}

    def new_delta(self, arguments: str) -> Payload:
        """A new delta event of its arguments."""
        return {"type": "content_block_delta", "index": self._index, "delta": self.arguments.new_delta(arguments)}

    def new_stop(self) -> Payload:
        """A new event that stops it."""
        return {"type": "content_block_stop", "index": self._index}

    @property
    def _index(self) -> Json:
        return self.place if self.moved else self.index

    def owed(self, taken: Json) -> list[Payload]:
        """Events for what was taken out or kept and not yet given: after a bug of ours.

        What the event with the payload `taken` says is not owed: that event itself goes on as it came.
        """
        again = taken if isinstance(taken, dict) else {}
        prefilled = self.arguments.prefilled
        started = self.content is again.get("content_block")
        deltas = [self.new_delta(prefilled)] if prefilled is not None and not (self.arguments.given or started) else []
        inside = [one.payload for one in self.texts if one.payload["delta"] is not again.get("delta")]
        texts = [self.moved_to_place({"type": "content_block_delta", **one}) for one in inside]
        return [*deltas, *texts, *([self.new_stop()] if self.stop_owed else [])]
