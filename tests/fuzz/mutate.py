"""Makes cases: streams with events, JSON and bytes changed at random, and what is switched on. Knows no invariant."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from tests.fuzz.case import Case
from tests.fuzz.messages import MESSAGES, as_lines, messages, of_lines
from tests.fuzz.odd import odd_request, oddly_written
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

UNSAFE: Final = [row.name for row in DEFECTS if row.repair == "unsafe"]
SAFE: Final = [row.name for row in DEFECTS if row.repair == "safe"]
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
"""Keys whose text may come in several deltas."""

WHOSE: Final = frozenset(
    {"index", "id", "item_id", "output_index", "call_id", "toolUseId", "contentBlockIndex", "name"}
)
"""Keys that say whose an event is."""
SMALL: Final = 0.2
"""How many cases have a small stream."""

type Blocks = list[bytes]
type Mutation = Callable[[Blocks, random.Random], None]


def case(seeds: Sequence[Seed], seed: str) -> Case:
    """The case that `seed` draws."""
    dice = random.Random(seed)
    small = drawn(sorted({one.dialect for one in seeds}), dice) if dice.random() < SMALL else None
    mother = small or _drawn(seeds, seed)
    did: list[str] = []
    body = mother.body
    if dice.random() < 0.35:
        body = _injected(mother, body, dice, did)
    binary = mother.content_type == MESSAGES
    blocks = _editable(mother, body)
    if dice.random() < 0.1:
        blocks = _spliced(blocks, seeds, mother, dice, did)
    for _ in range(dice.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        name, change = dice.choice(MUTATIONS)
        did.append(name)
        blocks = [block for block in blocks if block]
        if blocks:
            change(blocks, dice)
    body = of_lines(blocks) if binary else b"".join(blocks)
    if dice.random() < 0.2:
        body = _bytes(body, dice, did)
    repair, shape = _wanted(mother.dialect, dice)
    return Case(
        dialect=mother.dialect,
        body=body,
        content_type=mother.content_type if dice.random() < 0.97 else "",
        path=mother.path if dice.random() < 0.8 else "",
        request=_request(mother, body, dice),
        repair=repair,
        shape=shape,
        broken="the connection was reset" if dice.random() < 0.25 else None,
        seed=seed,
        origin=f"{mother.name}: {', '.join(did)}",
    )


def _drawn(seeds: Sequence[Seed], word: str) -> Seed:
    """One of the streams: most words draw the same one where others are added to them."""
    begin = crc32(f"{word} ".encode())
    return max(seeds, key=lambda one: crc32(one.name.encode(), begin))


def _editable(seed: Seed, body: bytes) -> Blocks:
    """The events of a body; binary messages as lines of text."""
    return as_lines(body) if seed.content_type == MESSAGES else split(body)


def split(body: bytes) -> Blocks:
    """The events of a body, each with its terminator."""
    if body.startswith(b"\0"):
        found, rest = messages(body)
        return [one.raw for one in found] + ([rest] if rest else [])
    for end in (b"\r\n\r\n", b"\n\n", b"\n", b"},"):
        if body.count(end) > 1 or (end in body and body.endswith(end)):
            *blocks, rest = body.split(end)
            return [block + end for block in blocks] + ([rest] if rest else [])
    return [body]


def _injected(mother: Seed, body: bytes, dice: random.Random, did: list[str]) -> bytes:
    """With a defect or two of the table in it."""
    names = sorted(INJECTORS.get(mother.dialect, ()))
    if not names:
        return body
    drawn = [dice.choice(names) for _ in range(dice.choice((1, 1, 1, 2)))]
    did += drawn
    faults = tuple((Fault(name=name, p=dice.choice((1, 1, 0.5))), Budget(None)) for name in drawn)
    known = Case("", body, mother.content_type, mother.path, mother.request).exchange
    line = Session(known, Settings(faults=faults, seed=dice.randrange(1000)))
    return b"".join([*line.feed(body), *line.end()]) if body else body


def _spliced(blocks: Blocks, seeds: Sequence[Seed], mother: Seed, dice: random.Random, did: list[str]) -> Blocks:
    """The begin of this stream and the end of another one, most often of the same protocol."""
    others = [seed for seed in seeds if seed.dialect == mother.dialect] if dice.random() < 0.8 else seeds
    other = _drawn(others, str(dice.random()))
    did.append(f"spliced with {other.name}")
    more = _editable(other, other.body)
    if dice.random() < 0.2:
        both = [block for pair in zip(blocks, more, strict=False) for block in pair]
        return both[: dice.randint(1, len(both))]
    return blocks[: dice.randint(0, len(blocks))] + more[dice.randint(0, len(more)) :]


def _drop(blocks: Blocks, dice: random.Random) -> None:
    at = dice.randrange(len(blocks))
    del blocks[at : at + dice.choice((1, 1, 1, 2, 4))]


def _double(blocks: Blocks, dice: random.Random) -> None:
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
    """The last event that is kept is cut within."""
    del blocks[dice.randrange(len(blocks)) + 1 :]
    blocks[-1] = blocks[-1][: dice.randint(1, len(blocks[-1]))]


def _json(blocks: Blocks, dice: random.Random) -> None:
    """A value anywhere in an event's JSON becomes an odd one, or goes."""
    at = dice.randrange(len(blocks))
    head, payload, tail = _payload(blocks[at])
    if payload is not None:
        blocks[at] = head + oddly_written(payload, dice) + tail


def _anothers(blocks: Blocks, dice: random.Random) -> None:
    """What says whose an event is becomes what another one has there, or goes."""
    parts = [_payload(block) for block in blocks]
    places = [(at, *place) for at, (_, payload, _) in enumerate(parts) for place in _places_of(WHOSE, payload)]
    if not places:
        return
    at, holder, key = dice.choice(places)
    others = [other[name] for _, other, name in places if name == key and other[name] != holder[key]]
    if others and dice.random() < 0.7:
        holder[key] = copy.deepcopy(dice.choice(others))  # it may have the holder in it
    else:
        del holder[key]
    head, payload, tail = parts[at]
    blocks[at] = head + _dumped(payload) + tail


def _places_of(keys: frozenset[str], value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects within a value that have one of the keys, with that key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys:
                yield value, key
            yield from _places_of(keys, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _places_of(keys, inner)


def _texts(blocks: Blocks, dice: random.Random) -> None:
    """An event with a text becomes two, the text cut between them."""
    candidates = [at for at, block in enumerate(blocks) if any(key.encode() in block for key in TEXTS)]
    if not candidates:
        return
    at = dice.choice(candidates)
    head, payload, tail = _payload(blocks[at])
    places = list(_text_places(payload))
    if places:
        holder, key = dice.choice(places)
        text, where = holder[key], dice.randint(0, len(holder[key]))
        halves: Blocks = []
        for part in (text[:where], text[where:]):
            holder[key] = part
            halves.append(head + _dumped(payload) + tail)
        blocks[at : at + 1] = halves


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
    """Something is written into a text: what servers leak there."""
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
    """Something is wrong with an event's lines."""
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


def _bytes(body: bytes, dice: random.Random, did: list[str]) -> bytes:
    """Single bytes changed, or the body cut anywhere."""
    did.append("bytes")
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
    ("double", _double),
    ("swap", _swap),
    ("truncate", _truncate),
    ("cut short", _cut_short),
    ("json", _json),
    ("json", _json),
    ("json", _json),
    ("another's", _anothers),
    ("texts", _texts),
    ("texts", _texts),
    ("markup", _markup),
    ("framing", _framing),
)


def _payload(block: bytes) -> tuple[bytes, Any, bytes]:
    """What stands before an event's JSON, the JSON (`None` where there is none), and what stands behind it."""
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


def _wanted(dialect: str, dice: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of what is switched on: safe repairs most often."""
    way = dice.random()
    if way < 0.7:
        return ("safe",), ()
    shapes = sorted(SHAPES.get(dialect, ())) + [f"for:{client.name}" for client in CLIENTS]
    shape = (dice.choice(shapes),) if way < 0.9 else ()
    if way > 0.97:
        return (dice.choice(SAFE),), ()
    return ("safe", *((dice.choice(UNSAFE),) if dice.random() < 0.5 or not shape else ())), shape


def _request(mother: Seed, body: bytes, dice: random.Random) -> Any:
    """The request that goes with a stream, another one, an odd one, or none."""
    way = dice.random()
    if way < 0.6:
        return mother.request
    return ABSENT if way < 0.8 else odd_request(mother.dialect, body, dice)
