"""Reads the intended arguments of a call from its fragments. Knows no protocol.

No method reads all of the text at every fragment: a deviation is found at the fragment that begins it. From there on,
the intended text grows next to the received text.
"""

from __future__ import annotations

import re
from typing import Final, override

from toolstream_core.calls.arguments import (
    AGAIN,
    HIGH,
    LOW,
    ArgumentText,
    Reading,
    addition,
    read,
    read_in_call,
    repetition,
)
from toolstream_core.calls.json_text import grows_into, is_object, paired, same_arguments, without
from toolstream_core.calls.placeholders import BEFORE, LONGEST_PLACEHOLDER, is_placeholder, may_become_placeholder
from toolstream_core.calls.scanner import WHITE, WS
from toolstream_core.defects.arguments import (
    CUMULATIVE_ARGUMENTS,
    LOST_BEGINNING,
    PLACEHOLDER_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SNAPSHOT_ARGUMENTS,
    SPLIT_SURROGATE,
)
from toolstream_core.defects.defect import Defect

_BEGUN_OBJECT: Final = re.compile(rf'{WS}(?:\{{{WS}"?)?')
"""An object before the first letter of its first key."""
_SURELY_AGAIN: Final = 128
"""From this length on, a text that begins like the complete object before it is the same object."""


class ArgumentsReader:
    """The intended arguments of one call: `add` each fragment, `read` at any time."""

    def __init__(self, received: ArgumentText) -> None:
        """`received`: the received text, without fragments yet."""
        self.defect: Defect | None = None
        """Why the intended text differs from the received text."""
        self.last_object: str | None = None
        """The last fragment, if each was a complete object: the next one may replace it."""
        self._reset(received)

    def _reset(self, received: ArgumentText) -> None:
        self.last_object, self.received = None, received
        """The received fragments, joined."""
        self.without_placeholder = received
        """The received text without a placeholder before the arguments."""
        self.source = received
        """The intended text, as far as it grows by fragments: mostly the received text."""
        self._prefix_size = 0
        """Number of characters before the arguments."""
        self._text: ArgumentText | None = None
        """The intended text, from where it differs from the received text."""
        self.begin = 0
        """The place of the arguments in the received text; negative if their beginning was lost."""
        self._complete: str | None = None
        """The complete object, if more text follows it."""
        self._tail = ""
        """The text after the complete object, while it may still repeat the object."""
        self._repeated = False
        """Whether the complete object was repeated completely."""
        self._high_surrogate = ""
        """The first unit of a surrogate pair, which waits for the second."""
        self.is_uncertain = False
        """Whether the text after the object is ambiguous, and is forwarded unchanged."""
        self.cumulative: str | None = None
        """The last fragment, if each fragment has all arguments so far."""
        self.suspect: str | None = None
        """A fragment that begins with all previous text: all arguments so far, or the next part.

        After a complete object, the beginning of the same object, or of another one. `""` if the next fragment may show
        that the text has more or less than the object.
        """
        self.is_unchanged = True
        """Whether the last fragment is added to the intended text unchanged."""
        self._known: tuple[int, bool, Reading] | None = None
        """The last result of `read`, and its input."""

    # -- the result

    @property
    def decided(self) -> bool:
        """Whether later fragments cannot change how earlier ones are read."""
        if self.cumulative is not None or self.is_uncertain:
            return True
        if self._complete is not None:
            return self.suspect is None
        received = self.without_placeholder  # text that is no JSON
        return self._text is None and self.suspect is None and not (received.viable or received.inside_value)

    def read(self, *, final: bool) -> Reading:
        """The intended arguments as far as they are certain; `final`: no more fragments arrive."""
        size = self.received.size
        if self._known is None or self._known[:2] != (size, final):
            reading = self._read_after_placeholder(final=final) if self._prefix_size else self._read(final=final)
            self._known = size, final, reading
        return self._known[2]

    def _read_after_placeholder(self, *, final: bool) -> Reading:
        if self.received.envelope_size and self._text is None:
            return read_in_call(self.without_placeholder, self.received, final=final)
        reading = self._read(final=final)
        return reading if reading.defect is not None else reading._replace(defect=PLACEHOLDER_ARGUMENTS)

    def _read(self, *, final: bool) -> Reading:
        if self.cumulative is not None:
            return Reading(self.cumulative, self.defect or CUMULATIVE_ARGUMENTS)
        if self._text is None:
            return read(self.without_placeholder, final=final)
        if self.is_uncertain:
            return Reading(self._text.text(), self.defect, is_ambiguous=True)
        reading = read(self._text, final=final)
        if final and self._tail.lstrip(WHITE).startswith(AGAIN):  # it is not repeated completely
            return Reading(reading.text + self._tail, reading.defect, reading.is_ambiguous)
        return Reading(reading.text, reading.defect or self.defect, reading.is_ambiguous)

    @property
    def is_too_long(self) -> bool:
        """Whether the arguments are longer than the limit: the rest of them is forwarded unchanged."""
        return self.received.truncated or self.source.truncated

    @property
    def may_be_placeholder(self) -> bool:
        """Whether the received text is `{}` or `null`, which may stand for later arguments."""
        received = self.received
        return not received.empty and received.size <= LONGEST_PLACEHOLDER and is_placeholder(received.text())

    @property
    def may_become_placeholder(self) -> bool:
        """Whether the received text may become `{}` or `null`."""
        received = self.received
        return received.size <= LONGEST_PLACEHOLDER and may_become_placeholder(received.text())

    @property
    def is_inside(self) -> bool:
        """Whether the next plain fragment is the next part of an object that is open."""
        source = self.source
        if self.is_uncertain and self._text is not None:
            return True
        if self.cumulative is not None or self.suspect is not None or self._high_surrogate:
            return False
        return (
            source.inside_value and source.viable and source.last_complete is None and source.envelope_size is not None
        )

    # -- the input

    def add(self, fragment: str, received: ArgumentText) -> None:
        """Add a fragment, which `received` already contains; reset if `received` is another text than before."""
        if received is not self.received:
            self._reset(received)
        if not fragment:
            return
        self._known = None
        if self._prefix_size:
            self.without_placeholder.add(fragment)
        if self._text is not None:
            self._add_to_own(fragment)
        elif self.last_object is not None and grows_into(self.last_object, fragment):
            self.cumulative = self.last_object = fragment
            self.begin, self.defect = self.received.size - len(fragment), SNAPSHOT_ARGUMENTS
        elif self.cumulative is not None and self.defect is SNAPSHOT_ARGUMENTS:
            self._after_snapshots(fragment)
        elif self.cumulative is not None or self._extends_suspect(fragment):
            self._add_snapshot(fragment)
        else:
            self._check(fragment)
            if self._text is None:
                self._find_snapshot(fragment)
                has_key = received.envelope_size is None and _BEGUN_OBJECT.fullmatch(received.text()) is None
                if received.beginning is None or has_key:
                    self.suspect = ""
            is_first = self.without_placeholder.size == len(fragment) and not is_placeholder(fragment)
            self.last_object = self.without_placeholder.last_complete if is_first else None

    def add_plain(self, text: str, last: str) -> None:
        """Add plain fragments of skipped events; `last` is the last of them."""
        self._known = None
        if self._prefix_size:
            self.without_placeholder.add_plain(text, last)
        if self._text is not None:
            self._text.add_plain(text, last)

    def decide(self, *, final: bool) -> None:
        """Decide what the last fragment means, without the next one; `final`: none arrives, or it would be too late."""
        suspect, self.suspect, self.last_object = self.suspect, None, None
        if self._text is not None and self._complete is not None:
            if final and suspect is not None and len(suspect) < _SURELY_AGAIN:
                self._keep_tail(self._text, None)
        elif suspect is not None and not self.without_placeholder.ended and is_object(suspect):
            self.cumulative, self.begin, self._known = suspect, self.received.size - len(suspect), None

    def _other_text(self) -> ArgumentText:
        """A new text with the same limit as the received one."""
        return ArgumentText(budget=self.received.budget)

    def _check(self, fragment: str) -> None:
        """Check whether the intended text differs from the received text from this fragment on."""
        received = self.without_placeholder
        if received.beginning and not received.envelope_size:
            self.source = self._text = self._other_text()
            self.defect, self.begin, self.suspect = LOST_BEGINNING, -len(received.beginning), None
            self._text.add(received.beginning + received.text())
        elif HIGH <= fragment[-1] < LOW:
            self.source = self._text = self._other_text()
            self.defect, self._high_surrogate = SPLIT_SURROGATE, fragment[-1]
            self._text.add(paired(received.text()[:-1]))
        elif not self._prefix_size and (shift := received.envelope_size or self._placeholder_before(fragment)):
            self._prefix_size = self.begin = shift
            self.source = self.without_placeholder = self._other_text()
            self.without_placeholder.add(received.text()[shift:])
        elif (
            received.has_trailing_text
            and not (self.received.envelope_size and self.received.viable)
            and not self.may_be_placeholder
            and (complete := received.ended_object()) is not None
            and received.text().startswith(complete)
        ):
            self.source = self._text = self._other_text()
            self._complete = complete
            self._text.add(complete)
            self._add_trailing(self._text, complete, received.text()[len(complete) :])

    def _placeholder_before(self, fragment: str) -> int:
        """Characters of a placeholder before the arguments, which begin with or in this fragment."""
        size = self.received.size - len(fragment)
        if size > LONGEST_PLACEHOLDER or (size and is_placeholder(fragment)):
            return 0
        before = BEFORE.match(self.received.text())
        return before.end() if before is not None else 0

    def _add_to_own(self, fragment: str) -> None:
        assert self._text is not None
        if self._complete is not None:
            self._add_trailing(self._text, self._complete, fragment)
            return
        text, self._high_surrogate = paired(self._high_surrogate + fragment), ""
        if HIGH <= text[-1] < LOW:
            text, self._high_surrogate = text[:-1], text[-1]
        self._text.add(text)
        self.is_unchanged = text == fragment

    def _add_trailing(self, own: ArgumentText, complete: str, fragment: str) -> None:
        """Handle a fragment after the complete object: a repetition, markup, or something else."""
        self.is_unchanged = False
        self._tail += fragment
        if "}" in fragment or self._tail.endswith('}"'):
            self._tail = without(complete.strip(WHITE), self._tail.strip(WHITE))
        rest, self.suspect = self._tail.strip(WHITE), None
        if not rest and not fragment.strip(WHITE):
            return
        defect = repetition(complete, rest)
        self._repeated = self._repeated or not rest
        if defect is REPLAYED_ARGUMENTS and not self._repeated:
            self.suspect = rest
        self.defect = defect or addition(rest)
        if defect is None:
            self._keep_tail(own, self.defect)

    def _keep_tail(self, own: ArgumentText, defect: Defect | None) -> None:
        """Keep the text after the complete object: it is forwarded unchanged."""
        own.add(self._tail)
        self.defect, self._known = defect, None
        self._complete, self._tail, self.is_uncertain = None, "", True

    def _add_snapshot(self, fragment: str) -> None:
        """Add a fragment that has all arguments so far, perhaps with the first half of a surrogate pair at its end."""
        known, half = self.cumulative or "", self._high_surrogate
        whole = fragment[:-1] if HIGH <= fragment[-1] < LOW else fragment
        if fragment.startswith(known):
            self.cumulative, self._high_surrogate = whole, fragment[len(whole) :]
            self.begin = self.received.size - len(fragment)
        elif not known.startswith(fragment) and fragment.strip(WHITE):
            self.cumulative, self._high_surrogate = paired(known + half + whole), fragment[len(whole) :]

    def _after_snapshots(self, fragment: str) -> None:
        """Handle a fragment that does not extend the last snapshot: unless it repeats that, there were no snapshots."""
        if fragment.strip(WHITE) and not same_arguments(self.cumulative or "", fragment):
            self.cumulative = self.last_object = self.defect = None
            self.begin = self._prefix_size
            self._check(fragment)

    def _extends_suspect(self, fragment: str) -> bool:
        """Whether a fragment extends `suspect`: each fragment then has all arguments so far."""
        if not (self.suspect and fragment.startswith(self.suspect) and len(fragment) > len(self.suspect)):
            return False
        self.cumulative, self.suspect, self.last_object = self.suspect, None, None
        return True

    def _find_snapshot(self, fragment: str) -> None:
        """Check whether each fragment has all arguments so far, although the joined text may be valid."""
        received = self.without_placeholder
        self.suspect = None
        if len(fragment) * 2 < received.size or len(fragment) >= received.size or received.ended_object() is not None:
            return
        before = received.text()[: -len(fragment)]
        if not fragment.startswith(before) or is_placeholder(before) or before.lstrip(WHITE)[:1] != "{":
            return
        if not received.viable:
            self.cumulative, self.begin = fragment, self._prefix_size + len(before)
        elif len(before) > 1:
            self.suspect = fragment


class FreeTextReader(ArgumentsReader):
    """The arguments of a custom tool's call: the received text is intended."""

    is_inside = True
    may_be_placeholder = False
    may_become_placeholder = False

    @override
    def add(self, fragment: str, received: ArgumentText) -> None:
        if received is not self.received:
            self._reset(received)

    @override
    def _read(self, *, final: bool) -> Reading:
        return Reading(self.received.text())
