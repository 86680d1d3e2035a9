"""Sends the missing parts of a call with one of its events: the item, ids, name and arguments."""

from __future__ import annotations

import re
from typing import Final

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import is_json, is_object, same_arguments
from toolstream_core.defects.arguments import (
    EMPTY_ARGUMENTS,
    LOST_ARGUMENTS,
    MISSING_DELTAS,
    PREFILLED_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SHORT_DELTAS,
)
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.finish import REPEATED_START, REPEATED_STOP
from toolstream_core.defects.identity import (
    CUSTOM_AS_FUNCTION,
    DOUBLED_CALL,
    DUPLICATE_ID,
    ITEM_PER_FRAGMENT,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_NAMESPACE,
    MISSING_START,
    REUSED_INDEX,
)
from toolstream_core.model import ABSENT, Json, Kind
from toolstream_core.protocols.responses.repair.client import ClientItem
from toolstream_core.protocols.responses.repair.events import (
    ADDED,
    CLOSED,
    DELTA,
    DONE,
    OF_ITEM,
    as_custom,
    as_function,
)
from toolstream_core.protocols.responses.repair.intended import CallEvent, IntendedCall
from toolstream_core.protocols.responses.repair.stream import Stream
from toolstream_core.protocols.responses.repair.writer import ItemWriter
from toolstream_core.repair.fields import overlaid
from toolstream_core.repair.identity import Judge, judge_id, judge_name
from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import Payload

_USUAL_ID: Final = re.compile(r"[\w.:|-]{1,64}", re.ASCII)


class Difference:
    """Sends the missing parts of the calls of one stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._writer = ItemWriter(stream)

    def send(self, received: CallEvent, *, last: bool, closes_again: bool, is_added_later: bool) -> None:
        """Send the missing parts of a call with one of its events.

        `last`: no later event of the call waits; `closes_again`: the next event closes the call;
        `is_added_later`: a waiting event adds it.
        """
        intended, kind, repairs = received.intended, received.kind, self._stream.repairs
        if (intended.is_split and not repairs(ITEM_PER_FRAGMENT, intended)) or received.passes:
            if received.payload.get("output_index", ABSENT) is ABSENT:
                repairs(MISSING_INDEX, intended)
            self._writer.forward(received)
        elif kind == ADDED:
            self._send_added(received)
        elif (
            intended.sent is not None or self._adds(received, is_added_later=is_added_later)
        ) and not self._is_dropped(received):
            if kind == DELTA:
                self._delta(received, last=last)
            elif kind == DONE:
                self._done(received)
            elif not (closes_again and repairs(REPEATED_STOP, intended)):
                self._close(received)

    def _send_added(self, received: CallEvent) -> None:
        if received.intended.sent is None:
            self._stream.send_for(received, self._added(received))
            self._send_early(received.intended)
        else:
            self._added_again(received)

    def _adds(self, received: CallEvent, *, is_added_later: bool) -> bool:
        """Add an item that no event added. Returns `False` if the event needs no further handling."""
        intended = received.intended
        if not self._stream.repairs(MISSING_START, intended):
            intended.passed = True
            self._writer.forward(received)
            return False
        if received.kind == DELTA and is_added_later:
            intended.early.append(received)
            return False
        self.put_added(intended, json_access.get(received.payload, "item"), MISSING_START, received)
        return True

    def _is_dropped(self, received: CallEvent) -> bool:
        """Whether an event is dropped: its item repeats the call, or the call is sent as a custom tool call."""
        intended = received.intended
        if received.own in intended.copies and self._stream.repairs(DOUBLED_CALL, intended):
            return True
        return intended.is_converted and self._stream.repairs(CUSTOM_AS_FUNCTION, intended)

    def _send_early(self, intended: IntendedCall) -> None:
        """Send the deltas that arrived before the event that adds their item."""
        sent, early = intended.sent, intended.early
        text = "".join(received.delta for received in early)
        if not text or sent is None or not self.reading(intended).startswith(text):
            return
        self._stream.attribute_to(MISSING_START)
        self._stream.client.renumber()
        for received in early:
            self._writer.send(received, sent.delta(received.delta))
        sent.text.add(text, intended.arguments)
        intended.early = []

    # -- its place, its ids and its name

    def _added(self, received: CallEvent) -> Payload:
        """The event to send that adds the item."""
        intended, payload = received.intended, received.payload
        place, why = self._place(intended, payload.get("output_index"))
        if why is not None and not self._stream.repairs(why, intended):
            place, why = place if why is MISSING_INDEX else int(payload["output_index"]), None
        item = payload.get("item")
        sent = self._identify(intended, item, place, why)
        self._stream.client.open_text.clear()
        wanted = sent.fields("")
        if not isinstance(item, dict) or item.get("arguments") in ("", None) or "arguments" not in item:
            del wanted["arguments"]
        out = self._writer.written(received, {"output_index": place, **wanted}, OF_ITEM)
        if "arguments" in wanted and out["item"]["arguments"] == "":
            sent.why["arguments"] = PREFILLED_ARGUMENTS
        sent.content = dict(out["item"]) if isinstance(out.get("item"), dict) else {}
        return out

    def put_added(self, intended: IntendedCall, item: Json, defect: Defect, received: CallEvent | None = None) -> None:
        """Send an event that adds the item, because of `defect`."""
        sent = self.adopt(intended, item, defect)
        intended.defect = sent.why["added"] = defect
        if received is not None and received.payload.get("output_index") != sent.place:
            sent.why.setdefault("output_index", defect)
        self._stream.put(sent.adding(), intended.call)

    def adopt(self, intended: IntendedCall, item: Json, defect: Defect) -> ClientItem:
        """Create the client's item of a call that no event added."""
        place, why = self._place(intended, intended.call.index)
        sent = self._identify(intended, item, place, None if why is None else defect)
        self._stream.client.open_text.clear()
        return sent

    def _added_again(self, received: CallEvent) -> None:
        """Handle an event that adds an item again."""
        intended, payload = received.intended, received.payload
        sent = intended.item
        own = json_access.get(payload, "item", "id")
        if own == sent.id and (why := sent.why.pop("added", None)) is not None:
            drop = self._stream.repairs(why, intended)
        elif own == sent.id and not (sent.closed or intended.is_split):
            drop = self._stream.repairs(REPEATED_START, intended)
        elif intended.is_split:
            drop = self._stream.repairs(ITEM_PER_FRAGMENT, intended)
            sent.closed = sent.done = False
        else:
            drop = self._stream.repairs(DOUBLED_CALL, intended)
        if not drop:
            self._stream.send_for(received, payload)

    def _identify(self, intended: IntendedCall, item: Json, place: int, moved: Defect | None) -> ClientItem:
        """Create the client's item of a call: decide its ids and name."""
        stream, call = self._stream, intended.call
        own = json_access.get(item, "id")
        prefix = "fc_" if call.kind is Kind.FUNCTION else "ctc_"
        item_id = own if isinstance(own, str) and own else call.item_id or stream.context.ids.make(prefix)
        sent = intended.sent = ClientItem(intended.arguments, place, item_id, call, is_named=stream.realtime)
        sent.content = dict(item) if isinstance(item, dict) else {}
        others = {
            one.sent.call_id for one in stream.calls.by_key.values() if one.sent is not None and one is not intended
        }
        if not nonblank(call.id) or (call.id in others and intended.is_duplicate is not True):
            defect = MISSING_ID if not nonblank(call.id) else DUPLICATE_ID
            if self._stream.repairs(defect, intended):
                sent.call_id, sent.why["call_id"] = stream.context.ids.make("call_"), defect

        def judge(defect: Defect, message: str) -> bool:
            return stream.repairs(defect, intended, message)

        judge_id(call.id, stream.context, judge, _USUAL_ID)
        self._name_tool(sent, item, judge)
        stream.client.take_place(place, call)
        intended.passed = False
        if moved is not None:
            sent.why["output_index"] = stream.client.moved[place] = moved
            if isinstance(call.index, int):
                stream.client.moved[call.index] = moved
        return sent

    def _name_tool(self, sent: ClientItem, item: Json, judge: Judge) -> None:
        """Decide the name and the namespace of the called tool."""
        stream, name = self._stream, sent.name
        own = nonblank(json_access.text(json_access.get(item, "namespace")))
        fitting = self._fitting(name, own)
        if not fitting and (plain := judge_name(name, stream.context.schemas, judge)) != name:
            name, fitting = plain, self._fitting(plain, own)
        tool = fitting[0] if len(fitting) == 1 else (name, own)
        known = tool[0] == name  # Without an item, the event that closes it has the namespace, or lacks it too.
        if fitting and (isinstance(item, dict) or not known):
            spaces = " and of ".join(sorted(namespace or "no namespace" for _, namespace in fitting))
            known = judge(MISSING_NAMESPACE, f"{name} is a tool of {spaces}")
        sent.name, sent.namespace = tool if known else (name, "")
        if own and fitting and known and not sent.namespace:
            sent.namespace = ABSENT
        if sent.name != name:
            sent.why["name"] = MISSING_NAMESPACE

    def _fitting(self, name: str, own: str) -> list[tuple[str, str]]:
        """The tools of namespaces that a call may mean; a session of Realtime has none."""
        return [] if self._stream.realtime else self._stream.calls.in_namespaces(name, own)

    def _place(self, intended: IntendedCall, index: object) -> tuple[int, Defect | None]:
        """The `output_index` for a new item, and the defect if it differs from the received one."""
        client = self._stream.client
        place = json_access.integer(index)
        if not isinstance(place, int):
            return client.free, MISSING_INDEX
        if place in client.calls_by_place:
            return client.free, REUSED_INDEX
        joined = any(one.is_split for one in self._stream.calls.by_key.values())
        return (client.free, ITEM_PER_FRAGMENT) if joined and place > client.free else (place, None)

    # -- arguments

    def reading(self, intended: IntendedCall, *, final: bool = False) -> str:
        """The intended arguments so far, without deviations whose repair is off."""
        reading = intended.reading(final=final or intended.call.ended)
        intended.defect = None
        if reading.defect is None:
            return reading.text
        raw = intended.call.arguments.text()
        repairs = self._stream.repairs(reading.defect, intended)
        if not repairs or reading.text == raw:
            return raw
        intended.defect = reading.defect
        return reading.text

    def _delta(self, received: CallEvent, *, last: bool) -> None:
        """Send a delta with the intended arguments that the client lacks."""
        intended, sent = received.intended, received.intended.item
        if sent.closed or sent.done:
            self._writer.forward(received)
        elif last and received.delta and intended.is_in_step(received.delta):
            sent.text.grow(len(received.delta))
            self._writer.send(received, sent.delta(received.delta))
        elif (
            not (received.delta or isinstance(received.payload.get("delta"), str))
            or (text := self._intended(received, sent)) is None
        ):
            self._writer.forward(received)
        else:
            more = self._more(received, sent, text, last=last)
            if not more and received.delta:
                intended.defect = intended.defect or (ITEM_PER_FRAGMENT if intended.is_split else REPLAYED_ARGUMENTS)
                more = "" if self._stream.repairs(intended.defect, intended) else received.delta
            self._put_delta(received, sent, more)

    def _intended(self, received: CallEvent, sent: ClientItem) -> str | None:
        """The intended arguments so far; `None` if they are unknown or contradict those that were sent."""
        intended = received.intended
        if sent.text.diverged or intended.reader.is_too_long:
            sent.text.diverged = True
            return None
        text, given = self.reading(intended), sent.text.text
        ahead = text and given.startswith(text)  # it also has text that may be replaced
        sent.text.diverged = not (ahead or text.startswith(given))
        return None if sent.text.diverged else text

    @staticmethod
    def _more(received: CallEvent, sent: ClientItem, text: str, *, last: bool) -> str:
        """The intended text to send at an event: its own part, or all missing text if no event of the call waits."""
        if text.startswith(received.delta, sent.text.size):
            return received.delta
        return text[sent.text.size :] if last else ""

    def _put_delta(self, received: CallEvent, sent: ClientItem, more: str) -> None:
        intended, delta = received.intended, received.payload.get("delta")
        out = self._writer.written(received, sent.delta(more))
        shown = out.get("delta") == more or intended.defect is not None or "arguments" in sent.why
        sent.text.add(more if shown or not isinstance(delta, str) else delta, intended.arguments)
        self._stream.send_for(received, out)

    def send_missing(self, intended: IntendedCall, text: str) -> bool:
        """Send a delta with the missing part of the complete arguments. Returns whether one was needed."""
        sent = intended.item
        given = sent.text.text
        if given == text or sent.closed or sent.done or intended.reader.is_too_long:
            return False
        if sent.text.diverged or not text.startswith(given):
            sent.text.diverged = True
            if not same_arguments(text, given):
                self._stream.repairs(
                    SHORT_DELTAS, intended, "the deltas have other arguments than the event after them"
                )
            return False
        if (prefilled := sent.why.get("arguments")) is not None:
            self._stream.attribute_to(prefilled)
        lacking, sends = text[len(given) :], True
        if intended.defect is not None:
            self._stream.attribute_to(intended.defect)
        else:
            sends = self._stream.repairs(SHORT_DELTAS if given else MISSING_DELTAS, intended)
        if sends:
            self._stream.put(sent.delta(lacking), intended.call)
        sent.text.add(lacking, intended.arguments)
        return sends

    def _arguments_text(self, intended: IntendedCall, received: object) -> str:
        """The complete intended arguments; empty or overlong arguments as they were received."""
        if intended.call.arguments.empty or intended.reader.is_too_long:
            return received if isinstance(received, str) else ""
        held = intended.defect
        text = self.reading(intended, final=True)
        intended.defect = intended.defect or held
        return text

    def _object_for_nothing(self, intended: IntendedCall, received: object) -> str:
        """The `{}` that a closed call of a function without arguments gets; `""` if it gets none."""
        call, sent = intended.call, intended.item
        closed = call.closed and intended.added and not (call.cut or intended.is_split)
        if received != "" or not (closed and call.arguments.empty and call.name) or call.kind is not Kind.FUNCTION:
            return ""
        if not self._stream.context.may_be_empty(call.name) or (sent.done and sent.final != "{}"):
            return ""
        if not self._stream.repairs(EMPTY_ARGUMENTS, intended):
            return ""
        intended.defect = EMPTY_ARGUMENTS
        return "{}"

    def _done(self, received: CallEvent) -> None:
        """Send the event with the complete arguments."""
        intended, arguments = received.intended, received.payload.get("arguments")
        sent = intended.item
        text = self._object_for_nothing(intended, arguments) or self._arguments_text(intended, arguments)
        if sent.closed and isinstance(arguments, str) and arguments and not same_arguments(arguments, sent.final):
            self._writer.forward(received)
            return
        if (
            intended.is_split
            and not self._stream.calls.is_complete(intended)
            and self._stream.repairs(ITEM_PER_FRAGMENT, intended)
        ):
            return
        self.send_missing(intended, text)
        sent.done, sent.final = True, text
        self._writer.send(received, sent.arguments_done(text))

    def _close(self, received: CallEvent) -> None:
        """Send the event that closes the item."""
        stream, intended, payload = self._stream, received.intended, received.payload
        sent, item = intended.item, payload.get("item")
        arguments = json_access.get(item, "arguments")
        text = str(arguments or "")
        if sent.closed and (not text or same_arguments(text, sent.final) or not is_object(text)):
            if not self._stream.repairs(REPEATED_STOP, intended):
                stream.send_for(received, payload)
            return
        if sent.closed:
            self._writer.forward(received)
            return
        if intended.is_split and not stream.calls.is_complete(intended) and not intended.call.ended:
            if not self._stream.repairs(ITEM_PER_FRAGMENT, intended):
                stream.send_for(received, payload)
            return
        text = self._object_for_nothing(intended, arguments) or self._arguments_text(intended, arguments)
        # An earlier closing event of a split item had only its fragment.
        lacks_whole = self.send_missing(intended, text) or intended.is_split
        if lacks_whole and not sent.done and (is_json(text) or intended.call.kind is Kind.CUSTOM):
            stream.put(sent.arguments_done(text), intended.call)
            sent.done = True
        call = intended.call
        if call.arguments.empty and not (call.cut or stream.context.may_be_empty(call.name)):
            self._stream.repairs(LOST_ARGUMENTS, intended, f"{call.name} has required parameters and got no arguments")
        wanted: Payload = {"output_index": sent.place, **sent.fields(text)}
        out = self._writer.written(received, wanted, OF_ITEM)
        self.closes(intended, out.get("item"), text)
        stream.send_for(received, out)

    def closes(self, intended: IntendedCall, item: Json, text: str) -> None:
        """Note that the closing event of a call is sent."""
        sent = intended.item
        sent.content = dict(item) if isinstance(item, dict) else {}
        if intended.reader.is_too_long:  # longer text is not kept
            text = sent.content["arguments"] = ""
        sent.closed, sent.final = True, text
        content = as_custom(sent.content) if sent.is_custom else sent.content
        self._stream.client.closed[sent.place] = content if isinstance(item, dict) else item

    def put_end(self, intended: IntendedCall, status: Json = "completed") -> None:
        """Send everything that the client lacks of a complete call."""
        stream = self._stream
        sent = intended.item
        text = self._arguments_text(intended, "")
        if (arguments := intended.call.arguments).empty:
            may_be_empty = stream.context.may_be_empty(intended.call.name)
            text = sent.final if sent.done else arguments.reading(may_be_empty=may_be_empty)[0]
        self.send_missing(intended, text)
        if not sent.done:
            stream.put(sent.arguments_done(text), intended.call)
        event = sent.closing(text, status)
        sent.done = True
        self.closes(intended, event["item"], text)
        stream.put(event, intended.call)

    # -- fields

    def keep(self, intended: IntendedCall, item: Payload) -> Payload:
        """An item of the completed response, with the values that were sent."""
        sent = intended.item
        if intended.is_converted:
            return as_custom(sent.content)
        custom = as_function(item) if intended.call.kind is Kind.CUSTOM else None
        received = custom or item
        text = sent.final if sent.closed else self._arguments_text(intended, received.get("arguments"))
        wanted = sent.fields(text)
        if intended.reader.is_too_long:
            del wanted["arguments"]
        kept = overlaid(received, wanted, lambda one: self._writer.repairs_field(one, CLOSED, intended))
        if kept is received:
            return item
        return kept if custom is None else as_custom(kept)
