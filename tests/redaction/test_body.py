from __future__ import annotations

import json

import pytest

from toolstream_core.redaction import BodyRedactor, Redaction, redacted_body

KEY = "sk-proj-" + "Ab3" * 12


def events(*fragments: str) -> bytes:
    """A stream of Chat Completions with a text in these fragments."""
    return b"".join(
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": fragment}}]}).encode() + b"\n\n"
        for fragment in fragments
    )


def test_a_key_is_overwritten_in_place() -> None:
    """Each of its bytes becomes `*`."""
    body = events(f"my key is {KEY}.")
    assert redacted_body(body) == body.replace(KEY.encode(), b"*" * len(KEY))


def test_a_key_with_a_delta_for_each_character_is_overwritten() -> None:
    """The framing and the fragments stay."""
    assert redacted_body(events(*KEY)) == events(*"*" * len(KEY))


@pytest.mark.parametrize("size", [1, 7, 100, 4096])
def test_chunk_boundaries_do_not_matter(size: int) -> None:
    """The result is the same as for the complete body at once."""
    body = events("hello", *KEY, "bye")
    redactor = BodyRedactor(Redaction())
    parts = [redactor.feed(body[at : at + size]) for at in range(0, len(body), size)]
    assert b"".join(parts) + redactor.finish() == redacted_body(body)


def test_a_secret_with_escaped_letters() -> None:
    """An escape becomes one character, also if its letter has several bytes."""
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
def test_a_value_that_was_redacted_after_its_scheme_stays(text: str) -> None:
    """So `doctor` finds nothing in headers that `extract` has written."""
    assert redacted_body(text.encode()).decode() == text
    secret = text.replace("*" * 16, "abcdefgh12345678")
    assert b"abcdefgh" not in redacted_body(secret.encode())
