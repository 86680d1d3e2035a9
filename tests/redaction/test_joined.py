from __future__ import annotations

import json
import random
from itertools import batched

import pytest

from toolstream_core.redaction import Redaction
from toolstream_core.redaction.assignments import _STEMS as STEMS
from toolstream_core.redaction.assignments import assignments
from toolstream_core.redaction.channels import APART
from toolstream_core.redaction.finder import SecretFinder
from toolstream_core.redaction.marked import MARKS, marked
from toolstream_core.redaction.names import field_sensitivity

KNOWN = "hush-hush-4711"
CLEAN = (
    "",
    "the tokens of a key",
    "discord",
    " =",
    "password:",
    "\\",
    '{"a": "b\\n"}',
    "-----BEGIN",
    "?x=1&y",
    "Bearer",
    "\n\n\n",
    "aB3xK9mQ2z" * 40,
)
SECRETS = (
    "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1CdE4G",
    "password=hunter2-and-more",
    'x {"api_key": "0f1e2d3c4b5a69788796a5b4c3d2e1f0"}',
    "https://user:sEcr3tPassw0rd@host.example/x",
    "Bearer abcdefghijklmnop0123456789",
    "discord_token = aB3dE6fG9hI2jK5l",
    "discord=" + "aB3dE6fG9hI2jK5l" * 15,
    "curl -u me:secretword",
    "-----BEGIN RSA PRIVATE KEY-----\n" + "mn" * 500,
    f"it is {KNOWN}",
)


def finder() -> SecretFinder:
    """A finder with a known secret."""
    return SecretFinder(Redaction(), (KNOWN,))


def are_clean(texts: list[bytes], finder: SecretFinder) -> bool:
    """Whether texts that are searched together have no secret."""
    return not any(finder.edits(APART.join(texts)))


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_among_other_texts(secret: str) -> None:
    """A secret is found at any position, and inside nested JSON strings."""
    chance = random.Random(secret)
    text = secret
    for _ in range(4):
        others = chance.choices(CLEAN, k=6)
        others.insert(chance.randint(0, 6), text)
        assert not are_clean([one.encode() for one in others], finder()), others
        text = json.dumps({"x": text})


def test_separate_texts_are_not_joined() -> None:
    """Two texts that would be a secret together are none separately."""
    for pair in batched([*CLEAN, *CLEAN[::-1], *CLEAN[1:], *CLEAN[::2]], 2):
        assert are_clean([one.encode() for one in pair], finder()), pair


def test_a_truncated_key_ends_with_its_text() -> None:
    """It is found although a long text follows."""
    cut = b"-----BEGIN EC PRIVATE KEY-----\nmnmnmn"
    assert list(finder().find(cut))
    assert not are_clean([cut, b"word " * 10_000], finder())


def test_text_of_letters_and_digits_has_no_named_secret() -> None:
    """Expressions that need a sign or a space find nothing in it, and are not tried."""
    chance = random.Random(7)
    words = [*(stem.decode() for stem in STEMS), *(sign for mark in MARKS for sign in map(bytes.decode, mark.signs))]
    words += ["PRIVATE", "KEY", "BEGIN", "Cookie", "value", "hunter2", "aB3dE6fG9hI2jK5l", "0f1e2d3c4b5a69788796", "is"]
    letters = ["".join(filter(str.isalnum, word)) for word in words]
    for _ in range(300):
        text = "".join(chance.choices(letters, k=8)).encode()
        assert [*assignments(text), *marked(text, field_sensitivity)] == [], text


@pytest.mark.parametrize("secret", [KNOWN.replace("-", ""), "AKIAIOSFODNN7EXAMPLQ"])
def test_a_secret_of_letters_and_digits(secret: str) -> None:
    """It is found among padding."""
    knowing = SecretFinder(Redaction(), (KNOWN.replace("-", ""),))
    assert not are_clean([b"aB3xK9mQ2z" * 40, b"some text", secret.encode()], knowing)
