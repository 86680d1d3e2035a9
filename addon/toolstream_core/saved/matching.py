"""The saved response for a request: an equal request's, or the nearest, and where the requests differ."""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, takewhile
from typing import Any, NamedTuple

from toolstream_core.calls.json_text import equal, same
from toolstream_core.model import ABSENT, BAD_STATUS, Call, Json, Record
from toolstream_core.printable import excerpt, first_difference, has_parts, shown_json
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests import match_key
from toolstream_core.protocols.requests.conversation import Conversation, ToolResult
from toolstream_core.protocols.requests.match_key import RequestKey
from toolstream_core.redaction import TextMode
from toolstream_core.saved.exchange import messages_of
from toolstream_core.saved.flow import LlmFlow
from toolstream_core.verdict import to_run
from toolstream_core.verdict.conversations import dropped
from toolstream_core.verdict.judge import Sign, evidence
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form, parse

type Redact = Callable[[bytes, str], bytes]
"""Redacts a request's body as a capture does; the text is the mode of chat text, `LlmFlow.text`."""
type Key = tuple[str, Form, str | None, bytes]
"""Protocol, form, model and digest of the body."""


# The saved response that fits an unrecorded request best. The first difference in this list decides:
#
# 1. the protocol must be the same, and a streaming request needs a streamed response, or an HTTP error, which is the
#    last choice;
# 2. model: the same, as requested or in the response; the same except for vendor, date or tag (`gpt-4.1-mini`,
#    `openai/gpt-4.1-mini`, `gpt-4.1-mini-2025-04-14`); the same family (`gpt`); any;
# 3. turn, counted in tool results: the same, else the nearest lower, else the nearest higher;
# 4. earlier calls: the more of them are those of the recorded request, the better;
# 5. tools: calls that the request offers, then text, then calls of tools that it does not offer;
# 6. the last text of the user: the same, then any;
# 7. form: saved in the requested form, then converted to it;
# 8. messages: the more at the beginning are the same, the better;
# 9. the order of the paths, of the files' names, of the flows.

_VENDOR = re.compile(r"^.*/")
_VERSION = re.compile(r"(?:[-@]\d{4}-?\d{2}-?\d{2}|-latest|:[^:]*)$")
_FAMILY = re.compile(r"^[a-z]*")


def can_respond(saved: LlmFlow, wanted: RequestKey) -> bool:
    """Whether a saved response fits such a request at all; an HTTP error is the same in all forms."""
    if saved.request_key.protocol != wanted.protocol:
        return False
    return saved.record.streamed or wanted.form is Form.WHOLE or saved.status >= BAD_STATUS


def distance(saved: LlmFlow, wanted: RequestKey, shared_calls: int) -> tuple[int | bool, ...]:
    """The smaller, the better the response fits. Does not look at the protocol.

    `shared_calls`: how many calls both conversations have so far.
    """
    later = wanted.results - saved.request_key.results
    return (
        saved.status >= BAD_STATUS,
        _model_distance(names_of(saved), wanted.model),
        later < 0,
        abs(later),
        -shared_calls,
        _tool_distance(saved, wanted.tools),
        saved.request_key.words != wanted.words,
        form_of(saved) is not wanted.form,
    )


def earlier_calls(path: str, request: Json) -> frozenset[str]:
    """The calls in a request's conversation: their ids, or name and arguments without ids."""
    calls = _conversation(path, request).calls
    return frozenset(call.id or f"{call.name} {call.arguments}" for call in calls)


def _conversation(path: str, request: Json) -> Conversation:
    return match_key.reader_of(path, request).conversation(request)


def shared(recorded: Json, request: Json) -> int:
    """The number of equal messages at the beginning of two requests."""
    pairs = zip(messages_of(recorded), messages_of(request), strict=False)
    return sum(1 for _ in takewhile(lambda pair: equal(*pair), pairs))


def form_of(saved: LlmFlow) -> Form:
    """The framing of the saved body."""
    if not saved.record.streamed:
        return Form.WHOLE
    if saved.chunks and saved.body.lstrip().startswith(b"["):
        return Form.ARRAY
    if saved.chunks and saved.body.startswith(b"\0"):  # the length of a message, which has four bytes
        return Form.MESSAGES
    # One line for each message of a WebSocket.
    lines = saved.chunks and saved.body.startswith(b"{")
    return Form.LINES if lines else named(saved.record.protocol).api.stream_form


def names_of(saved: LlmFlow) -> list[str]:
    """The names of a saved flow's model: the requested one, and that of the response."""
    return [name for name in (saved.request_key.model, saved.record.model) if name]


def _model_distance(names: Sequence[str], wanted: str | None) -> int:
    if wanted is None or wanted in names:
        return 0
    name = _plain(wanted)
    plain = [_plain(one) for one in names]
    if name in plain:
        return 1
    return 2 if _FAMILY.findall(name)[0] in {_FAMILY.findall(one)[0] for one in plain} - {""} else 3


def _plain(model: str) -> str:
    return _VERSION.sub("", _VENDOR.sub("", model.lower()))


def _tool_distance(saved: LlmFlow, offered: frozenset[str]) -> int:
    called = {call.name for call in saved.record.calls}
    if not called:
        return 1
    return 0 if called <= offered else 2


VARYING = frozenset({"stream", "metadata", "user", "safety_identifier", "prompt_cache_key", "client_metadata"})
"""Keys of a request that vary between runs without effect on the response; `stream` is part of the form."""

_SHOWN = 60
"""Characters of a value that are shown."""
_BEFORE = 12
"""Characters of a text that are shown before the first different one."""
_NAME = re.compile(r"[A-Za-z_$][\w$-]*")
# The result of a redaction: a value that is hidden completely or in part.
_HIDDEN = re.compile(r"\[redacted\]|\*{8,}|^\*+$")


class RequestDifference(NamedTuple):
    """The first difference between a recorded request and a new one."""

    at: str
    """JSON path (`messages[2].content`), or `form` or `model` if the bodies are equal."""
    recorded: str
    """The recorded value as JSON, cut; `nothing` if there is none."""
    asked: str

    def __str__(self) -> str:
        return f"{self.at}: recorded {self.recorded}, requested {self.asked}"


def request_difference(recorded: Json, requested: Json, unredacted: Json = ABSENT) -> RequestDifference | None:
    """The first difference of two requests' bodies, or `None` if they are equal as values.

    The order of keys does not count, nor do `VARYING` keys. A redacted part of the recorded one equals any text.
    `unredacted` is `requested` as it was sent: a text counts as equal in either form, because a client repeats the
    texts of redacted responses.
    """
    for path, one, other in _differences(_compared(recorded), _compared(requested), unredacted, ""):
        shown = _texts(one, other) if isinstance(one, str) and isinstance(other, str) else (_shown(one), _shown(other))
        return RequestDifference(path, *shown)
    return None


def _compared(request: Json) -> Json:
    if not isinstance(request, dict):
        return request
    return {key: value for key, value in request.items() if key not in VARYING}


def _differences(one: Json, other: Json, raw: Json, path: str) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in (*one, *(key for key in other if key not in one)):
            inner = raw.get(key, ABSENT) if isinstance(raw, dict) else ABSENT
            yield from _differences(one.get(key, ABSENT), other.get(key, ABSENT), inner, _below(path, key))
    elif isinstance(one, list) and isinstance(other, list):
        for at in range(max(len(one), len(other))):
            inner = _at(raw, at) if isinstance(raw, list) else ABSENT
            yield from _differences(_at(one, at), _at(other, at), inner, f"{path}[{at}]")
    elif not (equal(one, other) or (isinstance(one, str) and (one == raw or _fits(one, other)))):
        yield path or "body", one, other


def _at(values: list[Json], at: int) -> Json:
    return values[at] if at < len(values) else ABSENT


def _below(path: str, key: str) -> str:
    if not _NAME.fullmatch(key):
        return f"{path}[{_shown(key)}]"
    return f"{path}.{key}" if path else key


def _fits(recorded: str, requested: Json) -> bool:
    """Whether `recorded` may be `requested` after redaction."""
    if not isinstance(requested, str) or ("*" not in recorded and "[" not in recorded):
        return False
    parts = _HIDDEN.split(recorded)
    return len(parts) > 1 and has_parts(requested, parts)


def _texts(one: str, other: str) -> tuple[str, str]:
    at = first_difference(one, other)
    start = at - _BEFORE if at + _BEFORE > _SHOWN else 0
    return excerpt(one, start, _SHOWN), excerpt(other, start, _SHOWN)


def _shown(value: Any) -> str:
    """As JSON, cut."""
    if value is ABSENT:
        return "nothing"
    text = shown_json(value)
    return text if len(text) <= _SHOWN or isinstance(value, str) else f"{text[:_SHOWN]}…"


class CallResult(NamedTuple):
    """A tool result with its call."""

    name: str
    arguments: str | None
    """`None` if neither the request nor a saved response has the call."""
    result: ToolResult


def is_finished(record: Record, now: Conversation, recorded: Conversation, saved: Mapping[str, Call]) -> bool:
    """Whether `now` has an accepted result of each call that the `recorded` request does not have.

    A call is identified by its id, or by its name and arguments: a model repeats a call with another id. The correct
    result of a call that a lossy defect damages is a rejection. `saved` are the calls of all saved responses by id, for
    requests with only results.
    """
    wanted = [call for call in to_run(record.calls) if call.complete]
    damaged = [record.calls[place] for place in dropped(record)]
    return bool(wanted) and all(
        _has_result(call, now, recorded, saved, rejectable=any(call is one for one in damaged)) for call in wanted
    )


def _has_result(
    call: Call, now: Conversation, recorded: Conversation, saved: Mapping[str, Call], *, rejectable: bool
) -> bool:
    new, old = ([*_results(call, conversation, saved, rejectable=rejectable)] for conversation in (now, recorded))
    if now.continues:  # each request has only the latest results
        return bool({one.result.text for one in new} - {one.result.text for one in old})
    own = call.id in {one.result.id for one in new} - {one.result.id for one in old} - {""}
    return own or len(new) > len(old)  # a model may poll: the recorded request has such results too


def _results(
    call: Call, conversation: Conversation, saved: Mapping[str, Call], *, rejectable: bool
) -> Iterator[CallResult]:
    for one in _calls_with_results(conversation, saved):
        alike = one.arguments is None or same(one.arguments, call.arguments)
        accepted = rejectable or evidence(one.result).sign is not Sign.REJECTED
        if one.name == call.name and alike and accepted:
            yield one


def _calls_with_results(conversation: Conversation, saved: Mapping[str, Call]) -> Iterator[CallResult]:
    left = list(conversation.results)
    for call in conversation.calls:
        result = next((one for one in left if _responses(one, call.id or "", call.name)), None)
        if result is not None:
            left.remove(result)
            yield CallResult(call.name, call.arguments, result)
    for result in left if conversation.continues else ():
        if known := saved.get(result.id):
            yield CallResult(known.name, known.arguments, result)
        elif not result.id:
            yield CallResult(result.name, None, result)


def _responses(result: ToolResult, identity: str, name: str) -> bool:
    return result.id == identity if result.id and identity else result.name in ("", name)


NEAR = 3
"""Flows that are named if none matches."""


class MatchOutcome(enum.StrEnum):
    """The result of matching a request."""

    EXACT = "exact"
    """With the recorded response to an equal request."""
    DIVERGED = "diverged"
    """With the best fitting response."""
    FINISHED = "finished"
    """With a final text, since the request has the results of the best fitting calls."""
    REFUSED = "refused"
    """With an error, since no flow matches."""


class Near(NamedTuple):
    """A flow that does not match a request, and why."""

    source: str
    why: str


class Match(NamedTuple):
    """The result of matching a request."""

    outcome: MatchOutcome
    wanted: RequestKey
    saved: LlmFlow | None = None
    difference: RequestDifference | None = None
    near: tuple[Near, ...] = ()


def _unchanged(body: bytes, _text: str) -> bytes:
    return body


_MOST_CONVERSATIONS = 1024
"""Maximum number of counted conversations; the least recent one is forgotten."""


type _ConversationKey = tuple[str, frozenset[str], str]
"""Protocol, tools and first messages, which all requests of a conversation share. A title needs no tools."""


def _conversation_key(wanted: RequestKey) -> _ConversationKey:
    return wanted.protocol, wanted.tools, wanted.opening


class _Given(NamedTuple):
    """The number of times that a response was used in a conversation."""

    times: int = 0
    results: int = 0
    """The number of tool results in the last of these requests."""


class Matcher:
    """Matches requests with saved responses, and counts the responses that were used."""

    def __init__(self, flows: Sequence[LlmFlow], *, strict: bool = False, repeats: int = 0) -> None:
        """The earlier of two equally good responses is used. `strict` refuses requests that were not recorded.

        `repeats` limits how often one response is given for equal requests; 0 sets no limit.
        """
        self.flows = tuple(flows)
        self.strict = strict
        self.repeats = repeats
        self._given: dict[_ConversationKey, dict[Key, _Given]] = {}
        """By the conversation and the recorded request: a loop makes the conversation longer. The newest ones only."""

    def match(self, path: str, body: bytes, redact: Redact = _unchanged) -> Match | None:
        """The match for a POST of `body` to `path` (with query); `None` if it is not a completion request.

        Two recorded responses to equal requests are given one after the other, and then the last one again, up to
        `repeats` times. `redact` redacts a request like the recorded ones.
        """
        request = _Request.of(path, body, redact)
        if request is None:
            return None
        self._forget_ended(request.wanted)
        key = self._recorded(request)
        found = (
            self._nearest(request) if key is None else self._given_next(Match(MatchOutcome.EXACT, request.wanted), key)
        )
        if found.outcome is MatchOutcome.FINISHED:
            self._forget_left(request)
        elif found.saved is not None:
            self._forget_left(request, self._keys[id(found.saved)])
        return found

    def has(self, path: str, body: bytes, redact: Redact = _unchanged) -> bool:
        request = _Request.of(path, body, redact)
        return request is not None and self._recorded(request) is not None

    def best(self, wanted: RequestKey, request: Json = ABSENT, path: str = "") -> LlmFlow | None:
        """The flow that fits best, used or not."""
        can = (one for one in self.flows if can_respond(one, wanted) and _warms_up(one.request) is _warms_up(request))
        calls = earlier_calls(path, request)
        fitting = [(distance(one, wanted, self._shared_calls(one, calls)), one) for one in can]
        nearest = min((far for far, _ in fitting), default=None)
        alike = (one for far, one in fitting if far == nearest)
        return max(alike, key=lambda one: shared(one.request, request), default=None)

    def _shared_calls(self, saved: LlmFlow, calls: frozenset[str]) -> int:
        return len(calls & self._earlier_calls[id(saved)])

    @cached_property
    def _earlier_calls(self) -> dict[int, frozenset[str]]:
        """The earlier calls of each flow's conversation, by the flow's identity."""
        return {id(one): earlier_calls(one.path, one.request) for one in self.flows}

    def _recorded(self, request: _Request) -> Key | None:
        """The key of the recorded requests that are equal to one."""
        redacted = (parse(request.redact(request.body, text)) for text in self._texts)
        keys = (_key(request.wanted, one) for one in chain([request.json], redacted))
        return next((key for key in keys if key in self._groups), None)

    def _nearest(self, request: _Request) -> Match:
        best = self.best(request.wanted, request.json, request.path)
        where = None if best is None else request.difference(best)
        if best is None or (self.strict and where is not None):
            return Match(MatchOutcome.REFUSED, request.wanted, near=self._near(request))
        if where is not None and self._is_finished(request, best):
            return Match(MatchOutcome.FINISHED, request.wanted, best, where)
        outcome = MatchOutcome.EXACT if where is None else MatchOutcome.DIVERGED
        return self._given_next(Match(outcome, request.wanted, difference=where), self._keys[id(best)])

    def _given_next(self, match: Match, key: Key) -> Match:
        """The match with the next of the responses to equal requests; refused if the last one is used up."""
        group = self._groups[key]
        counted = self._counted(match.wanted)
        given = counted.get(key, _Given())
        again = given.times - (len(group) - 1)
        if self.repeats and again >= self.repeats:
            why = f"reached the limit of {self.repeats} equal requests (toolstream_provider_repeats)"
            return Match(MatchOutcome.REFUSED, match.wanted, near=(Near(group[-1].source, why),))
        counted[key] = _Given(given.times + 1, match.wanted.results)
        return match._replace(saved=group[min(again, 0) - 1])

    def _counted(self, wanted: RequestKey) -> dict[Key, _Given]:
        """The counts of a conversation, which is the newest one now."""
        conversation = _conversation_key(wanted)
        counted = self._given[conversation] = self._given.pop(conversation, {})
        if len(self._given) > _MOST_CONVERSATIONS:
            del self._given[next(iter(self._given))]
        return counted

    def _forget_ended(self, wanted: RequestKey) -> None:
        """Reset the counts when a client runs again: a request has fewer results, or is the first of a conversation."""
        conversation = _conversation_key(wanted)
        given = self._given.get(conversation, {})
        for key in [key for key, one in given.items() if wanted.results < one.results]:
            del given[key]
        if wanted.opening and not wanted.results:
            self._given.pop((*conversation[:2], ""), None)

    def _forget_left(self, request: _Request, answered: Key | None = None) -> None:
        """Reset the counts of earlier responses of a conversation: a request with more results got another one.

        A request with only results belongs to the conversation with their calls.
        """
        wanted = request.wanted
        if wanted.opening:
            given = self._given.get(_conversation_key(wanted), {})
            left = [(given, key) for key, one in given.items() if wanted.results > one.results]
        else:
            ids = {one.id for one in request.conversation.results if one.id}
            called = {
                key
                for key, group in self._groups.items()
                if any(call.id in ids for one in group for call in one.record.calls)
            }
            left = [(given, key) for given in self._given.values() for key in called & given.keys()]
        for given, key in left:
            if key != answered:
                del given[key]

    def _is_finished(self, request: _Request, best: LlmFlow) -> bool:
        """Whether a request has the results of the calls that the best flow would repeat."""
        recorded = _conversation(best.path, best.request)
        return is_finished(best.record, request.conversation, recorded, self._saved_calls)

    @cached_property
    def _saved_calls(self) -> dict[str, Call]:
        return {call.id: call for one in self.flows for call in one.record.calls if call.id}

    def _near(self, request: _Request) -> tuple[Near, ...]:
        wanted = request.wanted
        calls = earlier_calls(request.path, request.json)

        def rank(one: LlmFlow) -> tuple[int | bool, ...]:
            far = distance(one, wanted, self._shared_calls(one, calls))
            return not can_respond(one, wanted), one.request_key.protocol != wanted.protocol, *far

        return tuple(Near(one.source, request.why_not(one)) for one in sorted(self.flows, key=rank)[:NEAR])

    @cached_property
    def _texts(self) -> list[str]:
        return sorted({one.text for one in self.flows})

    @cached_property
    def _keys(self) -> dict[int, Key]:
        """The key of each flow's request, by the flow's identity."""
        keys = {}
        for one in self.flows:
            wanted = match_key.read(one.path, one.request) or one.request_key
            keys[id(one)] = _key(wanted, one.request)
        return keys

    @cached_property
    def _groups(self) -> dict[Key, list[LlmFlow]]:
        """The responses to equal requests, in their order."""
        groups: defaultdict[Key, list[LlmFlow]] = defaultdict(list)
        for one in self.flows:
            groups[self._keys[id(one)]].append(one)
        return dict(groups)


def _warms_up(request: Json) -> bool:
    """Whether a request over a WebSocket generates nothing: its response fits no other request."""
    return json_access.get(request, "generate") is False


def _key(wanted: RequestKey, request: Json) -> Key:
    """Equal for requests that are equal as values; the base URL, the query and `VARYING` keys do not count."""
    text = json.dumps(_compared(request) if isinstance(request, dict) else None, sort_keys=True, separators=(",", ":"))
    return wanted.protocol, wanted.form, wanted.model, hashlib.sha256(text.encode()).digest()


class _Request(NamedTuple):
    """A request of a client."""

    wanted: RequestKey
    path: str
    body: bytes
    json: Json
    """`body`, parsed once."""
    redact: Redact

    @classmethod
    def of(cls, path: str, body: bytes, redact: Redact) -> _Request | None:
        """A POST of `body` to `path`; `None` if it is not a completion request."""
        wanted = match_key.read(path, request := parse(body))
        return None if wanted is None else cls(wanted, path, body, request, redact)

    @property
    def conversation(self) -> Conversation:
        return _conversation(self.path, self.json)

    def difference(self, saved: LlmFlow) -> RequestDifference | None:
        """Its first difference from a recorded one, without secrets."""
        # Filler text must not be replaced again.
        recorded = parse(self.redact(saved.request_body, TextMode.KEEP))
        request = parse(self.redact(self.body, saved.text))
        where = request_difference(recorded, request, self.json)
        if where is None and saved.request_key.form is not self.wanted.form:
            return RequestDifference("form", saved.request_key.form, self.wanted.form)
        if where is None and saved.request_key.model != self.wanted.model:
            return request_difference({"model": saved.request_key.model}, {"model": self.wanted.model})
        return where

    def why_not(self, saved: LlmFlow) -> str:
        if saved.request_key.protocol != self.wanted.protocol:
            return f"uses another protocol, {saved.request_key.protocol} ({', '.join(names_of(saved)[:1])})"
        if not can_respond(saved, self.wanted):
            return f"was not streamed; the request asks for {self.wanted.form}"
        return f"differs at {self.difference(saved)}"
