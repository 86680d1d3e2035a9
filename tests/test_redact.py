from __future__ import annotations

import json

import pytest

from toolstream_core.redact import HIDDEN, redacted
from toolstream_core.redaction import known_secrets

# Put together here, so that nothing that looks like a key stands in any file.
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
def test_what_looks_like_a_key_is_hidden(key: str) -> None:
    """By its issuer's form, anywhere in a text."""
    told = redacted(f'{{"key":"{key}","city":"Bern"}}')
    assert key[10:] not in told
    assert HIDDEN in told
    assert told.endswith('"city":"Bern"}')


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("before", ["\n", "\t", "\u00e9", "\\"])
def test_a_key_behind_an_escape_is_hidden(key: str, before: str, layers: int) -> None:
    """As arguments say it that write a file line by line, once and twice in JSON."""
    text = f"see{before}{key}\n"
    for _ in range(layers):
        text = json.dumps({"command": text})
    told = redacted(text)
    assert key[10:] not in told
    for _ in range(layers):
        told = json.loads(told)["command"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"password": "hunter2x", "city": "Bern"}', '{"password": "[redacted]", "city": "Bern"}'),
        ("PATH=/usr/bin\nCOOKIE_SECRET=Bi6CBGzFMo1a", "PATH=/usr/bin\nCOOKIE_SECRET=[redacted]"),
        ('{"pin_code": 481277}', '{"pin_code": 111111}'),
        ("docker login -u me -p hunter2x host", "docker login -u me -p [redacted] host"),
        ("postgres://me:hunter2x@host/db", "postgres://[redacted]@host/db"),
        ("openssl enc -pass pass:hunter2x9K -in a", "openssl enc -pass [redacted] -in a"),
    ],
)
def test_what_a_name_tells_is_overwritten(text: str, told: str) -> None:
    """As captures overwrite it; digits stay digits, so that JSON stays JSON."""
    assert redacted(text) == told


def test_whatever_follows_bearer_is_hidden() -> None:
    """Also what has no form."""
    assert redacted("Authorization: Bearer qwertzui") == f"Authorization: Bearer {HIDDEN}"


@pytest.mark.parametrize(
    "text",
    ["", "get_weather", "task-list-of-the-day", "call_95df1cc8dabc4b959bbbc431", "toolu_01UopqgKNjb4FvUax23G7o4X"],
)
def test_other_text_is_left_alone(text: str) -> None:
    """Ids of calls are no secrets."""
    assert redacted(text) == text


def test_what_the_request_carried_is_hidden_wherever_it_shows() -> None:
    """Headers and parameters by their names, whole and without their scheme; cookies one by one."""
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
    told = redacted(f"some-client sse-value {' '.join(secrets)}", secrets)
    assert told == f"some-client sse-value {' '.join([HIDDEN] * len(secrets))}"


def test_a_secret_within_another_leaves_nothing_of_it() -> None:
    """The longest first."""
    secrets = known_secrets([("x-token", "inner-token"), ("x-secret", "inner-token-and-more")], "/")
    assert redacted("inner-token-and-more", secrets) == HIDDEN


@pytest.mark.parametrize("value", ["", "short", "abc"])
def test_what_is_too_short_to_be_a_secret_is_none(value: str) -> None:
    """Hiding it would hide half of all text."""
    assert known_secrets([("authorization", value)], f"/?key={value[-5:]}") == ()


def test_a_path_that_is_none_carries_nothing() -> None:
    """And does not raise."""
    assert known_secrets([], "http://[") == ()
