"""The law over random streams: events of several forms, mixed; secrets over events and over the borders of windows."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Final

import pytest

from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.proxy.capture import quick
from toolstream_core.proxy.capture.quick import QuickRedactor
from toolstream_core.proxy.capture.seen import SeenForms
from toolstream_core.redaction import Redaction, redacted_body

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS: Final = (
    " the",
    "ing",
    ",",
    "a",
    '"',
    "\\",
    "\n",
    " key",
    "é",
    "=",
    "x",
    "",
    " tokens",
    "}",
    '":"',
    " of the same kind",
)
SECRETS: Final = (
    "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1CdE4G",
    "ghp_aB3dE6fG9hI2jK5lM8nO1pQ4rS7tU0vW3xY6",
    "AKIAIOSFODNN7EXAMPLQ",
    ' {"api_key": "0f1e2d3c4b5a69788796a5b4c3d2e1f0"} ',
    " https://user:sEcr3tPassw0rd@host.example/x ",
    " discord_token = aB3dE6fG9hI2jK5l ",
)
KNOWN: Final = "hush-hush-4711"


class Writer:
    """Writes random events. Each form has words that differ, and what stays the same."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.border = self.chance.choice((b"\n\n", b"\r\n\r\n", b"\n\n"))
        self.number = 0

    def stream(self) -> bytes:
        """A body with runs of events of one form, and some of others between them."""
        forms = self.chance.sample((self.chat, self.tool, self.other_tool, self.anthropic, self.responses), 3)
        events: list[bytes] = []
        for _ in range(self.chance.randint(2, 5)):
            form = self.chance.choice(forms)
            for piece in self.pieces():
                if self.chance.random() < 0.05:
                    events.append(self.chance.choice((b": ping", b'data: {"odd":"%d"}' % len(events), b"event: x")))
                events.append((form if self.chance.random() < 0.9 else self.chance.choice(forms))(piece))
        return b"".join(event + self.border for event in [*events, b"data: [DONE]"])

    def pieces(self) -> Iterator[str]:
        """Words, mostly with a secret somewhere, cut as it comes."""
        count = self.chance.randint(1, 60)
        at = self.chance.randrange(count)
        for number in range(count):
            if number == at and self.chance.random() < 0.2:
                yield from self.cut(self.chance.choice((*SECRETS, KNOWN)))
            yield self.chance.choice(WORDS)

    def cut(self, secret: str) -> list[str]:
        """In up to seven pieces."""
        cuts = sorted(self.chance.sample(range(1, len(secret)), self.chance.randint(0, 6)))
        return [secret[a:b] for a, b in zip([0, *cuts], [*cuts, len(secret)], strict=True)]

    def chat(self, text: str) -> bytes:
        """Two values differ."""
        pad = "aB3xK9mQ2zT7"[: max(1, 12 - len(text))]
        return self.data({"id": "c-1", "choices": [{"index": 0, "delta": {"content": text}}], "obfuscation": pad})

    def tool(self, text: str, index: int = 0) -> bytes:
        """One value differs."""
        return self.data({"choices": [{"delta": {"tool_calls": [{"index": index, "function": {"arguments": text}}]}}]})

    def other_tool(self, text: str) -> bytes:
        """The same of another call."""
        return self.tool(text, 1)

    def anthropic(self, text: str) -> bytes:
        """An event has two lines."""
        delta = {"type": "input_json_delta", "partial_json": text}
        return b"event: content_block_delta\n" + self.data({"type": "content_block_delta", "index": 0, "delta": delta})

    def responses(self, text: str) -> bytes:
        """A number differs too."""
        self.number += 1
        return self.data({"type": "response.output_text.delta", "sequence_number": self.number, "delta": text})

    @staticmethod
    def data(said: object) -> bytes:
        """An event."""
        return b"data: " + json.dumps(said, ensure_ascii=False).encode()


def test_nothing_is_left_to_redact_in_what_a_clean_body_says() -> None:
    """Its calls' arguments, each as a whole, hold no secret either: the record of a capture takes them as they are."""
    exchange = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream")
    quickly = 0
    for seed in range(150):
        writer = Writer(seed)
        opening = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
        events = [writer.data({"choices": [{"index": 0, "delta": {"tool_calls": [opening]}}]})]
        events += [writer.tool(piece) for _ in range(4) for piece in writer.pieces()]
        body = b"".join(event + writer.border for event in [*events, b"data: [DONE]"])
        redactor = QuickRedactor(Redaction(), [KNOWN])
        out = redactor.feed(body) + redactor.finish()
        record = read_body([body], exchange)
        assert record is not None
        told = json.dumps([call.arguments for call in record.calls], ensure_ascii=False).encode()
        if redactor.is_quick:
            assert redacted_body(told, Redaction(), [KNOWN]) == told, seed
        assert redactor.is_quick is (out == body), seed
        quickly += redactor.is_quick
    assert 20 <= quickly <= 130


@pytest.mark.parametrize("window", [(6000, 4000), (1 << 19, 1 << 16)])
def test_the_same_as_the_plain_way(monkeypatch: pytest.MonkeyPatch, window: tuple[int, int]) -> None:
    """Byte for byte, however the stream is cut, wherever windows end, and whatever was seen in other streams."""
    monkeypatch.setattr(quick, "WINDOW", window[0])
    monkeypatch.setattr(quick, "KEPT", window[1])
    quickly, seen = 0, SeenForms()
    for seed in range(60):
        writer = Writer(seed)
        body = writer.stream()
        redactor = QuickRedactor(Redaction(), [KNOWN], seen)
        size = writer.chance.choice((1, 300, 5000, len(body)))
        out = b"".join(redactor.feed(body[at : at + size]) for at in range(0, len(body), size)) + redactor.finish()
        assert out == redacted_body(body, Redaction(), [KNOWN]), seed
        quickly += redactor.is_quick
    assert quickly >= 5
