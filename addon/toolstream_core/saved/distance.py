"""How far a request is from a recorded one, and the first place at which they differ."""

from __future__ import annotations

import json
import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from toolstream_core.model import ABSENT
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests import asked
from toolstream_core.saved.flow import BAD_STATUS
from toolstream_core.wire import json_access
from toolstream_core.wire.form import Form

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Json
    from toolstream_core.protocols.requests.asked import Asked
    from toolstream_core.saved.flow import Fixture


# Which saved answer fits a request best that was not recorded, the first difference counting:
#
# 1. the protocol must be the same, and who asks for a stream can only be given what was streamed, or an HTTP
#    error, which comes behind everything else;
# 2. model: the same, as asked for or as answered; the same but for vendor, date or tag (`gpt-4.1-mini`,
#    `openai/gpt-4.1-mini`, `gpt-4.1-mini-2025-04-14`); the same family (`gpt`); any;
# 3. turn, counted in tool results: the same, else the nearest lower, else the nearest higher;
# 4. earlier calls: the more of them are those of the recorded request, the better;
# 5. tools: calls that the request offers, then text, then calls of tools that it does not offer;
# 6. the user's last words: the same, then any;
# 7. form: saved in the form asked for, then one that is made into it;
# 8. messages: the more at the beginning are the same, the better;
# 9. the order of the paths, of the files' names, of the flows.

_VENDOR = re.compile(r"^.*/")
_VERSION = re.compile(r"(?:[-@]\d{4}-?\d{2}-?\d{2}|-latest|:[^:]*)$")
_FAMILY = re.compile(r"^[a-z]*")


def can_say(fixture: Fixture, wanted: Asked) -> bool:
    """Whether a fixture's answer can be given to such a request at all; an HTTP error is the same in all forms."""
    if fixture.asked.dialect != wanted.dialect:
        return False
    return fixture.record.streamed or wanted.form is Form.WHOLE or fixture.status >= BAD_STATUS


def distance(fixture: Fixture, wanted: Asked, shared_calls: int) -> tuple[int | bool, ...]:
    """The smaller, the better the answer fits. Does not look at the protocol.

    `shared_calls`: how many calls both conversations have so far.
    """
    later = wanted.results - fixture.asked.results
    return (
        fixture.status >= BAD_STATUS,
        _model_distance(names_of(fixture), wanted.model),
        later < 0,
        abs(later),
        -shared_calls,
        _tool_distance(fixture, wanted.tools),
        fixture.asked.words != wanted.words,
        form_of(fixture) is not wanted.form,
    )


def earlier_calls(path: str, request: Json) -> frozenset[str]:
    """The calls that a request's conversation has so far: their ids, or name and arguments where there are none."""
    calls = asked.reader_of(path, request).conversation(request).calls
    return frozenset(call.id or f"{call.name} {call.arguments}" for call in calls)


def shared(recorded: Json, request: Json) -> int:
    """How many messages at the beginning of two requests are equal."""
    pairs = zip(_messages(recorded), _messages(request), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _messages(request: Json) -> list[Json]:
    found = (json_access.get(request, key) for key in ("messages", "input", "contents"))
    return next((one for one in found if isinstance(one, list)), [])


def form_of(fixture: Fixture) -> Form:
    """How the saved body is cut."""
    if not fixture.record.streamed:
        return Form.WHOLE
    if fixture.chunks and fixture.body.lstrip().startswith(b"["):
        return Form.ARRAY
    if fixture.chunks and fixture.body.startswith(b"\0"):  # the length of a message, which has four bytes
        return Form.MESSAGES
    # One line for each message of a WebSocket.
    lines = fixture.chunks and fixture.body.startswith(b"{")
    return Form.LINES if lines else named(fixture.record.dialect).form


def names_of(fixture: Fixture) -> list[str]:
    """What a fixture's model is called: as it was asked for, and as the answer said it."""
    return [name for name in (fixture.asked.model, fixture.record.model) if name]


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


def _tool_distance(fixture: Fixture, offered: frozenset[str]) -> int:
    called = {call.name for call in fixture.record.calls}
    if not called:
        return 1
    return 0 if called <= offered else 2


VARYING = frozenset({"stream", "metadata", "user", "safety_identifier", "prompt_cache_key", "client_metadata"})
"""Keys of a request that differ from run to run and say nothing of the answer; `stream` is part of the form."""

_SHOWN = 60
"""Characters of a value that are shown."""
_BEFORE = 12
"""Characters of a text that are shown before the first different one."""
_NAME = re.compile(r"[A-Za-z_$][\w$-]*")
# What a redaction leaves: a value that is hidden whole, or a part of one.
_HIDDEN = re.compile(r"\[redacted\]|\*{8,}|^\*+$")


class Parting(NamedTuple):
    """The first difference between a recorded request and one that was made."""

    at: str
    """JSON path (`messages[2].content`), or `form` or `model` where the bodies are equal."""
    recorded: str
    """The recorded value as JSON, cut; `nothing` where there is none."""
    asked: str

    def __str__(self) -> str:
        """For people, on one line."""
        return f"{self.at}: recorded {self.recorded}, requested {self.asked}"


def parting(recorded: Json, asked: Json, unredacted: Json = ABSENT) -> Parting | None:
    """Where two requests' bodies part, or `None` if they are equal as values.

    The order of keys does not count, nor do `VARYING` keys. What was redacted from the recorded one may be anything.
    `unredacted` is `asked` as it was sent: a text counts as equal in either form, since a client says again what a
    redacted answer told it.
    """
    for path, one, other in _differences(_compared(recorded), _compared(asked), unredacted, ""):
        shown = _texts(one, other) if isinstance(one, str) and isinstance(other, str) else (_shown(one), _shown(other))
        return Parting(path, *shown)
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
    elif not _equal(one, other) and not (isinstance(one, str) and one == raw):
        yield path or "body", one, other


def _at(values: list[Json], at: int) -> Json:
    return values[at] if at < len(values) else ABSENT


def _below(path: str, key: str) -> str:
    if not _NAME.fullmatch(key):
        return f"{path}[{_shown(key)}]"
    return f"{path}.{key}" if path else key


def _equal(one: Json, other: Json) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one == other or _fits(one, other)
    # To Python `true` is 1.
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _fits(recorded: str, asked: str) -> bool:
    """Whether `asked` may be what `recorded` was before something was redacted from it."""
    if "*" not in recorded and "[" not in recorded:
        return False
    first, *others = _HIDDEN.split(recorded)
    if not others or not asked.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        found = asked.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(asked) - at >= len(others[-1]) and asked.endswith(others[-1])


def _texts(one: str, other: str) -> tuple[str, str]:
    pairs = enumerate(zip(one, other, strict=False))
    at = next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
    start = at - _BEFORE if at + _BEFORE > _SHOWN else 0
    return _cut(one, start), _cut(other, start)


def _cut(text: str, start: int) -> str:
    cut = text[start : start + _SHOWN]
    return f"{'…' if start else ''}{_shown(cut)}{'…' if start + _SHOWN < len(text) else ''}"


def _shown(value: Any) -> str:
    """As JSON, cut, with nothing in it that steers a terminal."""
    if value is ABSENT:
        return "nothing"
    plain = json.dumps(value, ensure_ascii=False)
    text = plain if plain.isprintable() else json.dumps(value)
    return text if len(text) <= _SHOWN or isinstance(value, str) else f"{text[:_SHOWN]}…"
