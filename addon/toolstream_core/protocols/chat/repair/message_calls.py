"""Chat Completions calls that only a message says: they are streamed to the client before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.finish import UNSTREAMED_CALLS
from toolstream_core.defects.identity import DUPLICATE_ID
from toolstream_core.protocols.chat.edit import continuation

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.waiting import Part, Waiting
    from toolstream_core.wire.frame import Frame


class MessageCalls:
    """The calls that the messages of one stream say."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream

    def unstreamed(self, waiting: Waiting, in_message: list[Part]) -> list[Frame]:
        """Calls that only a message says, whole or piece by piece, as deltas before it; `in_message`: its entries."""
        out: list[Frame] = []
        for part in in_message:
            client_call = part.client_call
            if client_call.streamed or client_call.nothing or client_call.doubled:
                continue
            if client_call.has_header and _is_corrected(client_call):
                continue
            number = waiting.frame.number
            opens, client_call.has_header = not client_call.has_header, True
            if opens:
                client_call.index = part.choice.indexes.unused
                part.choice.indexes.take(client_call.index, client_call)
            message = "the call comes in a message only"
            if not self._stream.reporter.report(UNSTREAMED_CALLS, number, message, client_call.call):
                continue
            waiting.moved[part.fragment.choice] = not self._stream.may_have_text
            if opens or part.emitted.text:
                entry = self._header(part) if opens else continuation(client_call.index, part.emitted.text)
                out.append(self._stream.delta(client_call.choice, {"tool_calls": [entry]}, number=number))
        return out

    def _header(self, part: Part) -> dict[str, Json]:
        """The header of a call that a message says."""
        client_call = part.client_call
        client_call.id = self._own_id(part.choice, client_call)
        client_call.name = client_call.tool
        client_call.has_arguments = client_call.has_arguments or bool(part.emitted.text)
        function = {"name": client_call.name, "arguments": part.emitted.text}
        return {"index": client_call.index, "id": client_call.id, "type": "function", "function": function}

    def _own_id(self, choice: Choice, client_call: ClientCall) -> str:
        """The call's id; one that is made up where it has none, or another call's."""
        call, ids = client_call.call, choice.ids
        if not call.id or (call.id in ids and client_call.judge(DUPLICATE_ID, f"id {call.id} is that of another call")):
            return self._stream.context.ids.make("call_")
        ids.setdefault(call.id, client_call)
        return call.id


def _is_corrected(client_call: ClientCall) -> bool:
    """Whether a message says other arguments than the pieces that the client has, so that it has to stay."""
    given = client_call.spelling
    return client_call.call.arguments.whole and (given.spoilt or not given.whole)
