"""The law of the quick way: what it gives is what the redactor gives."""

from __future__ import annotations

import json
import random

import pytest

from tests.conftest import ROOT
from toolstream_core.proxy.capture import quick
from toolstream_core.proxy.capture.quick import QuickRedactor
from toolstream_core.redaction import Redaction, TextMode, redacted_body
from toolstream_core.saved.read import load

WORDS = (" the", " stream", "ing", " of", " tokens", ",", "a", '"', "\\", "\n", " key:", "é", "=", "x")
SECRETS = (
    "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1CdE4G",
    "ghp_aB3dE6fG9hI2jK5lM8nO1pQ4rS7tU0vW3xY6",
    "password=hunter2-and-more",
    '{"api_key": "0f1e2d3c4b5a69788796a5b4c3d2e1f0"}',
    "https://user:sEcr3tPassw0rd@host.example/x",
    "Bearer abcdefghijklmnop0123456789",
)


def stream(seed: int, secret: str = "", key: str = "content") -> bytes:
    """Chat events, with a secret somewhere in their text, cut into as many pieces as come."""
    chance = random.Random(seed)
    said = [chance.choice(WORDS) for _ in range(150)]
    cuts = sorted(chance.sample(range(1, len(secret)), chance.randint(0, 6))) if secret else []
    pieces = [secret[a:b] for a, b in zip([0, *cuts], [*cuts, len(secret)], strict=True)]
    at = chance.randrange(len(said))
    said[at:at] = [" ", *pieces, " "] if chance.random() < 0.8 else pieces
    events = [
        {
            "id": "chatcmpl-1",
            "created": 1,
            "choices": [{"index": 0, "delta": {key: text}}],
            "obfuscation": "a" * (n % 9),
        }
        for n, text in enumerate(said)
    ]
    separators = (",", ":") if seed % 2 else None
    return b"".join(b"data: " + json.dumps(event, separators=separators).encode() + b"\n\n" for event in events)


def quickly(body: bytes, redaction: Redaction | None = None, size: int = 7000) -> bytes:
    """A body that comes in pieces, redacted."""
    redactor = QuickRedactor(redaction or Redaction())
    out = b"".join(redactor.feed(body[at : at + size]) for at in range(0, len(body), size))
    return out + redactor.finish()


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("key", ["content", "arguments"])
def test_secrets_in_pieces(secret: str, key: str) -> None:
    """Wherever they are cut, whatever stands around them."""
    for seed in range(12):
        body = stream(seed, secret, key)
        assert quickly(body) == redacted_body(body), seed


def test_nothing_to_redact() -> None:
    """The same bytes, and the slow way was not taken; saved flows, too."""
    bodies = [stream(seed) for seed in range(20)] + [fixture.body for fixture in load(ROOT / "flows")]
    fast = 0
    for body in bodies:
        assert quickly(body) == redacted_body(body) == body
        redactor = QuickRedactor(Redaction())
        redactor.feed(body)
        redactor.finish()
        fast += redactor.is_quick
    assert fast > 15


def test_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held back is bounded, and a secret over the border of two windows is found."""
    monkeypatch.setattr(quick, "WINDOW", 8000)
    monkeypatch.setattr(quick, "KEPT", 3000)
    for seed in range(30):
        body = b"".join(stream(seed * 10 + n, SECRETS[0] if n == 2 else "") for n in range(4))
        redactor = QuickRedactor(Redaction())
        out, held = b"", 0
        for at in range(0, len(body), 500):
            out += redactor.feed(body[at : at + 500])
            held = max(held, at - len(out)) if redactor.is_quick else held
        out += redactor.finish()
        assert len(out) == len(body)
        assert held <= 8000
        assert all(part.encode() not in out for part in (SECRETS[0], SECRETS[0][8:]))


def test_odd_events_at_the_border_of_two_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no key names is joined over it, too."""
    begin, end = (b'data: ["%b"]\n\n' % part.encode() for part in (SECRETS[1][:12], SECRETS[1][12:]))
    before, behind = stream(1) + begin, end + stream(2)
    monkeypatch.setattr(quick, "WINDOW", len(before))
    monkeypatch.setattr(quick, "KEPT", 3000)
    redactor = QuickRedactor(Redaction())
    out = redactor.feed(before)
    assert redactor.is_quick
    out += redactor.feed(behind) + redactor.finish()
    assert out == redacted_body(before + behind) != before + behind


def test_other_wishes_take_the_slow_way() -> None:
    """Masked text, patterns of the user: everything is looked at."""
    body = stream(1)
    for redaction in (Redaction(text=TextMode.MASK), Redaction(patterns=("stream",)), Redaction(names=("content",))):
        assert quickly(body, redaction) == redacted_body(body, redaction)


def test_two_texts_of_each_event() -> None:
    """Where one ends, the other begins, and neither hides a key."""
    key = "AK" + "IA" + "QWERTZ23ABCDE234"
    for first, second in ((f"see {key}", "Hello, that is all of it"), ("Hello, that is all", f"{key} is all of it")):
        said = zip(first.rjust(40), second.ljust(40), strict=True)
        events = [
            {"choices": [{"index": 0, "delta": {"text": a}}, {"index": 1, "delta": {"text": b}}]} for a, b in said
        ]
        for order in (events, [{"choices": event["choices"][::-1]} for event in events]):
            body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in order)
            clean = quickly(body)
            assert clean == redacted_body(body)
            parts = [json.loads(line[6:])["choices"] for line in clean.decode().splitlines() if line]
            for at in (0, 1):
                assert key not in "".join(choices[at]["delta"]["text"] for choices in parts)
