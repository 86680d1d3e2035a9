"""What the client lacks of the response itself: its beginning, its end, and the items that the end says again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.resolver import same_arguments
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
from toolstream_core.model import Kind
from toolstream_core.protocols.responses.evidence import contradicts
from toolstream_core.protocols.responses.repair.event_types import (
    COMPLETED,
    CREATED,
    OF_EVENT,
    is_bare,
    missing_head,
    usage_of,
)
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.answer import Answer
    from toolstream_core.protocols.responses.repair.custom_tools import CustomTools
    from toolstream_core.protocols.responses.repair.difference import Difference
    from toolstream_core.protocols.responses.repair.truth import Meant
    from toolstream_core.repair.fields import Payload


class ResponseDifference:
    """The response around the items."""

    def __init__(self, answer: Answer, items: Difference, custom: CustomTools) -> None:
        """For one stream."""
        self._answer, self._items, self._custom = answer, items, custom
        self._begun = False

    # -- its beginning

    def begin(self, payload: Payload, kind: str) -> None:
        """Put `response.created` before the first event, where that is another one."""
        answer, self._begun = self._answer, True
        if not answer.form.repeats_response or answer.truth.failed:
            return
        response = missing_head(payload, kind)
        if response is not None and answer.report(MISSING_HEAD, f"the stream begins with {kind}, not with {CREATED}"):
            number = payload.get("sequence_number")
            answer.client.number = number - 1 if isinstance(number, int) else None
            answer.client.created = response
            answer.put({"type": CREATED, "response": response})

    @property
    def begun(self) -> bool:
        """Whether an event came."""
        return self._begun

    def created(self, payload: Payload) -> tuple[Payload | None, bool]:
        """`response.created` as the client is to get it, and whether another answer begins with it."""
        answer, client = self._answer, self._answer.client
        response = payload.get("response")
        if client.created is None:
            client.created = response if isinstance(response, dict) else {}
            return payload, False
        again = response == client.created
        if again and not (answer.truth.calls or client.taken):
            return (None if answer.report(REPEATED_START, "the response is created again") else payload), False
        answer.report(RESTARTED_STREAM, "a second response starts within the stream")
        return payload, not (again and any(_open(answer.truth.calls.values())))

    # -- its end

    def over(self, payload: Payload, kind: str, resolved: Sequence[ResolvedFragment]) -> Payload | None:
        """The terminal event as the client is to get it, behind all that it lacks; `None` where it has one."""
        answer, client = self._answer, self._answer.client
        if client.ended:
            return None if answer.report(REPEATED_STOP, "the response ends again") else payload
        own, kind = answer.form.terminal(payload, kind)
        # Clients may read calls from the terminal event alone: one that says others is not made one that they read.
        denied = any(contradicts(call, fragment) for fragment, call in resolved)
        foreign = own is not None and answer.report(FOREIGN_FINISH, f"the response ends with {payload.get('type')}")
        if foreign and not denied:
            payload = {**payload, "type": own}
        client.ended = True
        payload = self._in_envelope(payload, kind, denied=denied)
        if kind != COMPLETED:
            self.rests()
            return payload
        self._unstreamed(payload, resolved)
        self._close_open()
        self.rests()
        return self._with_output(payload, resolved)

    def _in_envelope(self, payload: Payload, kind: str, *, denied: bool) -> Payload:
        """A terminal event that is the response itself, as one that has it, unless that is `denied` by what came."""
        answer = self._answer
        bare = is_bare(payload) and answer.report(BARE_RESPONSE, "the response has no envelope")
        if denied or not bare:
            return payload
        created = answer.client.created or {}
        kept = {key: value for key, value in payload.items() if key in OF_EVENT}
        fields = {key: value for key, value in payload.items() if key not in kept}
        whole = {**created, **fields, "usage": usage_of(created, fields)}
        whole["id"] = self._id(whole)
        return {**kept, "response": {**whole, "status": kind.split(".")[1]}}

    def _id(self, response: Payload) -> Json:
        return response.get("id") or self._answer.context.ids.make("resp_")

    def rests(self) -> None:
        """Say what was held back of the arguments of open calls."""
        answer = self._answer
        for meant in answer.truth.calls.values():
            has = meant.has
            if has is None or has.closed or (meant.passes and "arguments" not in has.why):
                continue
            reading = answer.truth.reading(meant, over=True)
            given = has.text.text
            answer.number = answer.number if answer.client.ended else meant.call.runs.last
            if reading.text != given and reading.text.startswith(given) and (meant.text_row or not given):
                self._items.rest(meant, reading.text, why=meant.text_row)

    def _unstreamed(self, payload: Payload, resolved: Sequence[ResolvedFragment]) -> None:
        """Say the calls that only the terminal event has."""
        answer = self._answer
        for content, (_, call) in _functions(payload, resolved):
            meant = answer.truth.of(call)
            if meant.has is not None or meant.passes or not call.name:
                continue
            meant.said_again = answer.truth.says_again(meant)
            if meant.said_again or json_access.get(content, "status") == "incomplete":
                continue
            text = answer.truth.reading(meant, over=True).text
            if not (answer.truth.whole(meant) or is_object(text)):
                continue
            sends = answer.report(UNSTREAMED_CALLS, "the call comes in the completed response only", call)
            if sends and not self._custom.put(meant, content):
                self._items.identities.put_added(meant, content, UNSTREAMED_CALLS)
                self._items.put_end(meant, json_access.get(content, "status") or "completed")

    def _close_open(self) -> None:
        """Close whole calls that no event closed."""
        answer = self._answer
        for meant in _open(answer.truth.calls.values()):
            if answer.truth.failed or not self._may_close(meant):
                continue
            row = ITEM_PER_FRAGMENT if meant.in_pieces else UNCLOSED_CALL
            if answer.report(row, "no output_item.done came for the call", meant.call):
                self._items.put_end(meant)

    def _may_close(self, meant: Meant) -> bool:
        """Whether nothing is missing of an open call."""
        truth, has = self._answer.truth, meant.has
        assert has is not None
        if not has.name:
            return False
        said = (has.said or meant.call.closed) and not meant.in_pieces
        text = self._answer.truth.reading(meant, over=True).text
        if meant.in_pieces and truth.has_strays:
            return False
        if has.said and not same_arguments(has.whole, text):
            return False
        agrees = text.startswith(has.text.text) or has.said
        return agrees and ((said and truth.whole(meant)) or (not meant.call.cut and truth.whole_by_itself(meant)))

    def _with_output(self, payload: Payload, resolved: Sequence[ResolvedFragment]) -> Payload:
        """The terminal event, whose response has each item as the client has it, and those that it lacked."""
        answer, response = self._answer, payload.get("response")
        if not isinstance(response, dict):
            return payload
        calls = {id(content): one for content, one in _functions(payload, resolved)}
        items: list[Json] = []
        seen: set[int] = set()
        output = json_access.items(response.get("output"))
        for content in output:
            one = calls.get(id(content))
            meant = None if one is None else answer.truth.calls.get(id(one.call))
            if one is None or meant is None or not isinstance(content, dict):
                items.append(content)
                continue
            fragment, call = one
            again = id(call) in seen or (meant.has is None and meant.said_again)
            if (
                again
                and not contradicts(call, fragment)
                and answer.report(DOUBLED_CALL, "the response says the call once more", call)
            ):
                continue
            seen.add(id(call))
            items.append(content if meant.has is None else self._kept(meant, content))
        lacking = [
            one for key, one in answer.truth.calls.items() if key not in seen and one.has is not None and one.has.closed
        ]
        message = "the completed response lacks calls that were streamed"
        has_all = not any(one.is_too_long for one in answer.truth.calls.values())
        if lacking and answer.report(EMPTY_OUTPUT, message, lacking[0].call) and has_all:
            items = self._filled(items, lacking)
        return payload if items == output else {**payload, "response": {**response, "output": items}}

    def _kept(self, meant: Meant, content: Payload) -> Payload:
        assert meant.has is not None
        if meant.has.content.get("type") == "custom_tool_call":
            return meant.has.content
        return self._items.keep(meant, content)

    def _filled(self, items: list[Json], lacking: Sequence[Meant]) -> list[Json]:
        """The response's items with those that it lacks, each in its place as far as that can be told."""
        client = self._answer.client
        if not items:
            return client.output
        missing = [(one.has.place, client.closed[one.has.place]) for one in lacking if one.has is not None]
        places = sorted(client.closed)
        known = [place for place in places if place not in {place for place, _ in missing}]
        if len(known) == len(items):
            return [item for _, item in sorted([*zip(known, items, strict=True), *missing], key=lambda one: one[0])]
        return [*items, *(item for _, item in missing)]

    def at_end(self, *, clean: bool) -> bool:
        """Say what the body's end lacks; whether the response has been completed."""
        completed = self._completes(clean=clean)
        if not completed:
            for meant in _open(self._answer.truth.calls.values()):
                said_nothing = meant.call.over and meant.call.arguments.empty
                if meant.in_pieces and self._answer.on(ITEM_PER_FRAGMENT) and (self._may_close(meant) or said_nothing):
                    self._answer.because(ITEM_PER_FRAGMENT)
                    self._items.put_end(meant)
            self.rests()
        return completed

    def _completes(self, *, clean: bool) -> bool:
        answer, client, calls = self._answer, self._answer.client, self._answer.truth.calls
        if client.ended or answer.truth.failed or not clean or not calls or client.open_text or client.open_others:
            return False
        if not all(self._is_whole(meant) for meant in calls.values() if not meant.said_again):
            return False
        if not answer.report(MISSING_FINISH, f"the stream ended without {answer.form.completed}"):
            return False
        self._close_open()
        created = client.created or {}
        response = {"object": "response", **created, "status": "completed", "output": client.output}
        response["id"] = self._id(created)
        response["usage"] = usage_of(created)
        answer.put({"type": answer.form.completed, "response": response})
        return True

    def _is_whole(self, meant: Meant) -> bool:
        has = meant.has
        if has is None or meant.call.cut or meant.passes:
            return False
        if not has.closed:
            return self._may_close(meant)
        return self._answer.truth.whole(meant) and same_arguments(has.whole, call_text(meant))


def call_text(meant: Meant) -> str:
    """The arguments as they are known by now."""
    return meant.call.arguments.reading()[0]


def _open(calls: object) -> Iterator[Meant]:
    return iter([one for one in calls if one.has is not None and not (one.has.closed or one.passes)])  # type: ignore[attr-defined]


def _functions(payload: Payload, resolved: Sequence[ResolvedFragment]) -> Iterator[tuple[Json, ResolvedFragment]]:
    """The items of function calls in a response's `output`, each with its fragment and call."""
    output = json_access.items(json_access.get(payload, "response", "output"))
    calls = iter(resolved)
    for content in output:
        if not str(json_access.get(content, "type")).endswith("_call"):
            continue
        one = next(calls, None)
        if one is not None and one.call.kind is Kind.FUNCTION:
            yield content, one
