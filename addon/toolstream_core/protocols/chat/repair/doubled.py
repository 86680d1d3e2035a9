"""Chat Completions calls that were dropped because they say an earlier call again, and that are sent after all.

Whether a call repeats another is decided as soon as both are whole. If arguments follow for one of the two later, the
client has one call that is spoilt, and lacks the one that is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.identity import DOUBLED_CALL
from toolstream_core.model import Fragment
from toolstream_core.protocols.chat.repair.edits import edited
from toolstream_core.protocols.chat.repair.identity import Identity

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.waiting import Part
    from toolstream_core.wire.frame import Frame


class DoubledCalls:
    """Those of one stream."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream
        self._identity = Identity(stream)

    def drop(self, part: Part) -> None:
        """An entry of a call that says its `twin` again is not sent."""
        client_call = part.client_call
        client_call.dropped = (client_call.dropped or "") + part.emitted.text
        if client_call.twin is not None:
            client_call.twin.again = client_call

    def sent_after_all(self, client_call: ClientCall, number: int) -> list[Frame]:
        """The dropped call, where event `number` spoils `client_call`: it is that call, or the one that it repeated."""
        again = client_call.again if client_call.spelling.spoilt else None
        if client_call.dropped is not None and not client_call.doubled:
            again = client_call
        if again is None or again.dropped is None:
            return []
        text, again.dropped, again.twin, client_call.again = again.dropped, None, None, None
        self._stream.reporter.because(DOUBLED_CALL)
        call, choice = again.call, self._stream.choice_of(again)
        again.event, again.has_arguments = number, bool(text)
        fragment = Fragment(call.choice, call.index, call.id, name=call.name, type="function")
        entry: dict[str, Json] = {"index": call.index, "id": call.id, "type": "function"}
        entry["function"] = {"name": call.name, "arguments": text}
        edits = self._identity.header(choice, again, fragment, call.index)
        return [self._stream.delta(again.choice, {"tool_calls": [edited(entry, edits)]}, number=number)]
