"""Sends the missing parts of a function call with the current event: its item, ids, name and arguments."""

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
from toolstream_core.repair.fields import Payload, laid_over
from toolstream_core.repair.identity import Judge, judge_id, judge_name
from toolstream_core.wire import json_access

_USUAL_ID: Final = re.compile(r"[\w.:|-]{1,64}", re.ASCII)


class Difference:
    """Brings the client state of one stream, call by call, to the intended calls."""

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
        elif (intended.has is not None or self._adds(received, is_added_later=is_added_later)) and not self._is_dropped(
            received
        ):
            if kind == DELTA:
                self._delta(received, last=last)
            elif kind == DONE:
                self._done(received)
            elif not (closes_again and repairs(REPEATED_STOP, intended)):
                self._close(received)

    def _send_added(self, received: CallEvent) -> None:
        if received.intended.has is None:
            self._stream.send_for(received, self._added(received))
            self._send_early(received.intended)
        else:
            self._added_again(received)

    def _adds(self, received: CallEvent, *, is_added_later: bool) -> bool:
        """Whether an item without an `added` event is added now; if not, nothing is left to send."""
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
        """Whether an event is of an item that repeats the call, or of a call sent as a custom tool call."""
        intended = received.intended
        if received.own in intended.copies and self._stream.repairs(DOUBLED_CALL, intended):
            return True
        return intended.is_converted and self._stream.repairs(CUSTOM_AS_FUNCTION, intended)

    def _send_early(self, intended: IntendedCall) -> None:
        """Send the deltas that arrived before the event that adds their item."""
        has, early = intended.has, intended.early
        text = "".join(received.delta for received in early)
        if not text or has is None or not self.reading(intended).startswith(text):
            return
        self._stream.because(MISSING_START)
        self._stream.client.renumber()
        for received in early:
            self._writer.send(received, has.delta(received.delta))
        has.text.add(text, intended.arguments)
        intended.early = []

    # -- its place, its ids and its name

    def _added(self, received: CallEvent) -> Payload:
        """The event that adds the item, as it is sent."""
        intended, payload = received.intended, received.payload
        place, why = self._place(intended, payload.get("output_index"))
        if why is not None and not self._stream.repairs(why, intended):
            place, why = place if why is MISSING_INDEX else int(payload["output_index"]), None
        item = payload.get("item")
        has = self._identify(intended, item, place, why)
        self._stream.client.open_text.clear()
        wanted = has.fields("")
        if not isinstance(item, dict) or item.get("arguments") in ("", None) or "arguments" not in item:
            del wanted["arguments"]
        out = self._writer.written(received, {"output_index": place, **wanted}, OF_ITEM)
        if "arguments" in wanted and out["item"]["arguments"] == "":
            has.why["arguments"] = PREFILLED_ARGUMENTS
        has.content = dict(out["item"]) if isinstance(out.get("item"), dict) else {}
        return out

    def put_added(self, intended: IntendedCall, item: Json, defect: Defect, received: CallEvent | None = None) -> None:
        """Send an event that adds the item, because of `defect`."""
        has = self.adopt(intended, item, defect)
        intended.defect = has.why["added"] = defect
        if received is not None and received.payload.get("output_index") != has.place:
            has.why.setdefault("output_index", defect)
        self._stream.put(has.adding(), intended.call)

    def adopt(self, intended: IntendedCall, item: Json, defect: Defect) -> ClientItem:
        """Add a call to the client's items that no event added."""
        place, why = self._place(intended, intended.call.index)
        has = self._identify(intended, item, place, None if why is None else defect)
        self._stream.client.open_text.clear()
        return has

    def _added_again(self, received: CallEvent) -> None:
        """Handle an event that adds an item again."""
        intended, payload = received.intended, received.payload
        has = intended.item
        own = json_access.get(payload, "item", "id")
        if own == has.id and (why := has.why.pop("added", None)) is not None:
            drop = self._stream.repairs(why, intended)
        elif own == has.id and not (has.closed or intended.is_split):
            drop = self._stream.repairs(REPEATED_START, intended)
        elif intended.is_split:
            drop = self._stream.repairs(ITEM_PER_FRAGMENT, intended)
            has.closed = has.done = False
        else:
            drop = self._stream.repairs(DOUBLED_CALL, intended)
        if not drop:
            self._stream.send_for(received, payload)

    def _identify(self, intended: IntendedCall, item: Json, place: int, moved: Defect | None) -> ClientItem:
        """Decide the ids and the name under which the client has the call."""
        stream, call = self._stream, intended.call
        own = json_access.get(item, "id")
        prefix = "fc_" if call.kind is Kind.FUNCTION else "ctc_"
        item_id = own if isinstance(own, str) and own else call.item_id or stream.context.ids.make(prefix)
        has = intended.has = ClientItem(intended.arguments, place, item_id, call, is_named=stream.realtime)
        has.content = dict(item) if isinstance(item, dict) else {}
        others = {
            one.has.call_id for one in stream.calls.by_key.values() if one.has is not None and one is not intended
        }
        if not nonblank(call.id) or (call.id in others and intended.is_duplicate is not True):
            defect = MISSING_ID if not nonblank(call.id) else DUPLICATE_ID
            if self._stream.repairs(defect, intended):
                has.call_id, has.why["call_id"] = stream.context.ids.make("call_"), defect

        def judge(defect: Defect, message: str) -> bool:
            return stream.repairs(defect, intended, message)

        judge_id(call.id, stream.context, judge, _USUAL_ID)
        self._name_tool(has, item, judge)
        stream.client.take_place(place, call)
        intended.passed = False
        if moved is not None:
            has.why["output_index"] = stream.client.moved[place] = moved
            if isinstance(call.index, int):
                stream.client.moved[call.index] = moved
        return has

    def _name_tool(self, has: ClientItem, item: Json, judge: Judge) -> None:
        """Decide the name and the namespace of the tool that the call names."""
        stream, name = self._stream, has.name
        own = nonblank(json_access.text(json_access.get(item, "namespace")))
        fitting = self._fitting(name, own)
        if not fitting and (plain := judge_name(name, stream.context.schemas, judge)) != name:
            name, fitting = plain, self._fitting(plain, own)
        tool = fitting[0] if len(fitting) == 1 else (name, own)
        known = tool[0] == name  # Without an item, the event that closes it has the namespace, or lacks it too.
        if fitting and (isinstance(item, dict) or not known):
            spaces = " and of ".join(sorted(namespace or "no namespace" for _, namespace in fitting))
            known = judge(MISSING_NAMESPACE, f"{name} is a tool of {spaces}")
        has.name, has.namespace = tool if known else (name, "")
        if own and fitting and known and not has.namespace:
            has.namespace = ABSENT
        if has.name != name:
            has.why["name"] = MISSING_NAMESPACE

    def _fitting(self, name: str, own: str) -> list[tuple[str, str]]:
        """The tools of namespaces that a call may mean; a session of Realtime has none."""
        return [] if self._stream.realtime else self._stream.calls.in_namespaces(name, own)

    def _place(self, intended: IntendedCall, index: object) -> tuple[int, Defect | None]:
        """A place for a new item, and the defect because of which it is not the event's `output_index`."""
        client = self._stream.client
        place = json_access.integer(index)
        if not isinstance(place, int):
            return client.free, MISSING_INDEX
        if place in client.taken:
            return client.free, REUSED_INDEX
        joined = any(one.is_split for one in self._stream.calls.by_key.values())
        return (client.free, ITEM_PER_FRAGMENT) if joined and place > client.free else (place, None)

    # -- arguments

    def reading(self, intended: IntendedCall, *, over: bool = False) -> str:
        """The intended arguments so far, with the repairs that are switched on."""
        reading = intended.reading(over=over or intended.call.over)
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
        """Send a delta: the intended arguments so far, without the part that the client has."""
        intended, has = received.intended, received.intended.item
        if has.closed or has.done:
            self._writer.forward(received)
        elif last and received.delta and intended.needs(received.delta):
            has.text.grow(len(received.delta))
            self._writer.send(received, has.delta(received.delta))
        elif (
            not (received.delta or isinstance(received.payload.get("delta"), str))
            or (text := self._intended(received, has)) is None
        ):
            self._writer.forward(received)
        else:
            more = self._more(received, has, text, last=last)
            if not more and received.delta:
                intended.defect = intended.defect or (ITEM_PER_FRAGMENT if intended.is_split else REPLAYED_ARGUMENTS)
                more = "" if self._stream.repairs(intended.defect, intended) else received.delta
            self._put_delta(received, has, more)

    def _intended(self, received: CallEvent, has: ClientItem) -> str | None:
        """The intended arguments so far; `None` if they are not known or contradict what the client has."""
        intended = received.intended
        if has.text.diverged or intended.meaning.is_too_long:
            has.text.diverged = True
            return None
        text, given = self.reading(intended), has.text.text
        ahead = text and given.startswith(text)  # it also has text that may be replaced
        has.text.diverged = not (ahead or text.startswith(given))
        return None if has.text.diverged else text

    @staticmethod
    def _more(received: CallEvent, has: ClientItem, text: str, *, last: bool) -> str:
        """The part of the intended text that an event sends: its own, or the rest if no event of the call waits."""
        if text.startswith(received.delta, has.text.size):
            return received.delta
        return text[has.text.size :] if last else ""

    def _put_delta(self, received: CallEvent, has: ClientItem, more: str) -> None:
        intended, delta = received.intended, received.payload.get("delta")
        out = self._writer.written(received, has.delta(more))
        shown = out.get("delta") == more or intended.defect is not None or "arguments" in has.why
        has.text.add(more if shown or not isinstance(delta, str) else delta, intended.arguments)
        self._stream.send_for(received, out)

    def send_missing(self, intended: IntendedCall, text: str) -> bool:
        """Send a delta with the part of the complete arguments that the client lacks; whether one was needed."""
        has = intended.item
        given = has.text.text
        if given == text or has.closed or has.done or intended.meaning.is_too_long:
            return False
        if has.text.diverged or not text.startswith(given):
            has.text.diverged = True
            if not same_arguments(text, given):
                self._stream.repairs(
                    SHORT_DELTAS, intended, "the deltas have other arguments than the event after them"
                )
            return False
        if (prefilled := has.why.get("arguments")) is not None:
            self._stream.because(prefilled)
        lacking, sends = text[len(given) :], True
        if intended.defect is not None:
            self._stream.because(intended.defect)
        else:
            sends = self._stream.repairs(SHORT_DELTAS if given else MISSING_DELTAS, intended)
        if sends:
            self._stream.put(has.delta(lacking), intended.call)
        has.text.add(lacking, intended.arguments)
        return sends

    def _arguments_text(self, intended: IntendedCall, received: object) -> str:
        """The complete intended arguments; empty or overlong arguments as they were received."""
        if intended.call.arguments.empty or intended.meaning.is_too_long:
            return received if isinstance(received, str) else ""
        held = intended.defect
        text = self.reading(intended, over=True)
        intended.defect = intended.defect or held
        return text

    def _object_for_nothing(self, intended: IntendedCall, received: object) -> str:
        """The `{}` that a closed call of a function without arguments gets; `""` if it gets none."""
        call, has = intended.call, intended.item
        closed = call.closed and intended.added and not (call.cut or intended.is_split)
        if received != "" or not (closed and call.arguments.empty and call.name) or call.kind is not Kind.FUNCTION:
            return ""
        if not self._stream.context.may_be_empty(call.name) or (has.done and has.final != "{}"):
            return ""
        if not self._stream.repairs(EMPTY_ARGUMENTS, intended):
            return ""
        intended.defect = EMPTY_ARGUMENTS
        return "{}"

    def _done(self, received: CallEvent) -> None:
        """Send the event with the complete arguments."""
        intended, arguments = received.intended, received.payload.get("arguments")
        has = intended.item
        text = self._object_for_nothing(intended, arguments) or self._arguments_text(intended, arguments)
        if has.closed and isinstance(arguments, str) and arguments and not same_arguments(arguments, has.final):
            self._writer.forward(received)
            return
        if (
            intended.is_split
            and not self._stream.calls.is_complete(intended)
            and self._stream.repairs(ITEM_PER_FRAGMENT, intended)
        ):
            return
        self.send_missing(intended, text)
        has.done, has.final = True, text
        self._writer.send(received, has.arguments_done(text))

    def _close(self, received: CallEvent) -> None:
        """Send the event that closes the item."""
        stream, intended, payload = self._stream, received.intended, received.payload
        has, item = intended.item, payload.get("item")
        arguments = json_access.get(item, "arguments")
        if has.closed and (not arguments or same_arguments(str(arguments), has.final) or not is_object(str(arguments))):
            if not self._stream.repairs(REPEATED_STOP, intended):
                stream.send_for(received, payload)
            return
        if has.closed:
            self._writer.forward(received)
            return
        if intended.is_split and not stream.calls.is_complete(intended) and not intended.call.over:
            if not self._stream.repairs(ITEM_PER_FRAGMENT, intended):
                stream.send_for(received, payload)
            return
        text = self._object_for_nothing(intended, arguments) or self._arguments_text(intended, arguments)
        # An earlier closing event of a split item had only its fragment.
        lacks_whole = self.send_missing(intended, text) or intended.is_split
        if lacks_whole and not has.done and (is_json(text) or intended.call.kind is Kind.CUSTOM):
            stream.put(has.arguments_done(text), intended.call)
            has.done = True
        if intended.call.arguments.empty and not stream.context.may_be_empty(intended.call.name):
            self._stream.repairs(
                LOST_ARGUMENTS, intended, f"{intended.call.name} has required parameters and got no arguments"
            )
        wanted: Payload = {"output_index": has.place, **has.fields(text)}
        out = self._writer.written(received, wanted, OF_ITEM)
        self.closes(intended, out.get("item"), text)
        stream.send_for(received, out)

    def closes(self, intended: IntendedCall, item: Json, text: str) -> None:
        """Record that the event that closes a call is sent."""
        has = intended.item
        has.content = dict(item) if isinstance(item, dict) else {}
        if intended.meaning.is_too_long:  # longer text is not kept
            text = has.content["arguments"] = ""
        has.closed, has.final = True, text
        sent = as_custom(has.content) if has.is_custom else has.content
        self._stream.client.closed[has.place] = sent if isinstance(item, dict) else item

    def put_end(self, intended: IntendedCall, status: Json = "completed") -> None:
        """Send everything that the client lacks of a complete call."""
        stream = self._stream
        has = intended.item
        text = self._arguments_text(intended, "")
        if (arguments := intended.call.arguments).empty:
            may_be_empty = stream.context.may_be_empty(intended.call.name)
            text = has.final if has.done else arguments.reading(may_be_empty=may_be_empty)[0]
        self.send_missing(intended, text)
        if not has.done:
            stream.put(has.arguments_done(text), intended.call)
        event = has.closing(text, status)
        has.done = True
        self.closes(intended, event["item"], text)
        stream.put(event, intended.call)

    # -- fields

    def keep(self, intended: IntendedCall, item: Payload) -> Payload:
        """An item of the completed response, with the values that the client has."""
        has = intended.item
        if intended.is_converted:
            return as_custom(has.content)
        custom = as_function(item) if intended.call.kind is Kind.CUSTOM else None
        received = custom or item
        text = has.final if has.closed else self._arguments_text(intended, received.get("arguments"))
        wanted = has.fields(text)
        if intended.meaning.is_too_long:
            del wanted["arguments"]
        kept = laid_over(received, wanted, lambda one: self._writer.repairs_field(one, CLOSED, intended))
        if kept is received:
            return item
        return kept if custom is None else as_custom(kept)
