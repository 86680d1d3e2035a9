"""What goes on of a Messages stream, event by event, and what an event says of its block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.blocks import NOBODYS
from toolstream_core.defects.framing import MISSING_EVENT_NAME
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.wire import look

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.menders.anthropic_block import Block
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame

NAMED: Final = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    }
)

type Payload = dict[str, Json]


class EventsMender(Mender):
    """Lets events go on, each with its name and its end."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.context = context
        self.number = 0
        """The event that is looked at."""
        self._out: list[Frame] = []
        """What goes on for it."""

    def put(self, payload: Payload, frame: Frame | None = None) -> None:
        """Let an event go on: `frame` with another payload, or a new one."""
        name = str(payload.get("type", ""))
        if frame is None:
            self._go(self.context.writer.make(payload, self.number, name))
        else:
            other = name if frame.name != name and name in NAMED else None
            self._go(self.context.writer.rewrite(frame, payload, other))

    def flush_texts(self, block: Block) -> None:
        """Say the text that came inside a call where it came, before whatever follows that."""
        texts, block.texts = block.texts, []
        for frame, payload in texts:
            moved = block.moved_to_place(payload)
            self._pass(frame, payload, moved if "type" in payload else {"type": "content_block_delta", **moved})

    def _go(self, frame: Frame) -> None:
        """Let a frame go on; one before it that lacked its end gets it."""
        if self._out and self._out[-1].trailing:
            self._out[-1] = self.context.writer.ended(self._out[-1])
        self._out.append(frame)

    def _pass(self, frame: Frame, payload: Payload, changed: Payload) -> None:
        """Let an event go on, as it is where nothing in it changes."""
        kind = payload.get("type")
        nameless = not frame.name and isinstance(kind, str) and kind in NAMED and b"data:" in frame.raw
        if nameless and self.tell(MISSING_EVENT_NAME, frame.number, "the event has no event line"):
            self.put({**changed}, frame)
        elif changed is payload:
            self._go(frame)
        else:
            self._go(self.context.writer.rewrite(frame, changed))


def index_of(payload: Payload) -> int | None:
    """The wire's index of a block, by which its events are known: a number in any spelling, all else says nothing."""
    number = look.integer(payload.get("index"))
    return number if isinstance(number, int) else None


def set_apart(payload: Payload) -> Payload:
    """An event of a block that nobody started, under an index that no block gets."""
    index = index_of(payload)
    if index is None or index < 0:
        return {**payload, "index": 2 * NOBODYS - (index or 0)}
    return payload if index >= NOBODYS else {**payload, "index": NOBODYS + index}


def is_text(payload: Payload) -> bool:
    """Whether an event is a delta of text."""
    delta = payload.get("delta")
    return look.get(delta, "type") == "text_delta" and isinstance(look.get(delta, "text"), str)


def is_begun(call: OpenCall) -> bool:
    """Whether nothing has come of a call's arguments, or no more than their begin."""
    return call.arguments.empty or call.arguments.half


def adds(content: Payload, payload: Payload) -> bool:
    """Whether a start that comes again says anything that the first one, with `content`, did not."""
    again = payload.get("content_block")
    if not isinstance(again, dict):
        return True
    other = {key: value for key, value in again.items() if value != content.get(key)}
    return bool(other.keys() - {"input"}) or other.get("input") not in (None, "", {})
