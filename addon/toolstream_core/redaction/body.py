"""A body without its secrets: streamed, in bounded memory, byte for byte as long as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.channels import Channels
from toolstream_core.redaction.escapes import Edit, beside_escapes
from toolstream_core.redaction.fields import Fields
from toolstream_core.redaction.finder import SecretFinder, filled
from toolstream_core.redaction.leaves import leaves
from toolstream_core.redaction.messages import MessageRedactor, is_message_begun, is_messages
from toolstream_core.redaction.settings import Redaction, TextMode
from toolstream_core.redaction.signatures import Signatures, without
from toolstream_core.redaction.texts import TextFiller

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.redaction.leaves import Leaf
    from toolstream_core.redaction.messages import Redactor

WINDOW: Final = 1 << 20
"""Bytes that are looked at together."""
KEPT: Final = 1 << 17
"""Of these, how many are looked at again with what follows."""
_TAIL: Final = 4096
"""Bytes before the window that what stands in it may have begun in."""
_PLAIN: Final = Redaction()


class BodyRedactor:
    """Redacts a body as it comes. What it gives is, in total, as many bytes as it was fed, however these were cut.

    `known` are secrets that the request carried (`known_secrets`).
    """

    def __init__(self, redaction: Redaction, known: Sequence[str] = (), finder: SecretFinder | None = None) -> None:
        """For one body; `finder` is one of the same redaction and secrets that has looked at similar bodies."""
        self._text = _TextRedactor(redaction, known, finder)
        self._head = b""
        self._redactor: Redactor | None = None
        """Known when the first bytes tell what the body is."""

    def feed(self, data: bytes) -> bytes:
        """What is ready of all that was fed; a window of bounded size is held back."""
        if self._redactor is not None:
            return self._redactor.feed(data)
        self._head += data
        if is_message_begun(self._head):
            return b""
        return self._begin()

    def finish(self) -> bytes:
        """The rest."""
        begun = b"" if self._redactor is not None else self._begin()
        return begun + (self._redactor or self._text).finish()

    def _begin(self) -> bytes:
        head, self._head = self._head, b""
        self._redactor = MessageRedactor(self._text) if is_messages(head) else self._text
        return self._redactor.feed(head)


class _TextRedactor:
    """As `BodyRedactor`, for text."""

    def __init__(self, redaction: Redaction, known: Sequence[str] = (), finder: SecretFinder | None = None) -> None:
        """The same arguments."""
        self._finder = finder or SecretFinder(redaction, known)
        self._channels = Channels(self._finder)
        self._signatures = Signatures(self._finder)
        self._in_signatures = Channels(self._finder.sure) if self._finder.sure else None
        self._held = bytearray()
        self._before = b""
        self._open_key: bytes | None = None
        self._texts = None if redaction.text is TextMode.KEEP else TextFiller(redaction.text)
        self._fields = Fields(self._finder)

    def feed(self, data: bytes) -> bytes:
        """What is ready."""
        self._held += data
        ready: list[bytes] = []
        at = 0
        while len(self._held) - at >= WINDOW:
            clean = self._look(bytes(self._held[at : at + WINDOW]), last=False)
            at += len(clean)
            ready.append(clean)
        del self._held[:at]
        return b"".join(ready)

    def finish(self) -> bytes:
        """The rest."""
        clean = self._look(bytes(self._held), last=True)
        self._held.clear()
        return clean

    def _look(self, window: bytes, *, last: bool) -> bytes:
        """The part of a window that can go, redacted."""
        found = list(leaves(window, self._open_key))
        flushed, open_key = (len(window), None) if last else _cut(window, found)
        clean = bytearray(window)
        # Secrets last: of them nothing is left, not even their shape.
        texts = self._texts.edits(window, flushed) if self._texts else []
        for edit in [*texts, *self._edits(window, found, flushed)]:
            clean[edit.at : edit.at + len(edit.data)] = edit.data
        self._open_key = open_key
        return bytes(clean[:flushed])

    def _edits(self, window: bytes, found: Sequence[Leaf], flushed: int) -> Iterator[Edit]:
        signatures = self._signatures.among(window, found, flushed)
        if self._in_signatures is not None:
            yield from self._in_signatures.edits(window, signatures, flushed)
        window = without(window, signatures)
        shift = len(self._before)
        text = self._before + window
        for secret in self._finder.find_by_themselves(text):
            for start, end in beside_escapes(text, max(secret.start, shift), secret.end):
                yield Edit(start - shift, filled(text[start:end]))
        yield from self._fields.edits(window, found)
        yield from self._channels.edits(window, found, flushed)
        self._before = text[: shift + flushed][-_TAIL:]


def _cut(window: bytes, found: Sequence[Leaf]) -> tuple[int, bytes | None]:
    """Where the part ends that can go: behind an event, else before a string, else inside it, and of which key."""
    limit = len(window) - KEPT
    line = window.rfind(b"\n", limit - KEPT, limit) + 1
    if line:
        return line, None
    for leaf in reversed(found):
        if leaf.outset < limit:
            if leaf.end < limit:
                return (leaf.end + 1 if leaf.end > limit - KEPT else limit), None
            if leaf.outset > limit - KEPT:
                return leaf.outset, None
            return _between_characters(window, limit), leaf.key
    return limit, None


def _between_characters(window: bytes, limit: int) -> int:
    """A place where neither an escape nor a character is cut."""
    for at in range(limit, limit - 64, -1):
        if window[at] & 0xC0 != 0x80 and b"\\" not in window[at - 12 : at]:  # noqa: PLR2004
            return at
    return limit


def redacted_body(
    data: bytes, redaction: Redaction = _PLAIN, known: Sequence[str] = (), finder: SecretFinder | None = None
) -> bytes:
    """A whole body, redacted, as many bytes long; the arguments are those of `BodyRedactor`."""
    redactor = BodyRedactor(redaction, known, finder)
    return redactor.feed(data) + redactor.finish()
