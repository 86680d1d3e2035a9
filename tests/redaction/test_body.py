from __future__ import annotations

import json

import pytest

from toolstream_core.redaction import BodyRedactor, Redaction, redacted_body

KEY = "sk-proj-" + "Ab3" * 12


def events(*pieces: str) -> bytes:
    """A stream of Chat Completions whose one text says the pieces."""
    return b"".join(
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": piece}}]}).encode() + b"\n\n"
        for piece in pieces
    )


def test_a_key_in_one_piece_is_overwritten_in_place() -> None:
    """By as many stars."""
    body = events(f"my key is {KEY}.")
    assert redacted_body(body) == body.replace(KEY.encode(), b"*" * len(KEY))


def test_a_key_that_is_cut_into_characters_is_overwritten_in_each_delta() -> None:
    """Framing and cuts stay."""
    assert redacted_body(events(*KEY)) == events(*"*" * len(KEY))


@pytest.mark.parametrize("size", [1, 7, 100, 4096])
def test_how_the_body_is_fed_does_not_matter(size: int) -> None:
    """The same bytes as at once."""
    body = events("hello", *KEY, "bye")
    redactor = BodyRedactor(Redaction())
    parts = [redactor.feed(body[at : at + size]) for at in range(0, len(body), size)]
    assert b"".join(parts) + redactor.finish() == redacted_body(body)


def test_a_secret_with_escaped_letters() -> None:
    """A letter that takes several bytes is one escape, and becomes one character."""
    body = json.dumps({"text": "api_key: 'sécret-wörd-4711€'"}).encode()
    clean = redacted_body(body)
    assert (len(clean), json.loads(clean)) == (len(body), {"text": f"api_key: '{'*' * 17}'"})


@pytest.mark.parametrize(
    "text",
    [
        '[["authorization", "Bearer ****************"]]',
        '{"name": "Authorization", "value": "Basic ****************"}',
        '{"headers": {"proxy-authorization": "Bearer ****************"}}',
        "authorization: Bearer ****************",
    ],
)
def test_what_was_redacted_behind_its_scheme_is_left_alone(text: str) -> None:
    """So `doctor` finds nothing in headers that `extract` has written."""
    assert redacted_body(text.encode()).decode() == text
    secret = text.replace("*" * 16, "abcdefgh12345678")
    assert b"abcdefgh" not in redacted_body(secret.encode())
