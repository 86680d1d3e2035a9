from __future__ import annotations

from toolstream_core.proxy.capture.forms import Form, outline, values

LINE = b'data: {"id":"c1","n":12,"index":0,"delta":{"content":" the"},"pad":"ab"}'


def form_of(*lines: bytes) -> Form:
    """The form of lines."""
    form = Form(lines[0], values(lines[0]))
    for line in lines[1:]:
        form.widen(line, values(line))
    return form


def test_lines_of_one_form() -> None:
    """They differ in values of strings and numbers, and are told by those."""
    other = LINE.replace(b" the", b"").replace(b"12", b"-3.5e2").replace(b'"ab"', b'"\\"x\\u00e9"')
    form = form_of(LINE, other)
    assert outline(LINE, values(LINE)) == outline(other, values(other))
    assert form.keys == [b"n", b"content", b"pad"]
    assert form.match(LINE) == [(b"12",), (b" the",), (b"ab",)]
    assert form.match(other) == [(b"-3.5e2",), (b"",), (b'\\"x\\u00e9',)]


def test_lines_of_another_form() -> None:
    """Another call, another key, more or less of it: the values would be read wrongly."""
    form = form_of(LINE, LINE.replace(b" the", b" a"))
    assert form_of(LINE).match(LINE) is None
    for odd in (
        LINE.replace(b'"index":0', b'"index":1'),
        LINE.replace(b'"content"', b'"reasoning"'),
        LINE.replace(b"12", b"13"),
        LINE + b" ",
        LINE[:-1],
        LINE.replace(b" the", b'x"},"pad":"'),
        LINE.replace(b" the", b"a\\"),
    ):
        assert form.match(odd) is None
    assert outline(LINE, values(LINE)) != outline(odd := LINE.replace(b'"index":0', b'"index":1'), values(odd))
