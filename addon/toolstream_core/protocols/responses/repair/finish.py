"""How a Responses stream ends: the terminal event, judged and repaired, and what is missing at the end."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.finish import (
    EMPTY_OUTPUT,
    FOREIGN_FINISH,
    MISSING_FINISH,
    REPEATED_STOP,
    UNCLOSED_CALL,
    UNSTREAMED_CALLS,
)
from toolstream_core.defects.framing import BARE_RESPONSE
from toolstream_core.defects.identity import DOUBLED_CALL, ITEM_PER_FRAGMENT
from toolstream_core.model import Kind
from toolstream_core.protocols.responses.evidence import contradicts
from toolstream_core.protocols.responses.repair.event_types import (
    COMPLETED,
    OF_EVENT,
    is_bare,
    usage_of,
)
from toolstream_core.protocols.responses.repair.state import Mode
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.client_items import ClientItems
    from toolstream_core.protocols.responses.repair.custom_tools import CustomTools
    from toolstream_core.protocols.responses.repair.kept_items import KeptItems
    from toolstream_core.protocols.responses.repair.state import RepairState


class FinishRepair:
    """The end of one response."""

    def __init__(self, state: RepairState, items: ClientItems, kept: KeptItems, custom: CustomTools) -> None:
        """For one stream."""
        self._state = state
        self._items = items
        self._kept = kept
        self._custom = custom

    def take(self, payload: dict[str, Json], kind: str, resolved: Sequence[ResolvedFragment]) -> dict[str, Json] | None:
        """The terminal event as the client is to get it; `None` where it has one already."""
        state = self._state
        if state.mode is Mode.ENDED:
            return None if state.report(REPEATED_STOP, "the response ends again") else payload
        own, kind = state.form.terminal(payload, kind)
        # Clients may read calls from the terminal event alone: one that says others is not made one that they read.
        denied = any(contradicts(call, fragment) for fragment, call in resolved)
        foreign = own is not None and state.report(FOREIGN_FINISH, f"the response ends with {payload.get('type')}")
        if foreign and not denied:
            payload = {**payload, "type": own}
        state.mode = Mode.ENDED
        self._send_rests()
        payload = self._in_envelope(payload, kind, denied=denied)
        if kind != COMPLETED:
            self._kept.give_all_back(self._items)
            self._send_rests(last=True)
            return payload
        self._put_unstreamed(payload, resolved)
        self._kept.give_all_back(self._items)
        self._close_open()
        self._send_rests(last=True)
        return self._with_output(payload, resolved)

    def at_end(self, *, clean: bool) -> bool:
        """Send what the body's end lacks; whether the response has been completed."""
        completed = self._completes(clean=clean)
        if not completed:
            self._close_pieces()
            self._send_rests(last=True)
        return completed

    def _in_envelope(self, payload: dict[str, Json], kind: str, *, denied: bool) -> dict[str, Json]:
        """A terminal event that is the response itself, as one that has it, unless that is `denied` by what came."""
        state = self._state
        bare = is_bare(payload) and state.report(BARE_RESPONSE, "the response has no envelope")
        if denied or not bare:
            return payload
        kept = {key: value for key, value in payload.items() if key in OF_EVENT}
        fields = {key: value for key, value in payload.items() if key not in kept}
        whole = {**state.created, **fields, "usage": usage_of(state.created, fields)}
        whole["id"] = self._response_id(whole)
        return {**kept, "response": {**whole, "status": kind.split(".")[1]}}

    def _send_rests(self, *, last: bool = False) -> None:
        """Send what was held back of open calls; the `last` time also the arguments that they were added with."""
        for item in self._items.unclosed():
            if last:
                item.send_prefill()
            item.send_rest()

    def _completes(self, *, clean: bool) -> bool:
        state = self._state
        self._send_rests()
        self._kept.give_all_back(self._items)
        if state.mode is Mode.ENDED or state.failed or not clean or not self._items or state.places.others_open:
            return False
        if not all(item.added and item.whole and not self._items.outdated(item) for item in self._items):
            return False
        if not (state.report(MISSING_FINISH, f"the stream ended without {state.form.completed}") and self._has_all):
            return False
        self._close_open()
        response = {"object": "response", **state.created, "status": "completed", "output": state.places.output}
        response["id"] = self._response_id(state.created)
        response["usage"] = usage_of(state.created)
        state.output.put({"type": state.form.completed, "response": response})
        return True

    @property
    def _has_all(self) -> bool:
        """Whether the arguments of every call were kept."""
        return not any(item.call.arguments.truncated for item in self._items)

    def _response_id(self, response: dict[str, Json]) -> Json:
        """The response's own id, or a made-up one: clients want one."""
        return response.get("id") or self._state.context.ids.make("resp_")

    def _put_unstreamed(self, payload: dict[str, Json], resolved: Sequence[ResolvedFragment]) -> None:
        """Put the calls that only the terminal event has."""
        state = self._state
        output = json_access.items(json_access.get(payload, "response", "output"))
        for content, (_, call) in _functions(output, resolved):
            if id(call) in state.repeated:
                continue
            item = self._items.of(call)
            if not (item.waiting and call.name):
                continue
            if json_access.get(content, "status") == "incomplete" or not (
                item.whole or is_object(item.arguments.meant)
            ):
                continue
            if state.report(UNSTREAMED_CALLS, "the call comes in the completed response only", call):
                self._custom.put_call(item, content)

    def _close_pieces(self) -> None:
        """Close calls that came in many items, and are whole by now: also those that were closed with no arguments."""
        for item in self._items if self._state.on(ITEM_PER_FRAGMENT) else ():
            said_nothing = item.call.over and item.call.arguments.empty
            if item.in_pieces and item.is_open and (item.whole or said_nothing):
                self._state.because(ITEM_PER_FRAGMENT)
                item.put_end()

    def _close_open(self) -> None:
        """Close whole calls that no event closed."""
        for item in self._items.unclosed():
            if item.whole and not self._state.failed:
                message = "no output_item.done came for the call"
                joins = item.in_pieces and self._state.on(ITEM_PER_FRAGMENT)
                if joins or (not item.in_pieces and self._state.report(UNCLOSED_CALL, message, item.call)):
                    item.put_end()

    def _with_output(self, payload: dict[str, Json], resolved: Sequence[ResolvedFragment]) -> dict[str, Json]:
        """The terminal event, whose response has each item as it was streamed, and those that it lacked."""
        response = payload.get("response")
        if not isinstance(response, dict):
            return payload
        output = json_access.items(response.get("output"))
        items, seen = self._as_streamed(output, resolved)
        missing = [item for item in self._items if id(item.call) not in seen and (item.closed or item.custom)]
        message = "the completed response lacks calls that were streamed"
        if missing and self._state.report(EMPTY_OUTPUT, message, missing[0].call) and self._has_all:
            items = self._filled(items, [self._state.places.closed[item.place] for item in missing if item.closed])
        return payload if items == output else {**payload, "response": {**response, "output": items}}

    def _as_streamed(self, output: Sequence[Json], resolved: Sequence[ResolvedFragment]) -> tuple[list[Json], set[int]]:
        """The response's items as they were streamed, and the `id()` of the calls among them."""
        calls = {id(content): one for content, one in _functions(output, resolved)}
        items: list[Json] = []
        seen: set[int] = set()
        said: set[int] = set()
        for content in output:
            one = calls.get(id(content))
            if one is None or not isinstance(content, dict):
                items.append(content)
                continue
            fragment, call = one
            same = not contradicts(call, fragment)
            if same and self._is_again(call, said):
                continue
            item = self._items.of(call)
            seen.update({id(call)} if same or item.place == call.index else ())
            said.update({id(call)} if same else ())
            copy = dict(content)
            if item.custom is not None:
                copy = item.custom
            elif item.added:
                item.repeat_in(copy)
            items.append(copy)
        return items, seen

    def _is_again(self, call: OpenCall, said: set[int]) -> bool:
        """Whether an item of the response repeats a call that one before it, or the stream, has said, and goes."""
        if id(call) not in said and not (id(call) in self._state.repeated and _means(call) in self._closed):
            return False
        return self._state.report(DOUBLED_CALL, "the response says the call once more", call)

    @cached_property
    def _closed(self) -> set[tuple[str, str]]:
        """What the calls mean that the stream closed."""
        return {_means(item.call) for item in self._items if item.closed or item.custom}

    def _filled(self, items: list[Json], missing: Sequence[Json]) -> list[Json]:
        """The response's items together with those that were closed and are not among them, each in its place.

        Those that it says otherwise, under the place that only the client has them at, come behind its own.
        """
        output = self._state.places.output
        if not items:
            return output
        by_key = {_key(item): item for item in items}
        if any(_key(item) in by_key for item in missing):
            return [*items, *missing]
        keys = [_key(item) for item in output]
        if len(by_key) == len(items) and by_key.keys() <= set(keys):
            return [by_key.get(key, item) for key, item in zip(keys, output, strict=True)]
        return [*items, *(item for key, item in zip(keys, output, strict=True) if key not in by_key)]


def _functions(output: Sequence[Json], resolved: Sequence[ResolvedFragment]) -> Iterator[tuple[Json, ResolvedFragment]]:
    """The items of function calls in a response's `output`, each with its fragment and call."""
    calls = iter(resolved)
    for content in output:
        if not str(json_access.get(content, "type")).endswith("_call"):
            continue
        one = next(calls, None)
        if one is not None and one.call.kind is Kind.FUNCTION:
            yield content, one


def _means(call: OpenCall) -> tuple[str, str]:
    """What is called with which arguments."""
    return call.name, call.arguments.meaning


def _key(item: Json) -> tuple[str, str]:
    """What identifies an item of a response; calls may share an id."""
    return str(json_access.get(item, "id")), str(json_access.get(item, "call_id"))
