from __future__ import annotations

import json

import pytest

from toolstream_core.redact import HIDDEN, redacted
from toolstream_core.redaction import known_secrets

# Built from parts, because no file may contain text that looks like a key.
KEYS = [
    "sk-" + "a1" * 12,
    "sk-proj-" + "a1" * 12,
    "sk-ant-api03-" + "a1" * 12,
    "gsk_" + "a1" * 12,
    "hf_" + "a1" * 12,
    "ghp_" + "a1" * 12,
    "xoxb-" + "1234-" * 5,
    "xai-" + "a1" * 12,
    "AIza" + "a1" * 18,
    "AKIA" + "A1" * 8,
    "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + "c3" * 12,
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_hidden(key: str) -> None:
    """A key in the form of its issuer is hidden anywhere in a text."""
    output = redacted(f'{{"key":"{key}","city":"Bern"}}')
    assert key[10:] not in output
    assert HIDDEN in output
    assert output.endswith('"city":"Bern"}')


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("before", ["\n", "\t", "\u00e9", "\\"])
def test_a_key_after_an_escape_is_hidden(key: str, before: str, layers: int) -> None:
    """A key after an escape is hidden, in arguments that are encoded in JSON once or twice."""
    text = f"see{before}{key}\n"
    for _ in range(layers):
        text = json.dumps({"command": text})
    output = redacted(text)
    assert key[10:] not in output
    for _ in range(layers):
        output = json.loads(output)["command"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"password": "hunter2x", "city": "Bern"}', '{"password": "[redacted]", "city": "Bern"}'),
        ("PATH=/usr/bin\nCOOKIE_SECRET=Bi6CBGzFMo1a", "PATH=/usr/bin\nCOOKIE_SECRET=[redacted]"),
        ('{"pin_code": 481277}', '{"pin_code": 111111}'),
        ("docker login -u me -p hunter2x host", "docker login -u me -p [redacted] host"),
        ("postgres://me:hunter2x@host/db", "postgres://[redacted]@host/db"),
        ("openssl enc -pass pass:hunter2x9K -in a", "openssl enc -pass [redacted] -in a"),
    ],
)
def test_a_named_secret_is_overwritten(text: str, expected: str) -> None:
    """A value with the name of a secret is overwritten; digits are replaced by digits to keep JSON valid."""
    assert redacted(text) == expected


def test_a_bearer_token_is_hidden() -> None:
    """A bearer token in any form is hidden."""
    assert redacted("Authorization: Bearer qwertzui") == f"Authorization: Bearer {HIDDEN}"


@pytest.mark.parametrize(
    "text",
    ["", "get_weather", "task-list-of-the-day", "call_95df1cc8dabc4b959bbbc431", "toolu_01UopqgKNjb4FvUax23G7o4X"],
)
def test_other_text_is_not_redacted(text: str) -> None:
    """Names, text and ids of calls are not redacted."""
    assert redacted(text) == text


def test_secrets_of_the_request_are_hidden() -> None:
    """Secret headers with and without scheme, secret parameters, and each cookie of a request are hidden."""
    secrets = known_secrets(
        [
            ("Authorization", "Bearer header-value"),
            ("x-api-key", "api-key-value"),
            ("Cookie", "session=cookie-one; theme=cookie-two"),
            ("user-agent", "some-client"),
        ],
        "/v1/x?key=query%2Fvalue&alt=sse-value",
    )
    assert set(secrets) == {
        "Bearer header-value", "header-value", "api-key-value", "cookie-one", "cookie-two",
        "query/value", "query%2Fvalue",
    }  # fmt: skip
    output = redacted(f"some-client sse-value {' '.join(secrets)}", secrets)
    assert output == f"some-client sse-value {' '.join([HIDDEN] * len(secrets))}"


def test_attributes_of_cookies_are_no_secrets() -> None:
    """Only the value of a cookie is a secret; `HttpOnly` and its like are ordinary words elsewhere."""
    header = "sid=cookie-one; Path=/some/path; HttpOnly; Secure; SameSite=Strict; Partitioned; Max-Age=86400000"
    assert known_secrets([("set-cookie", header)], "/") == ("cookie-one",)


def test_the_longest_secret_is_hidden_first() -> None:
    """A secret that contains another secret is hidden completely."""
    secrets = known_secrets([("x-token", "inner-token"), ("x-secret", "inner-token-and-more")], "/")
    assert redacted("inner-token-and-more", secrets) == HIDDEN


@pytest.mark.parametrize("value", ["", "short", "abc"])
def test_short_values_are_no_secrets(value: str) -> None:
    """Short values are not treated as secrets: hiding them would hide other text."""
    assert known_secrets([("authorization", value)], f"/?key={value[-5:]}") == ()


def test_an_invalid_path_contains_no_secrets() -> None:
    """An invalid path raises nothing and contains no secrets."""
    assert known_secrets([], "http://[") == ()
