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
    assert form.match(LINE) == [[b"12"], [b" the"], [b"ab"]]
    assert form.match(other) == [[b"-3.5e2"], [b""], [b'\\"x\\u00e9']]


def test_lines_of_another_form() -> None:
    """Another call, another key, more or less of it: the values would be read wrongly."""
    form = form_of(LINE, LINE.replace(b" the", b" a"))
    assert form_of(LINE).match(LINE) == [[b" the"]]  # a delta differs, though there is one line alone
    assert form_of(LINE).match(LINE.replace(b"12", b"13")) is None
    assert form_of(LINE.replace(b"content", b"name")).match(LINE.replace(b"content", b"name")) is None
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


def test_many_lines_at_once() -> None:
    """Key by key; none where one of them is not like the others."""
    form = form_of(LINE, LINE.replace(b" the", b" a").replace(b"ab", b"").replace(b"12", b"1"))
    inside = [LINE.replace(b" the", b"%d\\t \t" % number) for number in range(5)]
    lines = [line.removeprefix(form.head).removesuffix(form.tail) for line in inside]
    assert form.columns(lines) == [[b"12"] * 5, [b"%d\\t \t" % number for number in range(5)], [b"ab"] * 5]
    swapped = b'12,"index":0,"delta":{"pad":"ab"},"content":" the'
    for odd in (swapped, lines[0] + b"\n" + lines[0], lines[0].replace(b"0", b"\x01"), lines[0] + b"\\", b"", b"12"):
        assert form.columns([*lines, odd, *lines]) is None, odd


def test_values_in_another_order() -> None:
    """They are of other keys, even if what stands between them is the same."""
    line = b'{"a":"x","b":"y","c":"z","d":"w"}'
    form = form_of(line, line.translate(bytes.maketrans(b"xyzw", b"klmn")))
    assert form.match(line) == [[b"x"], [b"y"], [b"z"], [b"w"]]
    assert form.match(b'{"a":"x","c":"z","b":"y","d":"w"}') is None


def test_as_many_values_as_there_are_marks() -> None:
    """Lines with more of them are of no form, as they could not be told apart."""
    for count, fits in ((30, True), (31, False)):
        first, second = (b",".join(b'"k%d":"%b"' % (at, said) for at in range(count)) for said in (b"x", b"y"))
        assert (form_of(first, second).match(first) is not None) is fits
