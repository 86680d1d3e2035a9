"""One content block as the client is told it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.calls import known
from toolstream_core.calls.book import same_arguments
from toolstream_core.defects.framing import MISSING_INPUT
from toolstream_core.defects.identity import DECORATED_NAME, DUPLICATE_ID, MISSING_ID, MISSING_NAME, ODD_ID, REUSED_ID
from toolstream_core.defects.menders.names import plain_name
from toolstream_core.defects.menders.spelling import Spelling
from toolstream_core.defects.wording import LOST_ARGUMENTS, OBJECT_ARGUMENTS, PREFILLED_ARGUMENTS
from toolstream_core.model import Kind
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.anthropic_blocks import BlocksMender as AnthropicMender
    from toolstream_core.defects.menders.told import Told
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json

_USUAL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Block:
    """A content block of any kind; `place` is where the client gets it."""

    def __init__(
        self, mender: AnthropicMender, content: dict[str, Json], call: OpenCall | None, index: Json, place: int
    ) -> None:
        """`index` is the wire's."""
        self._mender = mender
        self.content = content
        self.call = call
        self.index = index
        self.place = place
        self.moved = False
        """Whether its events carry another index than its place."""
        self.open = True
        self.closed_early = False
        """Whether it was stopped before its own stop came."""
        self.stop_owed = False
        """Whether its stop came before its arguments were whole, and is given when they are."""
        self.text = ""
        """Text that came inside it although it is a call."""
        self.is_call = call is not None and call.kind is Kind.FUNCTION
        self._spelling = Spelling(mender.on)
        self.told: Told | None = None
        """What the client is to be told for the last delta; may still change while that waits."""
        self.given = False
        """Whether the client has been given anything of the arguments."""
        self.prefilled: str | None = None
        """Arguments that its start said, and was made to leave to a delta."""
        self.id = call.id if call else ""

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of it but its stop."""
        if not self.is_call or self.call is None:
            return True
        may_be_empty = self._mender.context.may_be_empty(self.call.name)
        return self._spelling.whole or self.call.whole(may_be_empty=may_be_empty)

    @property
    def finished(self) -> bool:
        """Whether it can be stopped without more ado: it is no call, or its arguments have come and are whole."""
        return not self.is_call or (self.call is not None and not self.call.arguments.empty and self.whole)

    @property
    def waiting(self) -> bool:
        """Whether a first `{}` may turn out to stand for what follows."""
        return self._spelling.waiting

    def settle(self) -> None:
        """Nothing follows that could change what waits."""
        self._spelling.settle(self.judge)

    def says(self, name: str, arguments: str) -> bool:
        """Whether it is this very call."""
        if self.call is None or self.call.name != name:
            return False
        mine = self.call.arguments
        return same_arguments(self.prefilled or "{}" if mine.empty else mine.reading()[0], arguments)

    def judge(self, row: Row, message: str) -> bool:
        """Tell a defect of this call at the event that is looked at."""
        return self._mender.tell(row, self._mender.number, message, self.call)

    def header(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The start event as the client is to get it."""
        content = dict(self.content)
        if self.is_call and self.call is not None:
            self._identify(content, self.call)
            self._empty(content)
        if content == self.content and not self.moved:
            return payload
        changed = {**payload, "content_block": content}
        return {**changed, "index": self.place} if self.moved else changed

    def delta(self, payload: dict[str, Json]) -> dict[str, Json]:
        """A delta as the client is to get it."""
        changed = {**payload, "index": self.place} if self.moved else payload
        delta = payload.get("delta")
        if not self.is_call or not isinstance(delta, dict) or "partial_json" not in delta:
            return changed
        said = delta["partial_json"]
        if not isinstance(said, str):
            text = encoded(said).decode()
            if said is None or not self.judge(OBJECT_ARGUMENTS, f"partial_json is no text, but {type(said).__name__}"):
                return changed
        else:
            text = said
        may_wait = self.call is not None and not self._mender.context.takes_none(self.call.name)
        self.told = self._spelling.take(text, self.judge, may_wait=may_wait)
        self.given = self.given or bool(self.told.text.strip())
        if self.told.text == said:
            return changed
        return {**changed, "delta": {**delta, "partial_json": self.told.text}}

    @property
    def amid(self) -> bool:
        """Whether plain text in the midst of its arguments goes on as it is."""
        return self.is_call and self._spelling.amid

    def went_by(self, text: str, last: str) -> None:
        """Take fragments that went on as they are; as `Spelling.went_by`."""
        self.given = True
        self._spelling.went_by(text, last)

    def said(self, arguments: str) -> dict[str, Json]:
        """A new delta of it."""
        delta = {"type": "input_json_delta", "partial_json": arguments}
        return {"type": "content_block_delta", "index": self.place if self.moved else self.index, "delta": delta}

    @property
    def stopped(self) -> dict[str, Json]:
        """A new event that stops it."""
        return {"type": "content_block_stop", "index": self.place if self.moved else self.index}

    def rest(self) -> list[str]:
        """What is still to be said of the arguments before the stop."""
        if not self.is_call or self.call is None:
            return []
        rest = self._spelling.rest()
        if rest:
            return [rest]
        if self.given:
            return []
        if self.prefilled is not None:
            return [self.prefilled]
        nothing = self.call.arguments.empty and self.call.start_input is None
        if nothing and not self._mender.context.may_be_empty(self.call.name):
            self.judge(LOST_ARGUMENTS, f"{self.call.name} has required parameters and got no arguments")
        return []

    def _identify(self, content: dict[str, Json], call: OpenCall) -> None:
        mender = self._mender
        if not known(content.get("id")):
            mend = self.judge(MISSING_ID, "the block starts without an id")
        else:
            others = [other for other in mender.blocks if other is not self and other.call and other.id == call.id]
            mend = bool(others) and self.judge(DUPLICATE_ID, f"id {call.id} is that of another call")
        if mend:
            self.id = content["id"] = mender.context.ids.make("toolu_")
        if call.id in mender.earlier_ids:
            self.judge(REUSED_ID, f"id {call.id} was that of a call of an earlier turn")
        if call.id and not _USUAL_ID.fullmatch(call.id):
            self.judge(ODD_ID, f"the id has {len(call.id)} characters, or some that other APIs refuse")
        if not call.name:
            self.judge(MISSING_NAME, "the call has no name")
            return
        plain = plain_name(call.name, mender.context.schemas)
        if plain != call.name and self.judge(DECORATED_NAME, f"the name is {call.name!r}, the tool is {plain}"):
            content["name"] = plain

    def _empty(self, content: dict[str, Json]) -> None:
        """The input of a start is `{}`; what more it says comes in a delta."""
        if content.get("input") in (None, ""):
            if self.judge(MISSING_INPUT, "the block starts without input"):
                content["input"] = {}
        elif content["input"] != {} and self.judge(PREFILLED_ARGUMENTS, "the block starts with its arguments"):
            said = content["input"]
            content["input"] = {}
            self.prefilled = said if isinstance(said, str) else encoded(said).decode()
