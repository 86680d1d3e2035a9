"""Finds evidence in a stream for the arguments of a complete call.

The search is weaker than resolving calls, and independent of it: the stream contains the arguments in one fragment or
in consecutive fragments.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tests.fuzz.blocks import parsed, split_blocks
from tests.fuzz.messages import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENTS = frozenset(
    {"arguments", "partial_json", "delta", "parameters", "args", "input", "argument", "action", "operation", "code"}
)
"""Keys that contain argument text."""
KEYS = ("index", "id", "item_id", "output_index", "call_id", "contentBlockIndex", "toolUseId", "type", "name")
"""Keys that identify the call and the type of a part; clients skip unknown types. Added keys: `root` is the key of the
event that contains the part, and `read` is whether clients know the event's `type`, or the name of a binary message
without a `type`. An event of an unknown type is no evidence, as if it had been lost."""
NO_IDENTITY = frozenset({"", "null"})
"""Values that identify no call."""
NUMBERS = frozenset({"index", "output_index", "contentBlockIndex"})
"""Keys with numeric values: other text identifies no call."""
type Part = tuple[str, dict[str, Any], str]
"""An argument text with its key and its identifying keys, with `odd` if the value is not text."""
PLACEHOLDERS = re.compile(r"^(?:\s*(?:\{\s*\}|null)(?=\s*[{\"]))+")
"""Placeholders before arguments."""
VIA = frozenset({"delta", "message"})
"""Containers of a part: some servers send the same call in both."""
CLOSING = re.compile(
    rb'finish_reason"\s*:\s*"[^"]|\[DONE\]|stop_reason"\s*:\s*"[^"]|message_stop|content_block_stop|arguments\.done'
    rb'|tool-call-end|message-end|contentBlockStop|messageStop|stopReason"\s*:\s*"[^"]|(?m:^metadata )'
    rb'|output_item\.done|response\.(?:completed|incomplete|done)|finishReason|"done"\s*:\s*true'
    rb"|step\.stop|interaction\.completed"
)
"""The end of a call or of the turn, in any protocol."""
_CALL = re.compile(r'\s*(?:\{\s*(?:"name"\s*:\s*"[^"]*"\s*,\s*)?|,\s*)"(?:arguments|parameters|input)"\s*:\s*')
"""The beginning of a call in the text of a model, of its rest after the name, or of an object around arguments."""
_EMPTY = re.compile(
    rb'"(?:arguments|args|parameters)"\s*:\s*\{\s*\}'
    rb'|function_call_arguments\.delta[^\n]*\n?[^\n]*"delta"\s*:\s*\{\s*\}'
    rb'|"delta"\s*:\s*\{\s*"toolUse"\s*:\s*\{[^{}]*"input"\s*:\s*\{\s*\}'
)
"""An object in the place of text; in the start of a Converse or Anthropic block it is no argument."""
_TYPES = re.compile(
    r"content_block_(?:start|delta|stop)|message_(?:start|delta|stop)|response\..+"
    r"|contentBlock(?:Start|Delta|Stop)|message(?:Start|Stop)|metadata"
    r"|(?:tool-call|content|message|citation)-(?:start|delta|end)|tool-plan-delta"
)
NOTHING = {"", "null", "{}", '""'}
READ = {
    ("choices", "choices"): ("delta", "message"),
    ("choices", "delta"): ("tool_calls", "function_call"),
    ("delta", "message"): ("tool_calls",),
}
"""Keys of Chat Completions and Cohere that clients read for arguments, by `root` and parent key."""
_LONE = re.compile(r"(\\\\)|(\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")
"""A lone surrogate escaped by `json.dumps`; escaped backslashes and surrogate pairs are matched to be kept."""


def canonical(value: Any) -> str:
    """Return equal text for equal JSON, without lone surrogates, which a repair removes."""
    text = json.dumps(value, sort_keys=True)
    return _LONE.sub(lambda one: one[1] or one[2] or "", text) if "\\ud" in text else text


class Evidence:
    """The evidence in one body."""

    def __init__(self, body: bytes, content_type: str) -> None:
        self._split = split_blocks(body, content_type)
        self._named = content_type == MESSAGES
        named_data = (one.name.encode() + b" " + (one.data or b"") for one in self._split.blocks)
        self._body = b"\n".join(named_data) if content_type == MESSAGES else body

    @cached_property
    def closed(self) -> bool:
        """Whether anything ends a call or the turn."""
        return CLOSING.search(self._body) is not None

    @cached_property
    def _payloads(self) -> list[Any]:
        """The payloads of all blocks, and of the tail if it lacks only its terminator."""
        tail = self._split.tail.removeprefix(b"\xef\xbb\xbf")
        lines = [line.partition(b":")[2].strip() for line in tail.splitlines() if line.startswith(b"data")]
        last = [*map(parsed, lines), parsed(b"\n".join(lines)), parsed(tail)]
        return [block.payload for block in self._split.blocks] + last

    @cached_property
    def objects(self) -> set[str]:
        """All objects, including those in JSON text."""
        return {canonical(value) for payload in self._payloads for value in _objects(payload, 0)}

    @cached_property
    def messages(self) -> set[str]:
        """The texts of complete messages in the events of a stream."""
        lists = [payload.get("choices") for payload in self._payloads if isinstance(payload, dict)]
        choices = [one for choices in lists if isinstance(choices, list) for one in choices]
        messages = [one.get("message") for one in choices if isinstance(one, dict)]
        return {text for one in messages if isinstance(one, dict) for text in one.values() if isinstance(text, str)}

    @cached_property
    def runs(self) -> list[list[str]]:
        """Argument texts in order: all, by key, and by identity.

        Each list exists with and without values that are not text, which clients skip, and with and without events of
        unknown types; and with an index without a start treated as no index.
        """
        kinds = itertools.zip_longest(self._payloads, self._names, fillvalue="")
        blocks = list(kinds)
        parts = [part for payload, name in blocks for part in _parts(payload, {}, name)]
        in_names = [part for payload, name in blocks for part in _parts(_with_names(payload), {}, name)]
        texts = [part for part in parts if "odd" not in part[1]]
        read = [part for part in parts if part[1]["read"]]
        others = [some for some in (texts, read, in_names, self._with_started_indexes(parts)) if some != parts]
        runs = [run for some in (parts, *others) for run in _runs(some)]
        choices = {str(keys["choice"]) for _, keys, _ in texts if "choice" in keys}
        for choice in choices if len(choices) > 1 else ():  # parts without identity belong to calls of their own choice
            runs += _runs([part for part in texts if str(part[1].get("choice")) == choice])
        return runs + self._runs_of_items(texts)

    @property
    def _names(self) -> list[str]:
        """The names of the blocks; an event without name and type is of an unknown type if others have types."""
        names = [block.name for block in self._split.blocks]
        types = [payload.get("type") for payload in self._payloads if isinstance(payload, dict)]
        if self._named or not any(isinstance(kind, str) and _TYPES.fullmatch(kind) for kind in types):
            return names if self._named else []
        return [name or "?" for name in names]

    def _with_started_indexes(self, parts: list[Part]) -> list[Part]:
        """Return the parts without indexes that have no start."""
        starts = [one for one in self._payloads if isinstance(one, dict) and ("content_block" in one or "start" in one)]
        started = {(name, str(one[name])) for one in starts for name in NUMBERS & one.keys()}
        names = {name for name, _ in started}
        return [
            (key, {name: one for name, one in keys.items() if name not in names or (name, str(one)) in started}, text)
            for key, keys, text in parts
        ]

    def _runs_of_items(self, parts: list[Part]) -> list[list[str]]:
        """Group the deltas of all Responses items with the same `call_id`."""
        items = [item for payload in self._payloads if isinstance(payload, dict) for item in [payload.get("item")]]
        known = {str(one.get("id")): str(one.get("call_id")) for one in items if isinstance(one, dict)}
        found: dict[str, list[str]] = defaultdict(list)
        for _, keys, text in parts:
            call = known.get(str(keys.get("item_id", keys.get("id"))))
            if call is not None:
                found[call].append(text)
        return list(found.values())

    def proves(self, value: dict[str, Any]) -> bool:
        """Return whether the body contains these arguments, complete or in consecutive parts."""
        expected = canonical(value)
        if not value:
            return self._proves_empty()
        if expected in self.objects or any(
            _begins_somewhere(run, expected) for run in [*self.runs, *self._headless, *self._in_calls]
        ):
            return True
        return self._proves_members({key: canonical(one) for key, one in value.items()})

    @cached_property
    def _headless(self) -> list[list[str]]:
        """The runs without the beginning of an object, with that beginning added."""
        headless = [run for run in self.runs if "".join(run).lstrip()[:1] not in {"{", ""}]
        return [[beginning, *run] for beginning in ("{", '{"') for run in headless]

    @cached_property
    def _in_calls(self) -> list[list[str]]:
        """The arguments of the runs that are a complete call as text."""
        joined = ["".join(run) for run in self.runs]
        return [[run[head.end() :]] for run in joined if (head := _CALL.match(run)) and run.rstrip().endswith("}")]

    def _proves_members(self, expected: dict[str, str]) -> bool:
        """Return whether the members of the objects in `arguments` add up to exactly these."""
        objects = [json.loads(one) for one in self._objects_for_text]
        members = [{key: canonical(one) for key, one in each.items()} for each in objects]
        matching = [one for one in members if one and one.items() <= expected.items()]
        return {key for one in matching for key in one} == expected.keys()

    @cached_property
    def _objects_for_text(self) -> set[str]:
        """Objects in the place of argument text."""
        found = [one for payload in self._payloads for one in _objects(payload, 0)]
        return {json.dumps(one["arguments"]) for one in found if isinstance(one.get("arguments"), dict)}

    def _proves_empty(self) -> bool:
        """Return whether the body contains `{}` as arguments, or no arguments and an end."""
        return self.has_empty or (self.closed and "".join(map("".join, self.runs[:1])).strip() in NOTHING)

    @cached_property
    def has_empty(self) -> bool:
        """Whether any arguments are `{}`, except `input` in the start of a block, which always is."""
        return any("{}" in "".join("".join(run).split()) for run in self.runs) or _EMPTY.search(self._body) is not None


def _runs(parts: list[Part]) -> list[list[str]]:
    found: dict[object, list[str]] = defaultdict(list)
    identities = {(name, str(value)) for _, keys, _ in parts for name, value in keys.items()}
    for key, keys, text in parts:
        found[None].append(text)
        found[key].append(text)
        for name, value in keys.items():
            found[name, str(value)].append(text)
        for name in NUMBERS & keys.keys():  # a strict client joins the parts of one index and one type
            found["under", name, str(keys[name]), key].append(text)
            if "type" in keys:
                found["both", name, str(keys[name]), str(keys["type"])].append(text)
        for name in NUMBERS - keys.keys():  # parts without an index may all belong to one call
            found["without", name].append(text)
        for name, expected in identities:  # a part without identity may belong to any call
            if name not in keys or str(keys[name]) == expected:
                found["or unidentified", name, expected].append(text)
    return list(found.values()) + _runs_of_continuations(parts)


def _runs_of_continuations(parts: list[Part]) -> list[list[str]]:
    """Group by identity; a part without index, id and name continues the part before it."""
    found: dict[object, list[str]] = defaultdict(list)
    before: object = None
    for _, keys, text in parts:
        identity = next(
            ((name, str(keys[name])) for name in KEYS if name in keys and name not in {"type", "item_id"}), None
        )
        before = identity or before
        found[before].append(text)
    return list(found.values())


def _objects(value: Any, depth: int) -> Iterator[Any]:
    """Yield the objects inside a value, including those in JSON text."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner, depth)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner, depth)
    elif isinstance(value, str) and depth < 3:
        text = value.lstrip()
        if text[:1] in {"{", '"'} and (inner := _first(text)) is not None:
            yield from _objects(inner, depth + 1)


def _first(text: str) -> Any:
    """Return the JSON at the beginning of a text, or `None`."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _parts(value: Any, keys: dict[str, Any], name: str = "") -> Iterator[Part]:
    """Yield argument texts, each with its key and its identifying keys; `name` is the name of the event."""
    if isinstance(value, list):
        by_place = keys.get("via") == "message" and keys["within"] == "tool_calls"
        for at, inner in enumerate(value):  # a message's calls have no index, only a position
            yield from _parts(inner, {**keys, "place": at} if by_place else keys)
        return
    if not isinstance(value, dict):
        return
    keys = keys or {"read": _is_read(value["type"] if "type" in value else _kind(value, name))}
    mine = {key: keys[key] for key in keys if key not in value}
    mine |= {key: value[key] for key in KEYS if _identifies(key, value.get(key))}
    for key, inner in value.items():
        mine = {**mine, "root": keys.get("root", key)}
        if isinstance(inner, str) and _is_argument(key, keys):
            yield key, mine, inner
        elif key in ARGUMENTS and isinstance(inner, int | float):
            yield key, {**mine, "odd": True}, json.dumps(inner)
        elif key == "arguments" and isinstance(inner, dict):  # an object in the place of text counts as its JSON text
            yield key, mine, json.dumps(inner, separators=(",", ":"))
        else:
            if key == "partial_json" and inner is not None:  # other values count as their JSON text
                yield key, {**mine, "odd": True}, json.dumps(inner, separators=(",", ":"))
            yield from _parts(inner, _within(key, mine, keys.get("within")))


def _with_names(value: Any) -> Any:
    """Return the value with a lone function name treated as a fragment of arguments."""
    if isinstance(value, list):
        return [_with_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    function = value.get("function")
    if isinstance(function, dict) and isinstance(function.get("name"), str) and not function.get("arguments"):
        return {**value, "function": {"arguments": function["name"]}}
    return {key: _with_names(one) for key, one in value.items()}


def _within(key: str, mine: dict[str, Any], above: object) -> dict[str, Any]:
    """Return the identifying keys for the value of `key`, in an object that is the value of `above`."""
    outer = mine
    # A choice's index is not the index of its calls.
    if key in {"tool_calls", "function_call"} and mine["root"] == "choices":
        outer = {name: mine[name] for name in ("via", "root", "read") if name in mine}
        outer |= {"choice": mine["index"]} if "index" in mine else {}
    if key not in READ.get((str(mine["root"]), str(above)), (key,)):
        outer = {**outer, "read": False}
    return {**outer, "within": key, **({"via": key} if key in VIA else {})}


def _kind(event: dict[str, Any], name: str) -> str:
    """Return the type of a message without `type`: its name, or the only key of an event of a Nova model."""
    return next((key for key in event if _TYPES.fullmatch(key)), name)


def _is_read(kind: object) -> bool:
    """Return whether clients know this type of event."""
    return isinstance(kind, str) and (not kind or _TYPES.fullmatch(kind) is not None)


def _begins_somewhere(run: list[str], expected: str) -> bool:
    """Return whether consecutive parts are these arguments, as JSON or as doubly encoded JSON."""
    for at, part in enumerate(run):
        if part.lstrip()[:1] not in {"{", '"', "\\"} and "{" not in part:
            continue
        joined = PLACEHOLDERS.sub("", "".join(run[at:]))
        for begin in {0, joined.find("{")} - {-1}:
            value = _first(joined[begin:].lstrip())
            if isinstance(value, str):
                value = _first(value.lstrip())
            if value is not None and canonical(value) == expected:
                return True
    return False


def _is_argument(key: str, keys: dict[str, Any]) -> bool:
    """Return whether the text of a key is argument text; `delta` is only at the top level of an event."""
    return key in ARGUMENTS and (key != "delta" or "root" not in keys)


def _identifies(key: str, value: Any) -> bool:
    if not isinstance(value, str | int) or value in NO_IDENTITY:
        return False
    return not (key in NUMBERS and isinstance(value, str)) or value.strip().removeprefix("-").isdecimal()
