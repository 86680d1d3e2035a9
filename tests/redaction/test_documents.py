"""Secrets in the strings of a JSON document. Strings that a client joins are searched as one text."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from toolstream_core.redaction import BodyRedactor, Redaction, redacted_body

KEY: Final = "sk" + "-proj-" + "Ab3dEf6hIj9lMn2pQr5t"
ACCESS: Final = "AK" + "IA" + "QWERTZ23ABCDE234"
SECRET: Final = "aB3dE6fG9hI2jK5lM8"
PEM: Final = ("-----BEGIN RSA PRIVATE " + "KEY-----", "MIIEow0123456789abcdef", "-----END RSA PRIVATE KEY-----")


def text(*parts: str) -> Any:
    """A message with these parts."""
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": part} for part in parts]}]}


def chunks(*parts: str) -> Any:
    """The response that a client of Gemini returns, with a message for each chunk."""
    return {"contents": [{"parts": [{"text": part}], "role": "model"} for part in parts]}


HARMLESS: Final = (
    {"required": ["password", "email"]},
    {"enum": ["api_key", "oauth", "basic"]},
    {"required": ["token", "organization_name", "x"]},
    {"words": ["authorization", "password", "secret", "session"]},
    {"lines": ["if not passwd:", '    passwd = " "', "return x"]},
    {"files": ["src/auth/token.py", "src/compass.py"]},
    {"argv": ["docker", "run", "-p", "5432:5432", "postgres"]},
    {"argv": ["grep", "-rn", "password", "src/"]},
    {"arguments": json.dumps({"argv": ["docker", "run", "-p", "5432:5432", "postgres"]})},
    {"arguments": json.dumps({"flags": ["--password", "--api-key", "-p", "--user"]})},
    {"arguments": json.dumps({"argv": ["curl", "-s", "https://x.example", "-o", "out.json"]})},
    text("The password:", "configuration2024"),
    text("ends with sk-", "proj-planning-for-the-year-2026"),
    text("Bearer", "understanding2026-of-things"),
    text("-----BEGIN RSA PRIVATE " + "KEY-----", "is how such a file begins"),
    text("my user is", "curl", "-u name:word"),
    {"max_tokens": 4096, "seed": 123456789012345, "created": 1700000000, "key": 12345, "token": 4711},
    {"pin": "GPIO4", "mnemonic": "mov", "kty": "RSA", "e": "AQAB", "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiA"},
    {"result_key": "AggregateComplianceByConformancePacks"},
    {"text": "class A(B):\n    pass\n\n\nCertPolicyFlags.namedValues = 1"},
    chunks("I look for", " the password", " in configuration", "2024.yaml"),
)
"""Documents without a secret."""
SECRETS: Final[tuple[tuple[Any, str], ...]] = (
    # Texts that stay separate.
    (text(f"see {ACCESS}", "Hello"), ACCESS),
    (text("word", KEY, "word"), KEY),
    (text("Hello", f"authorization: {SECRET}", "x-api-key"), SECRET),
    ({"input": [{"output": KEY}, {"output": "done"}]}, KEY),
    ({"system": [{"text": KEY}, {"text": "Be good."}]}, KEY),
    # Strings that are read as one text.
    ({"lines": PEM}, PEM[1]),
    ({"lines": ["env:", "  - name: DB_PASSWORD", f"    value: {SECRET}"]}, SECRET),
    ({"argv": ["docker", "login", "-u", "me", "-p", SECRET, "host"]}, SECRET),
    ({"argv": ["deploy", "--api-key", SECRET]}, SECRET),
    ({"argv": ["curl", "-u", f"me:{SECRET}", "https://x.example"]}, SECRET),
    ({"arguments": json.dumps({"argv": ["docker", "login", "-u", "me", "-p", SECRET, "host"]})}, SECRET),
    ({"arguments": json.dumps({"argv": ["sshpass", "-p", SECRET, "ssh", "host"]})}, SECRET),
    ({"arguments": json.dumps({"argv": ["curl", "-s", "-u", f"me:{SECRET}", "https://x.example"]})}, SECRET),
    ({"arguments": json.dumps({"argv": ["deploy", "--password", "hunter2x"]})}, "hunter2x"),
    ({"arguments": json.dumps({"lines": ["<key>apiKey</key>", f"<string>{SECRET}</string>"]})}, SECRET),
    ({"arguments": json.dumps({"lines": ["  - name: DB_PASSWORD", f"    value: {SECRET}"]})}, SECRET),
    # Values that are secret because of their field's name or a neighbouring field.
    ({"headers": [["x-api-key", SECRET], ["cookie", "sid=a b"]]}, SECRET),
    ({"pair": ["x-api-key", SECRET]}, SECRET),
    ({"headers": [{"name": "x-api-key", "value": SECRET}]}, SECRET),
    ({"kty": "oct", "k": SECRET}, SECRET),
    ({"password": 48127763}, "48127763"),
    ({"account_id": 481277634812}, "481277634812"),
    ({"otp": "481277"}, "481277"),
    ({"cvv": 482}, "482"),
    ({"arguments": json.dumps({"cvv": 482, "city": "Bern"})}, "482"),
    ({"arguments": json.dumps({"sid": SECRET})}, SECRET),
    ({"ssn": "078-05-1120"}, "078-05-1120"),
    ({"security_code": "rosebud"}, "rosebud"),
    ({"vault_token": "qohvvhgzaotojdzzbfpeku"}, "qohvvhgzaotojdzzbfpeku"),
    ({"private_key_id": "d7e02b784e93a8eb07ce"}, "d7e02b784e93a8eb07ce"),
    ({"mnemonic": "legal winner thank year wave sausage worth useful legal winner thank yellow"}, "sausage worth"),
)
"""Documents, and the secret in each."""


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("document", HARMLESS, ids=lambda one: json.dumps(one)[:40])
def test_documents_without_secrets_stay(document: Any, indent: int | None) -> None:
    """They are unchanged byte for byte."""
    body = json.dumps(document, indent=indent).encode()
    assert redacted_body(body) == body


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("document", "secret"), SECRETS, ids=lambda one: json.dumps(one)[:40])
def test_the_secret_of_a_document_is_overwritten(document: Any, secret: str, indent: int | None) -> None:
    """Only the secret and its close surroundings change."""
    body = json.dumps(document, indent=indent)
    clean = redacted_body(body.encode()).decode()
    assert len(clean) == len(body)
    assert secret not in clean
    changed = [at for at in range(len(body)) if body[at] != clean[at]]
    assert body.index(secret) - 60 <= changed[0] < changed[-1] < body.index(secret) + len(secret) + 60


@pytest.mark.parametrize("step", [1, 3, 8])
def test_a_secret_in_a_response_that_a_client_returns_in_chunks(step: int) -> None:
    """The chunks are searched as one text."""
    response = f"The file says password={SECRET} and {KEY}."
    body = json.dumps(chunks(*[response[at : at + step] for at in range(0, len(response), step)]))
    clean = json.loads(redacted_body(body.encode()))
    left = "".join(content["parts"][0]["text"] for content in clean["contents"])
    assert left == f"The file says password={'*' * len(SECRET)} and {'*' * len(KEY)}."


def test_a_thought_that_ends_with_a_key() -> None:
    """The text after the thought is not part of the key."""
    parts = [{"text": letter, "thought": True} for letter in f"see {ACCESS}"] + [{"text": "Here"}, {"text": " it is"}]
    events = [json.dumps({"candidates": [{"content": {"parts": [part]}}]}) for part in parts]
    clean = redacted_body("".join(f"data: {event}\n\n" for event in events).encode()).decode()
    texts = [json.loads(line[6:])["candidates"][0]["content"]["parts"][0]["text"] for line in clean.split("\n\n")[:-1]]
    assert "".join(texts) == f"see {'*' * len(ACCESS)}Here it is"


def test_a_document_of_many_windows() -> None:
    """A text that crosses a window is searched as one text, and two texts stay two."""
    filling = "some words of no use. " * 60_000
    parts = [filling, f"see {ACCESS}", "Hello", filling + f"password={SECRET}", "and2026more", filling]
    for indent in (None, 2):
        body = json.dumps(text(*parts), indent=indent).encode()
        redactor = BodyRedactor(Redaction())
        clean = b"".join(redactor.feed(body[at : at + 65_536]) for at in range(0, len(body), 65_536))
        clean += redactor.finish()
        assert clean == body.replace(ACCESS.encode(), b"*" * len(ACCESS)).replace(SECRET.encode(), b"*" * len(SECRET))
