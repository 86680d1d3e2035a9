"""Sends the missing parts of the response itself: its start, its end, and the items in its terminal event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.calls.json_text import is_object, same_arguments
from toolstream_core.defects.finish import (
    EMPTY_OUTPUT,
    FOREIGN_FINISH,
    MISSING_FINISH,
    REPEATED_START,
    REPEATED_STOP,
    UNCLOSED_CALL,
    UNSTREAMED_CALLS,
)
from toolstream_core.defects.framing import BARE_RESPONSE, MISSING_HEAD, RESTARTED_STREAM
from toolstream_core.defects.identity import DOUBLED_CALL, ITEM_PER_FRAGMENT
from toolstream_core.model import Json, Kind
from toolstream_core.protocols.responses.repair.custom_tools import CustomTools
from toolstream_core.protocols.responses.repair.difference import Difference
from toolstream_core.protocols.responses.repair.events import (
    COMPLETED,
    CREATED,
    OF_EVENT,
    REALTIME_DONE,
    as_function,
    by_status,
    is_bare,
    missing_head,
    usage_of,
)
from toolstream_core.protocols.responses.repair.intended import IntendedCall
from toolstream_core.protocols.responses.repair.stream import Stream, status_of
from toolstream_core.protocols.responses.resolver import contradicts
from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import Payload


class ResponseDifference:
    """Sends the start and the end of one response."""

    def __init__(self, stream: Stream, items: Difference, custom: CustomTools) -> None:
        self._stream, self._items, self._custom = stream, items, custom
        self.begun = False
        """Whether an event has arrived."""

    # -- the start

    def begin(self, payload: Payload, kind: str) -> None:
        """Send `response.created` before the first event, if that is another one."""
        stream, self.begun = self._stream, True
        if stream.realtime or stream.calls.failed:
            return
        response = missing_head(payload, kind)
        if response is not None and stream.report(MISSING_HEAD, f"the stream begins with {kind}, not with {CREATED}"):
            number = payload.get("sequence_number")
            stream.client.number = number - 1 if isinstance(number, int) else None
            stream.client.created = response
            stream.put({"type": CREATED, "response": response})

    def created(self, payload: Payload) -> tuple[Payload | None, bool]:
        """`response.created` as it is sent (`None` if it is withheld), and whether it starts another response."""
        stream, client = self._stream, self._stream.client
        payload = self._in_envelope(payload, CREATED)
        response = payload.get("response")
        if client.created is None:
            client.created = response if isinstance(response, dict) else {}
            return payload, False
        again = response == client.created
        if again and not (stream.calls.by_key or client.calls_by_place):
            return (None if stream.report(REPEATED_START, "the response is created again") else payload), False
        stream.report(RESTARTED_STREAM, "a second response starts within the stream")
        return payload, not (again and bool(stream.calls.open))

    # -- the end

    def terminal(
        self, payload: Payload, kind: str, resolved: Sequence[ResolvedFragment], *, normally: bool
    ) -> Payload | None:
        """Send the missing parts before the end. Returns the terminal event to send; `None` if it is repeated.

        `normally`: the response was not truncated.
        """
        stream, client = self._stream, self._stream.client
        if client.ended:
            return None if stream.report(REPEATED_STOP, "the response ends again") else payload
        received, kind = kind, by_status(payload) if kind == REALTIME_DONE else kind
        own = REALTIME_DONE if stream.realtime else kind
        if own != received and stream.report(FOREIGN_FINISH, f"the response ends with {payload.get('type')}"):
            payload = {**payload, "type": own}
        client.ended = True
        payload = self._in_envelope(payload, kind)
        if kind == COMPLETED:
            self._unstreamed(payload, resolved)
            self._close_open()
        self.send_withheld()
        payload, resolved = self.without_left_out(payload, resolved, normally=normally)
        return self._with_output(payload, resolved) if kind == COMPLETED else payload

    def without_left_out(
        self, payload: Payload, resolved: Sequence[ResolvedFragment], *, normally: bool
    ) -> tuple[Payload, Sequence[ResolvedFragment]]:
        """Send all waiting events. Returns the terminal event and its calls, as the policy allows."""
        stream, inside = self._stream, payload.get("response", payload)
        stream.end_turn(normally=normally)
        output = json_access.items(json_access.get(inside, "output"))
        found = [content for content in output if _is_call(content)]
        if not (stream.policy.complete_only and isinstance(inside, dict)) or len(found) != len(resolved):
            return payload, resolved
        calls = list(zip(found, resolved, strict=True))
        left_out = {id(content) for content, one in calls if not self._stays(content, one.call, normally=normally)}
        if not left_out:
            return payload, resolved
        inside = {**inside, "output": [content for content in output if id(content) not in left_out]}
        kept = [one for content, one in calls if id(content) not in left_out]
        return ({**payload, "response": inside} if "response" in payload else inside), kept

    def _stays(self, item: Json, call: OpenCall, *, normally: bool) -> bool:
        """Whether the client gets an item of the terminal event."""
        status = status_of(item)
        ended = (normally or status == "completed") and status != "incomplete"
        return call.kind is Kind.SERVER or self._stream.shaping.stays(call, ended=ended)

    def _in_envelope(self, payload: Payload, kind: str) -> Payload:
        """Put a bare response into the envelope of its event."""
        stream = self._stream
        if not (is_bare(payload) and stream.report(BARE_RESPONSE, "the response has no envelope")):
            return payload
        created = stream.client.created or {}
        kept = {key: value for key, value in payload.items() if key in OF_EVENT}
        fields = {key: value for key, value in payload.items() if key not in kept}
        if kind == CREATED:
            return {**kept, "response": fields}
        complete = {**created, **fields, "usage": usage_of(created, fields)}
        complete["id"] = self._id(complete)
        return {**kept, "response": {**complete, "status": kind.split(".")[1]}}

    def _id(self, response: Payload) -> Json:
        return response.get("id") or self._stream.context.ids.make("resp_")

    def send_withheld(self) -> None:
        """Send the withheld arguments of open calls."""
        stream = self._stream
        for intended in stream.calls.by_key.values():
            sent = intended.sent
            if sent is None or sent.closed or (intended.passes and "arguments" not in sent.why):
                continue
            reading = intended.reading(final=True)
            given = sent.text.text
            stream.number = stream.number if stream.client.ended else intended.call.runs.last
            if reading.text != given and reading.text.startswith(given) and (intended.defect or not given):
                self._items.send_missing(intended, reading.text)

    def _unstreamed(self, payload: Payload, resolved: Sequence[ResolvedFragment]) -> None:
        """Send the calls that only the terminal event has."""
        stream = self._stream
        for content, (_, call) in _functions(payload, resolved):
            intended = stream.calls.of(call)
            if intended.sent is not None or intended.passes or not call.name:
                continue
            intended.is_duplicate = stream.calls.is_duplicate(intended)
            if intended.is_duplicate or json_access.get(content, "status") == "incomplete":
                continue
            text = intended.reading(final=True).text
            if not (stream.calls.is_complete(intended) or is_object(text)):
                continue
            sends = stream.report(UNSTREAMED_CALLS, "the call comes in the completed response only", call)
            if sends and not self._custom.put(intended, content):
                item = as_function(content) if isinstance(content, dict) else None
                self._items.put_added(intended, item or content, UNSTREAMED_CALLS)
                self._items.put_end(intended, json_access.get(content, "status") or "completed")

    def _close_open(self) -> None:
        """Close complete calls that no event closed."""
        stream = self._stream
        for intended in stream.calls.open:
            if stream.calls.failed:
                continue
            if not self._may_close(intended):
                self._report_possibly_incomplete(intended)
                continue
            defect = ITEM_PER_FRAGMENT if intended.is_split else UNCLOSED_CALL
            if stream.report(defect, "no output_item.done came for the call", intended.call):
                self._items.put_end(intended)

    def _report_possibly_incomplete(self, intended: IntendedCall) -> None:
        """Report, without a repair, a call without arguments that no event closed: it may be incomplete."""
        call, stream = intended.call, self._stream
        if call.name and call.arguments.empty and not call.cut and stream.context.may_be_empty(call.name):
            message = "no output_item.done came for the call, and it has no arguments: it may be incomplete"
            stream.context.found(UNCLOSED_CALL.found(stream.number, message, call.position)._replace(repair=None))

    def _may_close(self, intended: IntendedCall) -> bool:
        """Whether an open call is complete."""
        calls, sent = self._stream.calls, intended.item
        if not sent.name:
            return False
        is_over = (sent.done or intended.call.closed) and not intended.is_split
        text = sent.final if sent.done and intended.call.arguments.empty else intended.reading(final=True).text
        if sent.done and not same_arguments(sent.final, text):
            return False
        agrees = text.startswith(sent.text.text) or sent.done
        return agrees and (
            (is_over and calls.is_complete(intended))
            or (not intended.call.cut and calls.is_complete_without_event(intended))
        )

    def _with_output(self, payload: Payload, resolved: Sequence[ResolvedFragment]) -> Payload:
        """The terminal event with each item as the client has it, and with the items that it lacked."""
        stream, response = self._stream, payload.get("response")
        if not isinstance(response, dict):
            return payload
        calls = {id(content): one for content, one in _functions(payload, resolved)}
        items: list[Json] = []
        seen: set[int] = set()
        output = json_access.items(response.get("output"))
        for content in output:
            one = calls.get(id(content))
            intended = None if one is None else stream.calls.by_key.get(id(one.call))
            if one is None or intended is None or not isinstance(content, dict):
                items.append(content)
                continue
            fragment, call = one
            again = id(call) in seen or (intended.sent is None and intended.is_duplicate)
            if (
                again
                and not contradicts(call, fragment)
                and stream.report(DOUBLED_CALL, "the response repeats the call", call)
            ):
                continue
            seen.add(id(call))
            items.append(content if intended.sent is None else self._items.keep(intended, content))
        lacking = [
            one
            for key, one in stream.calls.by_key.items()
            if key not in seen and one.sent is not None and one.sent.closed and not stream.shaping.is_left_out(one.call)
        ]
        message = "the completed response lacks calls that were streamed"
        has_all = not any(one.reader.is_too_long for one in stream.calls.by_key.values())
        if lacking and stream.report(EMPTY_OUTPUT, message, lacking[0].call) and has_all:
            items = self._filled(items, lacking)
        return payload if items == output else {**payload, "response": {**response, "output": items}}

    def _filled(self, items: list[Json], lacking: Sequence[IntendedCall]) -> list[Json]:
        """The response's items and those that it lacks, in their order as far as it is known."""
        client = self._stream.client
        if not items:
            return client.output
        missing = [(one.item.place, client.closed[one.item.place]) for one in lacking]
        known = sorted(client.closed.keys() - dict(missing).keys())
        if len(known) != len(items):
            return [*items, *dict(missing).values()]
        return [item for _, item in sorted([*zip(known, items, strict=True), *missing], key=lambda one: one[0])]

    def at_end(self, *, clean: bool) -> bool:
        """Send the missing parts at the end of the body. Returns whether the response is complete then."""
        completed = self._completes(clean=clean)
        if not completed:
            self.send_withheld()
        return completed

    def _completes(self, *, clean: bool) -> bool:
        stream, client, calls = self._stream, self._stream.client, self._stream.calls.by_key
        if client.ended or stream.calls.failed or not clean or not calls or client.open_text or client.open_others:
            return False
        if not all(self._is_complete(intended) for intended in calls.values() if not intended.is_duplicate):
            return False
        completed = REALTIME_DONE if stream.realtime else COMPLETED
        if not stream.report(MISSING_FINISH, f"the stream ended without {completed}"):
            return False
        self._close_open()
        created = client.created or {}
        response = {"object": "response", **created, "status": "completed", "output": client.output}
        response["id"] = self._id(created)
        response["usage"] = usage_of(created)
        stream.end_turn(normally=True)
        stream.put({"type": completed, "response": response})
        return True

    def _is_complete(self, intended: IntendedCall) -> bool:
        sent = intended.sent
        if sent is None or intended.call.cut or intended.passes:
            return False
        if not sent.closed:
            return self._may_close(intended)
        return self._stream.calls.is_complete(intended) and same_arguments(
            sent.final, intended.call.intended_arguments()[0]
        )


def _functions(payload: Payload, resolved: Sequence[ResolvedFragment]) -> Iterator[tuple[Json, ResolvedFragment]]:
    """The items of calls of functions and custom tools in a response's `output`, each with its fragment and call."""
    output = json_access.items(json_access.get(payload, "response", "output"))
    calls = iter(resolved)
    for content in output:
        if not _is_call(content):
            continue
        one = next(calls, None)
        if one is not None and (one.call.kind is Kind.FUNCTION or (isinstance(content, dict) and as_function(content))):
            yield content, one


def _is_call(item: Json) -> bool:
    """Whether an item of the output is a call."""
    return str(json_access.get(item, "type")).endswith("_call")
