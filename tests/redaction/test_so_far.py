"""The beginning of an unfinished body, as a capture saves it.

Each test has two bodies of the same length, with a secret and with `*` in its place. The saved bytes are always a
beginning of the second body, and contain every event before the secret.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

from tests.redaction.test_messages import plain, wrapped
from toolstream_core.redaction import BodyRedactor, Redaction, redacted_body
from toolstream_core.redaction import body as module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KNOWN: Final = "hush/hush 4711-abcdef"
OPEN: Final = 8
"""Bytes of a secret that may be saved before it can be recognised."""


class TextWithSecret(NamedTuple):
    """A text with a secret."""

    before: str
    secret: str
    after: str = ""


SECRETS: Final = {
    "openai": TextWithSecret("", "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1CdE4G"),
    "github": TextWithSecret("", "ghp_aB3dE6fG9hI2jK5lM8nO1pQ4rS7tU0vW3xY6"),
    "aws": TextWithSecret("", "AKIAIOSFODNN7EXAMPLQ"),
    "slack": TextWithSecret("", "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"),
    "jwt": TextWithSecret(
        "", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
    ),
    "known": TextWithSecret("", KNOWN),
    "named": TextWithSecret('"api_key": "', "0f1e2d3c4b5a69788796a5b4c3d2e1f0", '"'),
    "password": TextWithSecret("password = '", "hunter2!and-more", "'"),
    "bearer": TextWithSecret("Authorization: Bearer ", "abcdefghijklmnop0123456789"),
    "url": TextWithSecret("https://", "user:sEcr3tPassw0rd", "@host.example/x"),
}
WORDS: Final = ("Look", " at", " the", " weather", " in", " Bern", ": ")


def chat(text: str, number: int) -> bytes:
    """A delta of text, with other fields that differ in each event."""
    chunk = {"id": "chatcmpl-CHk2tJ9vQeXw7RzN4b", "choices": [{"index": 0, "delta": {"content": text}}]}
    return data({**chunk, "created": 17598 + number, "obfuscation": "aB3xK9mQ2zT7"[: max(1, 12 - len(text))]})


def arguments(text: str, number: int) -> bytes:
    """A fragment of a call's arguments, which are JSON, so quotes are escaped twice."""
    del number
    call = {"index": 0, "function": {"arguments": text}}
    return data({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})


def anthropic(text: str, number: int) -> bytes:
    """An event of two lines."""
    delta = {"type": "input_json_delta", "partial_json": text}
    return b"event: content_block_delta\r\n" + data({"index": 0, "n": number, "delta": delta}, b"\r\n")


def gemini(text: str, number: int) -> bytes:
    """An item of an array, over several lines."""
    chunk = {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}]}
    return (b"[" if not number else b",\n") + json.dumps(chunk, indent=1).encode() + b"\n"


def two_calls(text: str, number: int) -> bytes:
    """A fragment of a call, followed by one of another call."""
    other = {"index": 1, "function": {"arguments": "\n"}}
    return arguments(text, number) + data({"choices": [{"index": 0, "delta": {"tool_calls": [other]}}]})


def data(event: object, end: bytes = b"\n") -> bytes:
    """A server-sent event."""
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + 2 * end


FORMS: Final[dict[str, Callable[[str, int], bytes]]] = {
    one.__name__: one for one in (chat, arguments, anthropic, gemini, two_calls)
}


def fragments(text: str, size: int) -> list[str]:
    """Fragments with this number of characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def bodies(sample: TextWithSecret, form: Callable[[str, int], bytes], size: int) -> tuple[list[bytes], list[bytes]]:
    """The events with the secret in fragments, and the same events with `*` in its place."""
    secret, stars = sample.secret, "*" * len(sample.secret)
    around = (fragments(sample.before, 3), fragments(sample.after, 3), [" and", " so", " on", "."])
    found = []
    for part in (secret, stars):
        texts = [*WORDS, *around[0], *fragments(part, size), *around[1], *around[2]]
        found.append([form(text, number) for number, text in enumerate(texts)])
    return found[0], found[1]


def saved(events: list[bytes], cut: int) -> Iterator[tuple[int, bytes]]:
    """After each chunk, the number of bytes so far and all bytes that `feed` and `so_far` returned."""
    body = b"".join(events)
    redactor = BodyRedactor(Redaction(), [KNOWN])
    out = b""
    for at in range(0, len(body), cut):
        out += redactor.feed(body[at : at + cut])
        yield min(at + cut, len(body)), out + redactor.so_far()
    assert out + redactor.finish() == redacted_body(body, Redaction(), [KNOWN])


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SECRETS)
def test_no_part_of_a_secret_is_saved(name: str, form: str, size: int) -> None:
    """The saved bytes are the beginning of the body without the secret, for any chunk boundaries."""
    sample = SECRETS[name]
    events, clean = bodies(sample, FORMS[form], size)
    right = b"".join(clean)
    assert redacted_body(b"".join(events), Redaction(), [KNOWN]) == right
    first = len(WORDS) + len(fragments(sample.before, 3))
    recognised = first + -(-OPEN // size)
    begins, ends = (len(b"".join(events[:number])) for number in (first, recognised))
    for received, out in saved(events, 211):
        assert out[:begins] == right[: len(out)][:begins]
        if len(out) > ends:
            assert out[ends:] == right[ends : len(out)], received


@pytest.mark.parametrize("form", FORMS)
def test_all_complete_events_are_saved(form: str) -> None:
    """They are saved at once if no secret has begun."""
    events = [FORMS[form](text, number) for number, text in enumerate([*WORDS, '{"city": "Bern"}', " 42"])]
    body = b"".join(events)
    for received, out in saved(events, 37):
        assert out == body[: body.rfind(b"\n", 0, received) + 1]


def test_a_secret_is_saved_overwritten_after_its_end() -> None:
    """Withheld bytes are in the next save."""
    events, clean = bodies(SECRETS["openai"], chat, 3)
    assert [*saved(events, 1000)][-1][1] == b"".join(clean)


@pytest.mark.parametrize("wrap", [plain, wrapped])
def test_messages_of_aws(wrap: Callable[[str], bytes]) -> None:
    """Complete messages are saved, also with base64."""
    secret = SECRETS["github"].secret
    texts = ["the", " key", " is ", *fragments(secret, 5), " !", " and", " more"]
    right = redacted_body(b"".join(map(wrap, texts)))
    ends = [len(b"".join(map(wrap, texts[:number]))) for number in range(len(texts) + 1)]
    outs = [out for _, out in saved([*map(wrap, texts)], 53)]
    assert {*map(len, outs)} <= {*ends}
    assert all(out == right[: len(out)] for out in outs)
    assert outs[-1] == right


def test_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Part of a long body has left the window."""
    monkeypatch.setattr(module, "WINDOW", 8000)
    monkeypatch.setattr(module, "KEPT", 3000)
    events, clean = bodies(SECRETS["github"], chat, 2)
    for number in (0, 20, 33):
        around = [chat(f" word {at}", at) for at in range(number)]
        right = b"".join([*around, *clean, *around])
        for _, out in saved([*around, *events, *around], 500):
            assert out[: len(right)] == right[: len(out)]
