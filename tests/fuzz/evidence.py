"""What a stream says that arguments may be made of: a call that is whole behind a repair must have been said.

Weaker than a reading of calls, and so independent of it: whoever wrote the stream said these arguments somewhere,
in one piece or in pieces that follow each other.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tests.fuzz.blocks import cut, parsed
from tests.fuzz.messages import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENTS = frozenset(
    {"arguments", "partial_json", "delta", "parameters", "args", "input", "argument", "action", "operation", "code"}
)
"""Keys under which argument text comes."""
KEYS = ("index", "id", "item_id", "output_index", "call_id", "contentBlockIndex", "toolUseId", "type", "name")
"""Keys that say whose a part is, and of which form it is: clients skip forms that they do not know. `root` is the key
of its event under which it stands, and `read` whether the event's `type` is one, or, in a binary message that has none,
its name: an event of a form that no client knows says nothing to anybody, as if it had been lost on the way."""
NOBODY = frozenset({"", "null"})
"""What stands there where nobody is meant."""
NUMBERS = frozenset({"index", "output_index", "contentBlockIndex"})
"""Keys whose values are numbers: a text that is none means nobody, too."""
type Part = tuple[str, dict[str, Any], str]
"""An argument text with its key, and the keys that say whose it is; `odd` is among them where it is no text."""
PLACEHOLDERS = re.compile(r"^(?:\s*(?:\{\s*\}|null)(?=\s*[{\"]))+")
"""What stands for the arguments that follow it."""
VIA = frozenset({"delta", "message"})
"""Where a part stands: some servers say the same in both."""
CLOSING = re.compile(
    rb'finish_reason"\s*:\s*"[^"]|\[DONE\]|stop_reason"\s*:\s*"[^"]|message_stop|content_block_stop|arguments\.done'
    rb'|tool-call-end|message-end|contentBlockStop|messageStop|stopReason"\s*:\s*"[^"]|(?m:^metadata )'
    rb'|output_item\.done|response\.(?:completed|incomplete|done)|finishReason|"done"\s*:\s*true'
    rb"|step\.stop|interaction\.completed"
)
"""Whatever says, in any protocol, that a call or the turn is over."""
_CALL = re.compile(r'\s*\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"(?:arguments|parameters)"\s*:\s*')
"""The beginning of a complete call, as models write it."""
_EMPTY = re.compile(
    rb'"(?:arguments|args|parameters)"\s*:\s*\{\s*\}'
    rb'|function_call_arguments\.delta[^\n]*\n?[^\n]*"delta"\s*:\s*\{\s*\}'
    rb'|"delta"\s*:\s*\{\s*"toolUse"\s*:\s*\{[^{}]*"input"\s*:\s*\{\s*\}'
)
"""An object where text belongs; what stands so in the start of a Converse or Anthropic block is no argument."""
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
"""Keys of Chat Completions and of Cohere beside which clients read no arguments, by `root` and the key above them."""
_LONE = re.compile(r"(\\\\)|(\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..")
"""What `json.dumps` writes for half a character; a backslash and a whole character are passed over."""


def canonical(value: Any) -> str:
    """Equal for equal JSON; half of a character that two deltas cut says nothing, and a repair leaves it out."""
    text = json.dumps(value, sort_keys=True)
    return _LONE.sub(lambda one: one[1] or one[2] or "", text) if "\\ud" in text else text


class Evidence:
    """What one body says."""

    def __init__(self, body: bytes, content_type: str) -> None:
        self._cut = cut(body, content_type)
        self._named = content_type == MESSAGES
        said = (one.name.encode() + b" " + (one.data or b"") for one in self._cut.blocks)
        self._body = b"\n".join(said) if content_type == MESSAGES else body

    @cached_property
    def closed(self) -> bool:
        """Whether anything says that a call or the turn is over."""
        return CLOSING.search(self._body) is not None

    @cached_property
    def _payloads(self) -> list[Any]:
        """All blocks, and the tail where it is whole but for its terminator."""
        tail = self._cut.tail.removeprefix(b"\xef\xbb\xbf")
        lines = [line.partition(b":")[2].strip() for line in tail.splitlines() if line.startswith(b"data")]
        last = [*map(parsed, lines), parsed(b"\n".join(lines)), parsed(tail)]
        return [block.payload for block in self._cut.blocks] + last

    @cached_property
    def said(self) -> set[str]:
        """Every object that stands anywhere, as it is or as the text of it."""
        return {canonical(value) for payload in self._payloads for value in _objects(payload, 0)}

    @cached_property
    def messages(self) -> set[str]:
        """Texts of whole messages within a stream's events."""
        said = [payload.get("choices") for payload in self._payloads if isinstance(payload, dict)]
        choices = [one for choices in said if isinstance(choices, list) for one in choices]
        messages = [one.get("message") for one in choices if isinstance(one, dict)]
        return {text for one in messages if isinstance(one, dict) for text in one.values() if isinstance(text, str)}

    @cached_property
    def runs(self) -> list[list[str]]:
        """Argument text in order: all of it, that under each key, within each object, and of each that says whose.

        Each with and without what is no text, which clients that join text pass over, and what only events of an
        unknown form say; and with an index that nothing starts as none.
        """
        kinds = itertools.zip_longest(self._payloads, self._names, fillvalue="")
        blocks = list(kinds)
        parts = [part for payload, name in blocks for part in _parts(payload, {}, name)]
        in_names = [part for payload, name in blocks for part in _parts(_with_names(payload), {}, name)]
        texts = [part for part in parts if "odd" not in part[1]]
        read = [part for part in parts if part[1]["read"]]
        others = [some for some in (texts, read, in_names, self._of_started(parts)) if some != parts]
        runs = [run for some in (parts, *others) for run in _runs(some)]
        choices = {str(keys["choice"]) for _, keys, _ in texts if "choice" in keys}
        for choice in choices if len(choices) > 1 else ():  # nobody's parts of one choice are none of another's calls
            runs += _runs([part for part in texts if str(part[1].get("choice")) == choice])
        return runs + self._runs_of_items(texts)

    @property
    def _names(self) -> list[str]:
        """The blocks' names; where events have types, one that has neither is none that clients know."""
        names = [block.name for block in self._cut.blocks]
        types = [payload.get("type") for payload in self._payloads if isinstance(payload, dict)]
        if self._named or not any(isinstance(kind, str) and _TYPES.fullmatch(kind) for kind in types):
            return names if self._named else []
        return [name or "?" for name in names]

    def _of_started(self, parts: list[Part]) -> list[Part]:
        """The parts, an index left out that is none of those under which anything starts."""
        starts = [one for one in self._payloads if isinstance(one, dict) and ("content_block" in one or "start" in one)]
        started = {(name, str(one[name])) for one in starts for name in NUMBERS & one.keys()}
        names = {name for name, _ in started}
        return [
            (key, {name: one for name, one in keys.items() if name not in names or (name, str(one)) in started}, text)
            for key, keys, text in parts
        ]

    def _runs_of_items(self, parts: list[Part]) -> list[list[str]]:
        """The same of all Responses items that say the same `call_id`: their deltas name the item alone."""
        items = [item for payload in self._payloads if isinstance(payload, dict) for item in [payload.get("item")]]
        known = {str(one.get("id")): str(one.get("call_id")) for one in items if isinstance(one, dict)}
        found: dict[str, list[str]] = defaultdict(list)
        for _, keys, text in parts:
            call = known.get(str(keys.get("item_id", keys.get("id"))))
            if call is not None:
                found[call].append(text)
        return list(found.values())

    def proves(self, value: dict[str, Any]) -> bool:
        """Whether these arguments were said: whole somewhere, or in parts one after the other."""
        wanted = canonical(value)
        if not value:
            return self._proves_nothing()
        if wanted in self.said or any(
            _begins_somewhere(run, wanted) for run in [*self.runs, *self._headless, *self._in_calls]
        ):
            return True
        return self._proves_members({key: canonical(one) for key, one in value.items()})

    @cached_property
    def _headless(self) -> list[list[str]]:
        """The runs that do not begin with an object, with what they may lack before it."""
        headless = [run for run in self.runs if "".join(run).lstrip()[:1] not in {"{", ""}]
        return [[beginning, *run] for beginning in ("{", '{"') for run in headless]

    @cached_property
    def _in_calls(self) -> list[list[str]]:
        """The arguments within the runs that are a complete call."""
        joined = ["".join(run) for run in self.runs]
        return [[run[head.end() :]] for run in joined if (head := _CALL.match(run)) and run.rstrip().endswith("}")]

    def _proves_members(self, wanted: dict[str, str]) -> bool:
        """Whether objects under `arguments` have these members, and no others, each key once."""
        objects = [json.loads(one) for one in self._objects_for_text]
        members = [{key: canonical(one) for key, one in each.items()} for each in objects]
        mine = [one for one in members if one and one.items() <= wanted.items()]
        return {key for one in mine for key in one} == wanted.keys()

    @cached_property
    def _objects_for_text(self) -> set[str]:
        """Objects that stand where argument text belongs."""
        said = [one for payload in self._payloads for one in _objects(payload, 0)]
        return {json.dumps(one["arguments"]) for one in said if isinstance(one.get("arguments"), dict)}

    def _proves_nothing(self) -> bool:
        """`{}` was meant: somebody says so, or nothing at all is said and that it is over."""
        return self.says_empty or (self.closed and "".join(map("".join, self.runs[:1])).strip() in NOTHING)

    @cached_property
    def says_empty(self) -> bool:
        """Whether arguments are said to be `{}` anywhere; `input` in a block's start is always that."""
        return any("{}" in "".join("".join(run).split()) for run in self.runs) or _EMPTY.search(self._body) is not None


def _runs(parts: list[Part]) -> list[list[str]]:
    found: dict[object, list[str]] = defaultdict(list)
    whose = {(name, str(value)) for _, keys, _ in parts for name, value in keys.items()}
    for key, keys, text in parts:
        found[None].append(text)
        found[key].append(text)
        for name, value in keys.items():
            found[name, str(value)].append(text)
        for name in NUMBERS & keys.keys():  # who reads by the letter takes the parts of one index that are of one form
            found["under", name, str(keys[name]), key].append(text)
            if "type" in keys:
                found["both", name, str(keys[name]), str(keys["type"])].append(text)
        for name in NUMBERS - keys.keys():  # those that say no index may all be one's
            found["without", name].append(text)
        for name, wanted in whose:  # a part that does not say whose it is may be anybody's
            if name not in keys or str(keys[name]) == wanted:
                found["or nobody's", name, wanted].append(text)
    return list(found.values()) + _runs_of_what_follows(parts)


def _runs_of_what_follows(parts: list[Part]) -> list[list[str]]:
    """By index, where a part that says neither index nor id nor name goes on with the part before it."""
    found: dict[object, list[str]] = defaultdict(list)
    before: object = None
    for _, keys, text in parts:
        whose = next(
            ((name, str(keys[name])) for name in KEYS if name in keys and name not in {"type", "item_id"}), None
        )
        before = whose or before
        found[before].append(text)
    return list(found.values())


def _objects(value: Any, depth: int) -> Iterator[Any]:
    """The objects within a value, also within its texts."""
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
    """The JSON that a text begins with, whatever follows."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def _parts(value: Any, keys: dict[str, Any], name: str = "") -> Iterator[Part]:
    """Argument texts, each with its own key and those that say whose it is; `name` is that of the event."""
    if isinstance(value, list):
        by_place = keys.get("via") == "message" and keys["within"] == "tool_calls"
        for at, inner in enumerate(value):  # a message's calls have no index: their place tells them apart
            yield from _parts(inner, {**keys, "place": at} if by_place else keys)
        return
    if not isinstance(value, dict):
        return
    keys = keys or {"read": _is_read(value["type"] if "type" in value else _kind(value, name))}
    mine = {key: keys[key] for key in keys if key not in value}
    mine |= {key: value[key] for key in KEYS if _says_whose(key, value.get(key))}
    for key, inner in value.items():
        mine = {**mine, "root": keys.get("root", key)}
        if isinstance(inner, str) and _is_argument(key, keys):
            yield key, mine, inner
        elif key in ARGUMENTS and isinstance(inner, int | float):
            yield key, {**mine, "odd": True}, json.dumps(inner)
        elif key == "arguments" and isinstance(inner, dict):  # an object where text belongs is its text
            yield key, mine, json.dumps(inner, separators=(",", ":"))
        else:
            if key == "partial_json" and inner is not None:  # what is no text there is said as the text of it
                yield key, {**mine, "odd": True}, json.dumps(inner, separators=(",", ":"))
            yield from _parts(inner, _within(key, mine, keys.get("within")))


def _with_names(value: Any) -> Any:
    """The value, where a function has only a name that is taken for a part of arguments."""
    if isinstance(value, list):
        return [_with_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    function = value.get("function")
    if isinstance(function, dict) and isinstance(function.get("name"), str) and not function.get("arguments"):
        return {**value, "function": {"arguments": function["name"]}}
    return {key: _with_names(one) for key, one in value.items()}


def _within(key: str, mine: dict[str, Any], above: object) -> dict[str, Any]:
    """What is known of whatever stands under `key` in an object, which stands under the key `above` itself."""
    outer = mine
    # A choice's index is that of none of its calls.
    if key in {"tool_calls", "function_call"} and mine["root"] == "choices":
        outer = {name: mine[name] for name in ("via", "root", "read") if name in mine}
        outer |= {"choice": mine["index"]} if "index" in mine else {}
    if key not in READ.get((str(mine["root"]), str(above)), (key,)):
        outer = {**outer, "read": False}
    return {**outer, "within": key, **({"via": key} if key in VIA else {})}


def _kind(event: dict[str, Any], name: str) -> str:
    """What a message without a type is: its name, or the one key under which Nova's models say it."""
    return next((key for key in event if _TYPES.fullmatch(key)), name)


def _is_read(kind: object) -> bool:
    """Whether clients know this type of event."""
    return isinstance(kind, str) and (not kind or _TYPES.fullmatch(kind) is not None)


def _begins_somewhere(run: list[str], wanted: str) -> bool:
    """Whether arguments begin with some part and go on in those behind it, as they are or encoded once more."""
    for at, part in enumerate(run):
        if part.lstrip()[:1] not in {"{", '"', "\\"} and "{" not in part:
            continue
        joined = PLACEHOLDERS.sub("", "".join(run[at:]))
        for begin in {0, joined.find("{")} - {-1}:
            value = _first(joined[begin:].lstrip())
            if isinstance(value, str):
                value = _first(value.lstrip())
            if value is not None and canonical(value) == wanted:
                return True
    return False


def _is_argument(key: str, keys: dict[str, Any]) -> bool:
    """Whether a text under a key is of arguments; `delta` is within an event alone."""
    return key in ARGUMENTS and (key != "delta" or "root" not in keys)


def _says_whose(key: str, value: Any) -> bool:
    if not isinstance(value, str | int) or value in NOBODY:
        return False
    return not (key in NUMBERS and isinstance(value, str)) or value.strip().removeprefix("-").isdecimal()
