from __future__ import annotations

import pytest

from toolstream_core.proxy.capture.forms import Form, values
from toolstream_core.proxy.capture.quick import QuickRedactor
from toolstream_core.proxy.capture.seen import SeenForms
from toolstream_core.redaction import Redaction, redacted_body
from toolstream_core.redaction.finder import SecretFinder

KEY = b"sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1CdE4G"
LINE = b'data: {"id":"c1","n":12,"delta":{"content":" the"},"pad":"ab"}'


def form(line: bytes) -> Form:
    """The form of one line."""
    return Form(line, values(line))


def test_what_was_seen_is_known_by_its_form() -> None:
    """Whatever its values are, ids included."""
    seen = SeenForms()
    assert not seen.holds(form(LINE))
    seen.add(form(LINE), SecretFinder(Redaction()))
    assert seen.holds(form(LINE.replace(b"c1", b"c2").replace(b"12", b"13").replace(b" the", b" a")))
    assert not seen.holds(form(LINE.replace(b"pad", b"pat")))


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (b'data: {"user":"x","content":"a"}', ()),
        (b'data: {"house_code":"x","content":"a"}', ("house-code",)),
        (b'data: {"name":"x","value":"a"}', ()),
        (b'data: {"all":["x","a"]}', ()),
        (b': said "content":"a"', ()),
        (b'data: {"content":"a"}\nsaid: "content":"b"', ()),
    ],
    ids=[
        "a sensitive key",
        "one of the user's",
        "a value that another names",
        "an array",
        "a comment",
        "a line of text",
    ],
)
def test_forms_that_are_looked_at_each_time(line: bytes, names: tuple[str, ...]) -> None:
    """What stands around a value makes it a secret there."""
    seen = SeenForms()
    seen.add(form(line), SecretFinder(Redaction(names=names)))
    assert not seen.holds(form(line))


def test_a_line_of_one_word() -> None:
    """It ends most streams, and is no JSON."""
    seen, lines = SeenForms(), (b"data: [DONE]", b"-----BEGIN PRIVATE KEY-----", b"data: [DONE] hush")
    for line in lines:
        seen.add(form(line), SecretFinder(Redaction()))
    assert [seen.holds(form(line)) for line in lines] == [True, False, False]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"c1"', b'"%b"' % KEY),
        (b'"ab"', b'"%b"' % KEY),
        (b'"ab"', b'"api_key=0f1e2d3c4b5a69788796a5b4c3d2e1f0"'),
        (b'"ab"', b'"hush-hush-4711"'),
        (b'"ab"', b'"{\\"password\\":\\"hunter2!\\"}"'),
        (b":12,", b":4711471147114711,"),
    ],
)
def test_secrets_in_forms_that_were_seen(before: bytes, after: bytes) -> None:
    """They are overwritten as they would be had nothing been seen, and what was seen stays so."""
    words = [f" word{number % 7}".encode() for number in range(40)]
    clean = b"".join(LINE.replace(b" the", word) + b"\n\n" for word in words)
    seen, known = SeenForms(), ["hush-hush-4711", "4711471147114711"]
    for body in (clean, clean.replace(before, after), clean.replace(before, after, 1), clean):
        redactor = QuickRedactor(Redaction(), known, seen)
        out = redactor.feed(body) + redactor.finish()
        assert out == redacted_body(body, Redaction(), known)
        assert redactor.is_quick == (body is clean)
    assert seen.holds(form(LINE))
