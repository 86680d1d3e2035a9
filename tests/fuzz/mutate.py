"""Makes cases: streams with random changes of events, JSON and bytes, and random options."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from tests.fuzz.case import Case
from tests.fuzz.messages import MESSAGES, as_lines, messages, of_lines
from tests.fuzz.odd import odd_request, with_odd_values
from tests.fuzz.small import drawn
from tests.tables import INJECTORS, SHAPES
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import Session
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.model import ABSENT
from toolstream_core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.fuzz.corpus import Seed

UNSAFE: Final = [defect.name for defect in DEFECTS if defect.repair == "unsafe"]
SAFE: Final = [defect.name for defect in DEFECTS if defect.repair == "safe"]
TEXTS: Final = {
    "arguments",
    "partial_json",
    "delta",
    "content",
    "text",
    "thinking",
    "reasoning_content",
    "input",
    "tool_plan",
}
"""Keys whose text may be sent in several deltas."""

IDENTITY: Final = frozenset(
    {"index", "id", "item_id", "output_index", "call_id", "toolUseId", "contentBlockIndex", "name"}
)
"""Keys that identify the call of an event."""
SMALL: Final = 0.2
"""The share of cases with a small stream."""

type Blocks = list[bytes]
type Mutation = Callable[[Blocks, random.Random], None]


def case(seeds: Sequence[Seed], seed: str) -> Case:
    """Return the case of a random seed."""
    dice = random.Random(seed)
    small = drawn(sorted({one.protocol for one in seeds}), dice) if dice.random() < SMALL else None
    original = small or _drawn(seeds, seed)
    applied: list[str] = []
    body = original.body
    if dice.random() < 0.35:
        body = _injected(original, body, dice, applied)
    binary = original.content_type == MESSAGES
    blocks = _editable(original, body)
    if dice.random() < 0.1:
        blocks = _spliced(blocks, seeds, original, dice, applied)
    for _ in range(dice.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        name, change = dice.choice(MUTATIONS)
        applied.append(name)
        blocks = [block for block in blocks if block]
        if blocks:
            change(blocks, dice)
    body = of_lines(blocks) if binary else b"".join(blocks)
    if dice.random() < 0.2:
        body = _bytes(body, dice, applied)
    repair, shape = _options(original.protocol, dice)
    return Case(
        protocol=original.protocol,
        body=body,
        content_type=original.content_type if dice.random() < 0.97 else "",
        path=original.path if dice.random() < 0.8 else "",
        request=_request(original, body, dice),
        repair=repair,
        shape=shape,
        broken="the connection was reset" if dice.random() < 0.25 else None,
        seed=seed,
        origin=f"{original.name}: {', '.join(applied)}",
    )


def _drawn(seeds: Sequence[Seed], word: str) -> Seed:
    """Select a stream; for most words the selection does not change when streams are added."""
    begin = crc32(f"{word} ".encode())
    return max(seeds, key=lambda one: crc32(one.name.encode(), begin))


def _editable(seed: Seed, body: bytes) -> Blocks:
    """Return the events of a body; binary messages as lines of text."""
    return as_lines(body) if seed.content_type == MESSAGES else split(body)


def split(body: bytes) -> Blocks:
    """Return the events of a body, each with its terminator."""
    if body.startswith(b"\0"):
        found, rest = messages(body)
        return [one.raw for one in found] + ([rest] if rest else [])
    for end in (b"\r\n\r\n", b"\n\n", b"\n", b"},"):
        if body.count(end) > 1 or (end in body and body.endswith(end)):
            *blocks, rest = body.split(end)
            return [block + end for block in blocks] + ([rest] if rest else [])
    return [body]


def _injected(original: Seed, body: bytes, dice: random.Random, applied: list[str]) -> bytes:
    """Inject one or two defects."""
    names = sorted(INJECTORS.get(original.protocol, ()))
    if not names:
        return body
    drawn = [dice.choice(names) for _ in range(dice.choice((1, 1, 1, 2)))]
    applied += drawn
    faults = tuple((Fault(name=name, p=dice.choice((1, 1, 0.5))), Budget(None)) for name in drawn)
    facts = Case("", body, original.content_type, original.path, original.request).exchange
    session = Session(facts, Settings(faults=faults, seed=dice.randrange(1000)))
    return b"".join([*session.feed(body), *session.end()]) if body else body


def _spliced(blocks: Blocks, seeds: Sequence[Seed], original: Seed, dice: random.Random, applied: list[str]) -> Blocks:
    """Join the beginning of this stream and the end of another, most often of the same protocol."""
    others = [seed for seed in seeds if seed.protocol == original.protocol] if dice.random() < 0.8 else seeds
    other = _drawn(others, str(dice.random()))
    applied.append(f"spliced with {other.name}")
    more = _editable(other, other.body)
    if dice.random() < 0.2:
        both = [block for pair in zip(blocks, more, strict=False) for block in pair]
        return both[: dice.randint(1, len(both))]
    return blocks[: dice.randint(0, len(blocks))] + more[dice.randint(0, len(more)) :]


def _drop(blocks: Blocks, dice: random.Random) -> None:
    at = dice.randrange(len(blocks))
    del blocks[at : at + dice.choice((1, 1, 1, 2, 4))]


def _repeat(blocks: Blocks, dice: random.Random) -> None:
    at = dice.randrange(len(blocks))
    count = dice.choice((1, 1, 2, 5))
    where = at + count if dice.random() < 0.6 else dice.randint(0, len(blocks))
    blocks[where:where] = blocks[at : at + count]


def _swap(blocks: Blocks, dice: random.Random) -> None:
    one = dice.randrange(len(blocks))
    other = min(len(blocks) - 1, one + 1) if dice.random() < 0.6 else dice.randrange(len(blocks))
    blocks[one], blocks[other] = blocks[other], blocks[one]


def _truncate(blocks: Blocks, dice: random.Random) -> None:
    del blocks[dice.randrange(len(blocks)) + 1 :]


def _cut_short(blocks: Blocks, dice: random.Random) -> None:
    """Truncate inside an event."""
    del blocks[dice.randrange(len(blocks)) + 1 :]
    blocks[-1] = blocks[-1][: dice.randint(1, len(blocks[-1]))]


def _json(blocks: Blocks, dice: random.Random) -> None:
    """Replace or remove a value in an event's JSON."""
    at = dice.randrange(len(blocks))
    head, payload, tail = _payload(blocks[at])
    if payload is not None:
        blocks[at] = head + with_odd_values(payload, dice) + tail


def _replace_identity(blocks: Blocks, dice: random.Random) -> None:
    """Replace an identifying value by the value of another event, or remove it."""
    parts = [_payload(block) for block in blocks]
    places = [(at, *place) for at, (_, payload, _) in enumerate(parts) for place in _places_of(IDENTITY, payload)]
    if not places:
        return
    at, holder, key = dice.choice(places)
    others = [other[name] for _, other, name in places if name == key and other[name] != holder[key]]
    if others and dice.random() < 0.7:
        holder[key] = copy.deepcopy(dice.choice(others))  # it may contain the holder
    else:
        del holder[key]
    head, payload, tail = parts[at]
    blocks[at] = head + _dumped(payload) + tail


def _places_of(keys: frozenset[str], value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects inside a value that have one of the keys, with that key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys:
                yield value, key
            yield from _places_of(keys, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _places_of(keys, inner)


def _texts(blocks: Blocks, dice: random.Random) -> None:
    """Split an event with a text into two events."""
    candidates = [at for at, block in enumerate(blocks) if any(key.encode() in block for key in TEXTS)]
    if not candidates:
        return
    at = dice.choice(candidates)
    head, payload, tail = _payload(blocks[at])
    places = list(_text_places(payload))
    if places:
        holder, key = dice.choice(places)
        text, where = holder[key], dice.randint(0, len(holder[key]))
        parts: Blocks = []
        for part in (text[:where], text[where:]):
            holder[key] = part
            parts.append(head + _dumped(payload) + tail)
        blocks[at : at + 1] = parts


def _text_places(value: Any) -> Any:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in TEXTS and isinstance(inner, str) and inner:
                yield value, key
            else:
                yield from _text_places(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _text_places(inner)


def _markup(blocks: Blocks, dice: random.Random) -> None:
    """Insert leaked markup or other garbage into a text."""
    at = dice.randrange(len(blocks))
    head, payload, tail = _payload(blocks[at])
    places = list(_text_places(payload))
    if places:
        holder, key = dice.choice(places)
        text, where = holder[key], dice.choice((0, len(holder[key]), dice.randint(0, len(holder[key]))))
        holder[key] = text[:where] + dice.choice(GARBAGE) + text[where:]
        blocks[at] = head + _dumped(payload) + tail


GARBAGE: Final = (
    *("<|tool_call_end|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<|", "|>", "[TOOL_CALLS]", "<invoke"),
    *("{}", "null", '"', "}", "{", "]", "\\", "\n", " ", "NaN", '{"a":1}', "```json\n", "```", "<function=x>"),
    *("\ud83d", "\ude00", "\u2028"),
)


def _framing(blocks: Blocks, dice: random.Random) -> None:
    """Damage the lines of an event."""
    at = dice.randrange(len(blocks))
    block = blocks[at]
    blocks[at] = dice.choice(
        (
            block.rstrip(b"\r\n"),
            block.rstrip(b"\r\n") + b"\n",
            block.replace(b"\n", b"\r\n"),
            block.replace(b"\n", b"\r"),
            b": keep-alive\n\n" + block,
            b"data: \n\n" + block,
            b"data: : hello\n\n" + block,
            b"id: 7\nretry: 10\n" + block,
            block.replace(b"data: ", b"data:", 1),
            block.replace(b"event: ", b"event: x", 1),
            b"event: error\n" + block,
            b"data: [DONE]\n\n" + block,
            b"data:\n" + block,
            block.replace(b",", b",\ndata: ", 1),
            b'data: {"error":{"message":"overloaded"}}\n\n' + block,
            b"error: something\n\n" + block,
            b"\xef\xbb\xbf" + block,
            b"\n\n\n" + block,
        )
    )


def _bytes(body: bytes, dice: random.Random, applied: list[str]) -> bytes:
    """Change single bytes, or truncate the body."""
    applied.append("bytes")
    if dice.random() < 0.5:
        return body[: dice.randint(0, len(body))]
    changed = bytearray(body)
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randint(0, len(changed))
        new = bytes(dice.choice((0, 10, 13, 32, 34, 44, 58, 91, 92, 125, 128, 255, dice.randrange(256))) for _ in "ab")
        changed[at : at + dice.randint(0, 3)] = new[: dice.randint(0, 2)]
    return bytes(changed)


MUTATIONS: Final[tuple[tuple[str, Mutation], ...]] = (
    ("drop", _drop),
    ("repeat", _repeat),
    ("swap", _swap),
    ("truncate", _truncate),
    ("cut short", _cut_short),
    ("json", _json),
    ("json", _json),
    ("json", _json),
    ("identity", _replace_identity),
    ("texts", _texts),
    ("texts", _texts),
    ("markup", _markup),
    ("framing", _framing),
)


def _payload(block: bytes) -> tuple[bytes, Any, bytes]:
    """Return the bytes before an event's JSON, the JSON (`None` without JSON), and the bytes after it."""
    begin = block.find(b"{")
    end = block.rfind(b"}") + 1
    if begin < 0 or end <= begin:
        return block, None, b""
    try:
        return block[:begin], json.loads(block[begin:end].decode("utf-8", "replace")), block[end:]
    except (ValueError, RecursionError):
        return block, None, b""


def _dumped(payload: Any) -> bytes:
    try:
        return json.dumps(payload, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(payload).encode()


def _options(protocol: str, dice: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Draw the options: most often safe repairs."""
    choice = dice.random()
    if choice < 0.7:
        return ("safe",), ()
    shapes = sorted(SHAPES.get(protocol, ())) + [f"for:{client.name}" for client in CLIENTS]
    shape = (dice.choice(shapes),) if choice < 0.9 else ()
    if choice > 0.97:
        return (dice.choice(SAFE),), ()
    return ("safe", *((dice.choice(UNSAFE),) if dice.random() < 0.5 or not shape else ())), shape


def _request(original: Seed, body: bytes, dice: random.Random) -> Any:
    """Draw the request: that of the stream, an odd request, or none."""
    choice = dice.random()
    if choice < 0.6:
        return original.request
    return ABSENT if choice < 0.8 else odd_request(original.protocol, body, dice)
