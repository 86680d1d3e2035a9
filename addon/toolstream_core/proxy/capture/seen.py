"""Forms of events in which there is no place for a secret, remembered from body to body."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.channels import other_lines
from toolstream_core.redaction.strings import leaves

if TYPE_CHECKING:
    from toolstream_core.proxy.capture.forms import Form
    from toolstream_core.redaction.finder import SecretFinder

_MOST: Final = 4096
_MARK: Final = re.compile(rb"(?:data: ?)?\[\w{1,16}\]")
"""A line that is one word, such as `data: [DONE]`."""
_UNSURE: Final = frozenset((b"value", b""))
"""Keys that a string before them may name: `{"name": "x-api-key", "value": "…"}`, `["x-api-key", "…"]`."""


class SeenForms:
    """The forms of JSON whose lines a redactor left as they were, and whose keys make no secret of what they hold.

    Lines of such a form hold a secret only in what their strings say by themselves. Digests of what is left of a line
    without its values are kept, and nothing else: no secret, and little. For one redaction.
    """

    def __init__(self) -> None:
        """None was seen."""
        self._digests: set[bytes] = set()

    def __deepcopy__(self, memo: object) -> SeenForms:
        """The same object: bodies share it."""
        return self

    def holds(self, form: Form) -> bool:
        """Whether it was seen."""
        return _digest(form) in self._digests

    def add(self, form: Form, finder: SecretFinder) -> None:
        """Remember a form, whose lines were left as they were, where their keys allow that."""
        keys = {leaf.key for leaf in leaves(form.line)} | {value.key for value in form.found}
        if keys & _UNSURE or any(finder.sensitivity(key.decode("latin-1")) for key in keys):
            return
        if any(other_lines(form.line)) and _MARK.fullmatch(form.line) is None:
            return
        if len(self._digests) >= _MOST:
            self._digests.clear()
        self._digests.add(_digest(form))


def _digest(form: Form) -> bytes:
    return hashlib.blake2b(form.skeleton(), digest_size=16).digest()
