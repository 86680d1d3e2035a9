"""Cheap tests on the raw bytes of JSON text, before it is parsed."""


def may_hide_letters(raw: bytes) -> bool:
    r"""Whether JSON text may say an ASCII letter by an escape, so that a search of its bytes would miss a key.

    That is `\u004x` to `\u007x`; other escapes, which are frequent, do not count.
    """
    if b"\\" not in raw:
        return False
    return any(rest[:3] == b"u00" and rest[3:4] in {b"4", b"5", b"6", b"7"} for rest in raw.split(b"\\")[1:])
