"""Similar events are searched together, and the result is the same as for each event alone."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.redaction.test_so_far import FORMS, KNOWN, SECRETS, bodies
from toolstream_core.redaction import BodyRedactor, Redaction
from toolstream_core.redaction import condensed as module
from toolstream_core.redaction.condensed import Condensed
from toolstream_core.redaction.strings import Edit, edited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXTRAS: Final[dict[str, Callable[[int], object]]] = {
    "created": lambda number: 1_700_000_000 + number // 3,
    "obfuscation": lambda number: "aB3xK9mQ2zT7"[: number % 11],
    "call_id": lambda number: f"c{number // 7}",
    "item_id": lambda _: "msg_0123456789abcdef0123",
    "note": lambda _: SECRETS["openai"].secret,
    "short": lambda _: "sk-pro",
    "token": lambda number: 1000 + number,
    "password": lambda number: f"hunter{number}!and-more",
    "name": lambda number: f"name {number}",
    "index": lambda number: number // 20,
    "again": lambda number: "a text of more than 16 bytes" * (number // 9),
    "signature": lambda number: "Ab3d" * 20 if number % 9 == 0 else "",
    "tags": lambda _: ["alpha", "beta"],
    "status": lambda number: "a\n" if number % 2 else "sk-",
}


def streams() -> Iterator[bytes]:
    """The streams of `test_so_far`, and events with more fields."""
    for sample in SECRETS.values():
        for form in FORMS.values():
            for size in (1, 4, 1000):
                yield b"".join(bodies(sample, form, size)[0])
    pick = random.Random(38)
    for _ in range(150):
        yield b"".join(_events(pick))


def _events(pick: random.Random) -> Iterator[bytes]:
    secret, size = pick.choice([*SECRETS.values()]).secret, pick.choice([1, 3, 17])
    texts = [pick.choice([" the", "\n", "é", '"', "a text of more than 16 bytes", "a/b"]) for _ in range(60)]
    at = pick.randrange(60)
    texts[at:at] = [secret[begin : begin + size] for begin in range(0, len(secret), size)]
    extras, end = pick.sample([*EXTRAS], 2), pick.choice([b"\n", b"\n\n", b"\r\n\r\n"])
    is_ascii, separators = pick.random() < 0.3, pick.choice([(",", ":"), (", ", ": ")])
    for number, text in enumerate(texts):
        event: dict[str, Any] = {"delta": {"content": text}, **{name: EXTRAS[name](number) for name in extras}}
        yield b"data: " + json.dumps(event, ensure_ascii=is_ascii, separators=separators).encode() + end
        if pick.random() < 0.03:
            yield b": sk-" + end


def redacted_chunks(body: bytes) -> Iterator[bytes]:
    """The redacted body, and between its chunks what a capture can save so far."""
    redactor = BodyRedactor(Redaction(), [KNOWN])
    middle = len(body) // 2
    yield redactor.feed(body[:middle])
    yield redactor.so_far()
    yield redactor.feed(body[middle:]) + redactor.finish()


def test_condensed_events_give_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result with condensed events equals the result without."""
    condensed = [[*redacted_chunks(body)] for body in streams()]
    monkeypatch.setattr(module, "_FEWEST", 1 << 30)
    assert condensed == [[*redacted_chunks(body)] for body in streams()]


def _condensed(events: list[dict[str, object]], flushed: int | None = None) -> tuple[bytes, Condensed]:
    body = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)
    return body, Condensed(body, len(body) if flushed is None else flushed, lambda key: key == b"key")


def test_texts_are_joined_and_numbers_dropped() -> None:
    """The first and the last event stay complete."""
    _, condensed = _condensed([{"n": number, "content": chr(97 + number)} for number in range(9)])
    data = [json.loads(line[6:]) for line in condensed.text.splitlines() if line]
    assert [one["content"] for one in data] == ["a", "bcdefgh", "i"]
    assert [one["n"] for one in data] == [0, 1, 8]


def test_edits_apply_to_all_events() -> None:
    """The edit of a joined text applies to its own bytes, and any other edit to each event."""
    events: list[dict[str, object]] = [{"same": "x" * 20, "content": 3 * chr(97 + number)} for number in range(9)]
    body, condensed = _condensed(events)
    same = condensed.text.index(b'"same"', condensed.text.index(b'"same"') + 1)
    edits = [Edit(same + 1, b"****"), Edit(condensed.text.index(b"ccc") - 1, b"*****")]
    clean = edited(body, condensed.on_raw(edits))
    assert clean.count(b'"****"') == 7
    assert [json.loads(line[6:])["content"] for line in clean.splitlines() if line][:4] == ["aaa", "bb*", "***", "*dd"]


@pytest.mark.parametrize(
    "event",
    [
        lambda number: {"key": str(number)},
        lambda number: {"id": str(number)},
        lambda number: {"call_id": str(number)},
        lambda number: {"content": "the same long text" + str(number // 2)},
        lambda number: {"content": "\\u0041", "a/b": f"é{number}"},
        lambda number: {"a": {"content": str(number)}, "b": {"content": ""}},
    ],
)
def test_values_that_matter_separately_are_not_condensed(event: Callable[[int], dict[str, object]]) -> None:
    """Keys, ids and long repeated texts are searched in each event."""
    body, condensed = _condensed([event(number) for number in range(20)])
    assert condensed.text == body


def test_no_run_crosses_the_end_of_the_flushed_bytes() -> None:
    """The flushed bytes and the rest are condensed separately."""
    events: list[dict[str, object]] = [{"content": str(number)} for number in range(40)]
    body, _ = _condensed(events)
    flushed = body.index(b"\n\n", len(body) // 2) + 2
    _, condensed = _condensed(events, flushed)
    assert len(condensed.text) < len(body) // 2
    assert body[:flushed].endswith(condensed.text[: condensed.place(flushed)][-20:])
