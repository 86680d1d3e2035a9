"""One content block as the client is told it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls import known
from toolstream_core.calls.blocks import says_nothing
from toolstream_core.calls.json_text import is_object, meaning
from toolstream_core.defects.framing import MISSING_INPUT
from toolstream_core.defects.menders.anthropic_events import index_of
from toolstream_core.defects.menders.anthropic_identity import identify
from toolstream_core.defects.menders.spelling import Spelling
from toolstream_core.defects.wording import LOST_ARGUMENTS, OBJECT_ARGUMENTS, PREFILLED_ARGUMENTS
from toolstream_core.model import ABSENT, Kind
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.anthropic_blocks import BlocksMender as AnthropicMender
    from toolstream_core.defects.menders.anthropic_waiting import Inside
    from toolstream_core.defects.menders.told import Told
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json, Seen

type Payload = dict[str, Json]


class Block:
    """A content block of any kind; `place` is where the client gets it."""

    _made_id = ""
    """The id that the client knows, where it was made up."""
    _anew = False
    """Whether it was started once more behind arguments, which do not count any longer."""

    claimed = False
    """Whether its arguments came under an index that is not its own."""
    _type: Seen[Json] = ABSENT
    """The type of the delta that first brought arguments."""
    _mixed = False
    """Whether others are of another type: clients read only one of the two, so these go on as they came."""

    def __init__(
        self, mender: AnthropicMender, content: Payload, call: OpenCall | None, index: Json, place: int
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
        self.late = False
        """Whether arguments came behind its stop."""
        self.texts: list[Inside] = []
        """Deltas of text that came inside it although it is a call."""
        self.is_call = call is not None and call.kind is Kind.FUNCTION
        self.given_id = known(content.get("id")) if self.is_call else ""
        """The id that the provider gave it."""
        self.name = known(content.get("name"))
        self._spelling = Spelling(mender.on)
        self._respelt = False
        """Whether the client was told anything else of its arguments than what came."""
        self.told: Told | None = None
        """What the client is to be told for the last delta; may still change while that waits."""
        self.given = False
        """Whether the client has been given anything of the arguments."""
        self.prefilled: str | None = None
        """Arguments that its start said, and was made to leave to a delta."""

    def begin_anew(self) -> None:
        """Its start goes on once more: clients forget what came of its arguments."""
        self._anew, self.given, self.prefilled = True, False, None
        self._spelling = Spelling(self._mender.on)

    @property
    def begun(self) -> bool:
        """Whether it is not over: open, or stopped by us alone and not whole as it came."""
        return self.open or (self.closed_early and self.call is not None and not self.call.whole())

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of it but its stop; of what is no call nobody can tell."""
        if self.call is None or self._anew:
            return self.call is None or self._spelling.whole
        may_be_empty = self._mender.context.may_be_empty(self.call.name)
        return self._spelling.whole or self.call.whole(may_be_empty=may_be_empty)

    @property
    def runnable(self) -> bool:
        """Whether it is whole, and its arguments are an object; costs as much as they are long.

        A `{}` behind which no stop came may stand for arguments that did not come.
        """
        call = self.call
        if call is None or self.late or self._mixed or not self.whole or self._spelling.spoilt:
            return False
        if call.arguments.empty:
            return True
        if self._respelt and self._spelling.whole:
            return call.closed or call.whole()
        said = call.arguments.reading()[0]
        if says_nothing(said) and not call.over:
            return self._mender.context.takes_none(call.name)
        return said.lstrip().startswith("{") and is_object(said)

    @property
    def finished(self) -> bool:
        """Whether it can be stopped without more ado: it is no call, or its arguments have come and are whole."""
        return self.call is None or (not self.call.arguments.empty and self.whole)

    @property
    def waiting(self) -> bool:
        """Whether a first `{}` may turn out to stand for what follows."""
        return self._spelling.waiting

    @property
    def placeholder(self) -> bool:
        """Whether it is a first `{}` that waits so."""
        return self._spelling.placeholder

    def has(self, index: int | None) -> bool:
        """Whether the wire started it at this index."""
        return index_of({"index": self.index}) == index

    def settle(self) -> None:
        """Nothing follows that could change what waits."""
        self._spelling.settle(self.judge)

    def says(self, name: str, means: str) -> bool:
        """Whether it is this very call, with arguments that mean this, and whole: else what says it again is better."""
        mistyped = self._mixed or self._type not in (ABSENT, "input_json_delta")  # which not every client reads
        if self.call is None or self.name != name or self.late or mistyped:
            return False
        if not self.call.whole(may_be_empty=self._mender.context.may_be_empty(name)):
            return False
        arguments = self.call.arguments
        return (arguments.meaning if arguments.whole else meaning(self.call.meant()[0])) == means

    def judge(self, row: Row, message: str) -> bool:
        """Tell a defect of this call at the event that is looked at."""
        return self._mender.tell(row, self._mender.number, message, self.call)

    def moved_to_place(self, payload: Payload) -> Payload:
        """An event of it under the index that the client knows."""
        return {**payload, "index": self.place} if self.moved else payload

    def header(self, payload: Payload) -> Payload:
        """The start event as the client is to get it."""
        content = dict(self.content)
        if self.is_call:
            self._made_id = identify(self, self._mender, content)
            self._empty(content)
        if content == self.content and not self.moved:
            return payload
        return self.moved_to_place({**payload, "content_block": content})

    def header_again(self, payload: Payload) -> Payload:
        """A start event that comes again, under the id that the client knows."""
        moved, content = self.moved_to_place(payload), payload.get("content_block")
        if not (self._made_id and isinstance(content, dict)):
            return moved
        return {**moved, "content_block": {**content, "id": self._made_id}}

    def delta(self, payload: Payload) -> Payload:
        """A delta as the client is to get it."""
        changed = self.moved_to_place(payload)
        delta = payload.get("delta")
        if not self.is_call or not isinstance(delta, dict) or "partial_json" not in delta:
            return changed
        said = delta["partial_json"]
        if self._is_of_another_type(delta):
            self.settle()
            return changed
        if not isinstance(said, str):
            text = encoded(said).decode()
            if said is None or not self.judge(OBJECT_ARGUMENTS, f"partial_json is no text, but {type(said).__name__}"):
                return changed
            if not isinstance(said, dict):
                return changed
        else:
            text = said
        told = self.take(text)
        if told == said:
            return changed
        self._respelt = True
        return {**changed, "delta": {**delta, "partial_json": told}}

    def _is_of_another_type(self, delta: Payload) -> bool:
        """Whether a delta says arguments, and those before it came in deltas of another type."""
        kind, said = delta.get("type"), delta["partial_json"]
        if said is None or said == "":
            return False
        self._type = kind if self._type is ABSENT else self._type
        self._mixed = self._mixed or bool(kind != self._type)
        return bool(kind != self._type)

    def take(self, text: str) -> str:
        """What the client is to be told for the next piece of its arguments, unless that still waits."""
        may_wait = self.call is not None and not self._mender.context.takes_none(self.call.name)
        self.told = self._spelling.take(text, self.judge, may_wait=may_wait)
        self.given = self.given or bool(self.told.text.strip())
        self._respelt = self._respelt or self.told.text != text
        return self.told.text

    @property
    def takes_any(self) -> bool:
        """Whether pieces of its arguments may go by unseen, and be taken later."""
        return self.is_call and self._spelling.decided and not self.stop_owed and not self._mixed

    @property
    def amid(self) -> bool:
        """Whether plain text in the midst of its arguments goes on as it is."""
        return self.is_call and self._spelling.amid and not self._mixed

    def went_by(self, text: str, last: str) -> None:
        """Take fragments that went on as they are; as `Spelling.went_by`."""
        went = self._spelling.went_by(text, last)
        self.given = self.given or bool(went)

    def said(self, arguments: str) -> Payload:
        """A new delta of it, of the type of the others."""
        kind = "input_json_delta" if self._type is ABSENT else self._type
        delta = {"partial_json": arguments} if kind is None else {"type": kind, "partial_json": arguments}
        return {"type": "content_block_delta", "index": self.place if self.moved else self.index, "delta": delta}

    @property
    def stopped(self) -> Payload:
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

    def kept(self) -> list[str]:
        """What was kept back of the arguments of a block that nothing stops."""
        rest = self._spelling.rest() if self.is_call else ""
        if not (self.given or rest) and self.prefilled is not None:
            self.given = True
            return [self.prefilled]
        return [rest] if rest else []

    def owed(self, taken: Json) -> list[Payload]:
        """What was taken out of its events, or kept, and has not been said: after a bug of ours.

        What the event with the payload `taken` says is not owed: that event itself goes on as it came.
        """
        again = taken if isinstance(taken, dict) else {}
        started = self.content is again.get("content_block")
        said = [self.said(self.prefilled)] if self.prefilled is not None and not self.given and not started else []
        inside = [one.payload for one in self.texts if one.payload["delta"] is not again.get("delta")]
        texts = [self.moved_to_place({"type": "content_block_delta", **one}) for one in inside]
        return [*said, *texts, *([self.stopped] if self.stop_owed else [])]

    def _empty(self, content: Payload) -> None:
        """The input of a start is `{}`; what more it says comes in a delta."""
        said = content.get("input")
        if said is None or (isinstance(said, str) and says_nothing(said)):
            if self.judge(MISSING_INPUT, "the block starts without input"):
                content["input"] = {}
        elif said != {} and self.judge(PREFILLED_ARGUMENTS, "the block starts with its arguments"):
            content["input"] = {}
            self.prefilled = said if isinstance(said, str) else encoded(said).decode()
