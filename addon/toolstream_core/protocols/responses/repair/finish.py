"""How a Responses stream ends: the terminal event judged and mended, and what is missing at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.finish import EMPTY_OUTPUT, MISSING_FINISH, UNCLOSED_CALL, UNSTREAMED_CALLS
from toolstream_core.defects.framing import BARE_RESPONSE
from toolstream_core.defects.identity import DOUBLED_CALL, ITEM_PER_FRAGMENT
from toolstream_core.model import Kind
from toolstream_core.protocols.responses.evidence import contradicts
from toolstream_core.protocols.responses.repair.event_types import COMPLETED, is_bare, usage_of
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.item_sequence import ItemRepairer


class Endings:
    """The end of one response."""

    def __init__(self, repairer: ItemRepairer) -> None:
        """For one stream."""
        self._repairer = repairer
        self.failed = False
        """Whether the provider reported an error."""
        self.over = False
        """Whether the terminal event came."""

    def terminal(self, payload: dict[str, Json], kind: str, resolved: Sequence[ResolvedFragment]) -> dict[str, Json]:
        """The terminal event as the client is to get it; what has to come before it is put."""
        self.over = True
        self.say_rests()
        repairer = self._repairer
        bare = is_bare(payload) and repairer.report(BARE_RESPONSE, repairer.number, "the response has no envelope")
        if bare and not any(contradicts(call, fragment) for fragment, call in resolved):
            fields = {key: value for key, value in payload.items() if key not in {"type", "sequence_number"}}
            kept = {key: value for key, value in payload.items() if key == "sequence_number"}
            whole = {**repairer.created, **fields, "usage": usage_of(repairer.created, fields)}
            whole["id"] = self._id(whole)
            payload = {"type": kind, **kept, "response": {**whole, "status": kind.split(".")[1]}}
        if kind != COMPLETED:
            self._unsaid()
            self.say_rests(last=True)
            return payload
        self._unstreamed(payload, resolved)
        self._unsaid()
        self._unclosed()
        self.say_rests(last=True)
        return self._output(payload, resolved)

    def say_rests(self, *, last: bool = False) -> None:
        """What was kept back of open calls goes out; the `last` time also what they were added with."""
        for item in self._repairer.items:
            if last:
                item.say_head()
            item.say_rest()

    def at_end(self, *, clean: bool) -> bool:
        """What the body's end lacks is put; whether the response has been ended."""
        made = self._completes(clean=clean)
        if not made:
            self._close_pieces()
            self.say_rests(last=True)
        return made

    def _completes(self, *, clean: bool) -> bool:
        repairer = self._repairer
        self.say_rests()
        self._unsaid()
        if self.over or self.failed or not clean or not repairer.items or repairer.places.others_open:
            return False
        if not all(item.added and item.whole for item in repairer.items):
            return False
        message = "the stream ended without response.completed"
        if not repairer.report(MISSING_FINISH, repairer.number, message):
            return False
        self._unclosed()
        response = {"object": "response", **repairer.created, "status": "completed", "output": repairer.places.output}
        response["id"] = self._id(repairer.created)
        response["usage"] = usage_of(repairer.created)
        repairer.put({"type": COMPLETED, "response": response})
        return True

    def _id(self, response: dict[str, Json]) -> Json:
        """The response's own id; one that is made up where nothing said it: clients want one."""
        return response.get("id") or self._repairer.context.ids.make("resp_")

    def _unstreamed(self, payload: dict[str, Json], resolved: Sequence[ResolvedFragment]) -> None:
        """Calls that nobody has heard of yet, from the response."""
        repairer = self._repairer
        said = iter(resolved)
        for content in json_access.items(json_access.get(payload, "response", "output")):
            if not str(json_access.get(content, "type")).endswith("_call"):
                continue
            one = next(said, None)
            if one is None or one.call.kind is not Kind.FUNCTION:
                continue
            if repairer.repeats.repeats(one.call):
                continue
            item = repairer.item_of(one.call)
            if item.added or item.known or not one.call.name:
                continue
            if json_access.get(content, "status") == "incomplete" or not (item.whole or is_object(item.said.meant)):
                continue
            message = "the call comes in the completed response only"
            if repairer.report(UNSTREAMED_CALLS, repairer.number, message, one.call):
                repairer.say(item, content)

    def _unsaid(self) -> None:
        for item in self._repairer.items:
            if item.kept and not (item.added or item.known):
                self._repairer.give_back(item)

    def _close_pieces(self) -> None:
        """Calls that came in many items, and are whole by now."""
        for item in self._repairer.items:
            if item.in_pieces and item.added and not item.closed and item.whole:
                self._repairer.because(ITEM_PER_FRAGMENT)
                item.finish()

    def _unclosed(self) -> None:
        for item in self._repairer.items:
            if item.added and not item.closed and item.whole and not self.failed:
                message = "no output_item.done came for the call"
                told = item.in_pieces or self._repairer.report(UNCLOSED_CALL, self._repairer.number, message, item.call)
                if told:
                    item.finish()

    def _output(self, payload: dict[str, Json], resolved: Sequence[ResolvedFragment]) -> dict[str, Json]:
        """The response's items, each as it was streamed, and those that are missing."""
        repairer, response = self._repairer, payload.get("response")
        if not isinstance(response, dict):
            return payload
        output = json_access.items(response.get("output"))
        calls = iter(resolved)
        items: list[Json] = []
        seen: set[int] = set()
        for content in output:
            one = next(calls, None) if str(json_access.get(content, "type")).endswith("_call") else None
            if one is None or one.call.kind is not Kind.FUNCTION or not isinstance(content, dict):
                items.append(content)
                continue
            if not contradicts(one.call, one.fragment) and self._is_again(one.call, seen):
                continue
            item = repairer.item_of(one.call)
            seen.add(id(one.call))
            copy = dict(content)
            if item.custom is not None:
                copy = item.custom
            elif item.added:
                item.same(copy)
            items.append(copy)
        missing = [item for item in repairer.items if id(item.call) not in seen and (item.closed or item.custom)]
        if missing and repairer.report(
            EMPTY_OUTPUT, repairer.number, "the completed response lacks calls that were streamed", missing[0].call
        ):
            items = self._filled(items)
        return payload if items == output else {**payload, "response": {**response, "output": items}}

    def _is_again(self, call: OpenCall, seen: set[int]) -> bool:
        """Whether an item of the response says a call once more, and is not to go on."""
        repairer = self._repairer
        if id(call) not in seen and not repairer.repeats.repeats(call):
            return False
        return repairer.report(DOUBLED_CALL, repairer.number, "the response says the call once more", call)

    def _filled(self, items: list[Json]) -> list[Json]:
        """The items that were closed, in their places, in the place of an output that lacks some."""
        output = self._repairer.places.output
        if not items:
            return output
        said = {_key(item): item for item in items}
        ids = [_key(item) for item in output]
        if len(said) == len(items) and said.keys() <= set(ids):
            return [said.get(own, item) for own, item in zip(ids, output, strict=True)]
        return [*items, *(item for own, item in zip(ids, output, strict=True) if own not in said)]


def _key(item: Json) -> tuple[str, str]:
    """What an item of a response is known by; calls may share an id."""
    return str(json_access.get(item, "id")), str(json_access.get(item, "call_id"))
