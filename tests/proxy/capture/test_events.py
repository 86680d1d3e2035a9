from __future__ import annotations

from toolstream_core.proxy.capture.events import Condenser

LINE = b'data: {"id":"c1","n":12,"index":0,"delta":{"content":" the"},"pad":"ab"}'


def test_a_window_of_events() -> None:
    """Whatever is in it is in the short form, once."""
    words = [f" word{number % 7}".encode() for number in range(40)]
    events = [LINE.replace(b" the", word) for word in words]
    for border in (b"\n\n", b"\r\n\r\n", b"\n"):
        short = Condenser().condense(
            border.join([b"event: begin", *events, b": comment", LINE.replace(b'"n"', b'"m"')])
        )
        assert short is not None
        assert short.texts[b"content"][0] == b"".join([*words, b" the"])
        looked_at = b"\n".join([*(line for form in short.forms for line in form.samples()), *short.rare])
        for text in (LINE, b"event: begin", b": comment", b'"m"'):
            assert text in looked_at or text.replace(b" the", words[0]) in looked_at
        assert len(looked_at) < 10 * len(LINE)


def test_events_that_are_not_alike() -> None:
    """Or too few: they have no short form."""
    assert Condenser().condense(b"\n\n".join([LINE] * 5)) is None
    assert Condenser().condense(b"\n\n".join(LINE.replace(b'"n"', b'"n%d"' % number) for number in range(300))) is None


def test_what_windows_say_is_joined() -> None:
    """To the end of what earlier ones said of a key, and of it in one form; the last window may have one event."""
    condenser = Condenser()
    second = LINE.replace(b'"index":0', b'"index":1').replace(b" the", b" of")
    windows = [b"\n\n".join([LINE, second] * 11), second.replace(b" of", b" end"), b""]
    texts = [short.texts.get(b"content") for window in windows if (short := condenser.condense(window)) is not None]
    assert texts[1:] == [[b" the of" * 11 + b" end", b" of" * 11 + b" end"], None]
    assert condenser.condense(LINE + b"x" * 100_000) is None
