"""The meaning of a call's arguments so far, fragment by fragment. Knows no protocol.

Nothing here reads all of the text at every fragment: a deviation is seen at the fragment that begins it, and from there
on the intended text grows next to the received text.
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


class Meaning:
    """The intended arguments of one call: `add` each fragment, `read` at any time."""

    def __init__(self, received: ArgumentText) -> None:
        """No fragment has arrived; `received` is the received text."""
        self.defect: Defect | None = None
        """Why the intended text differs from the received text."""
        self.newest: str | None = None
        """The last fragment, if each was a complete object: the next one may replace it."""
        self._reset(received)

    def _reset(self, received: ArgumentText) -> None:
        self.newest, self.received = None, received
        """The received fragments, joined."""
        self.without_placeholder = received
        """The same without a placeholder before the arguments."""
        self.source = received
        """The intended text, as far as it grows by fragments: mostly the received text."""
        self._shift = 0
        """Number of characters before the arguments."""
        self._own: ArgumentText | None = None
        """The intended text, from where it differs from the received text."""
        self.begin = 0
        """The place of the arguments in the received text; negative if their beginning was lost."""
        self._complete: str | None = None
        """The complete object, if more text follows it."""
        self._tail = ""
        """The text after it, as far as it adds nothing yet."""
        self._repeated = False
        """Whether it was repeated completely."""
        self._high_surrogate = ""
        """The first unit of a surrogate pair, which waits for the second."""
        self.is_uncertain = False
        """Whether the text after it has no certain meaning, and is forwarded unchanged."""
        self.cumulative: str | None = None
        """The last fragment, if each fragment has all arguments so far."""
        self.suspect: str | None = None
        """A fragment that begins with all previous text: all arguments so far, or the next part.

        After a complete object, the beginning of the same object, or of another one. `""` if the next fragment may show
        that the text has more or less than the object.
        """
        self.is_unchanged = True
        """Whether the last fragment is used unchanged."""
        self._known: tuple[int, bool, Reading] | None = None
        """The last result of `read`, and its input."""

    # -- the result

    @property
    def decided(self) -> bool:
        """Whether no fragment needs to wait any more."""
        if self.cumulative is not None or self.is_uncertain:
            return True
        if self._complete is not None:
            return self.suspect is None
        received = self.without_placeholder  # text that is no JSON
        return self._own is None and self.suspect is None and not (received.viable or received.inside_value)

    def read(self, *, over: bool) -> Reading:
        """The intended arguments as far as they are certain; `over`: the provider sends no more of them."""
        size = self.received.size
        if self._known is None or self._known[:2] != (size, over):
            self._known = size, over, self._read_after_placeholder(over=over) if self._shift else self._read(over=over)
        return self._known[2]

    def _read_after_placeholder(self, *, over: bool) -> Reading:
        if self.received.head and self._own is None:
            return read_in_call(self.without_placeholder, self.received, over=over)
        reading = self._read(over=over)
        return reading if reading.defect is not None else reading._replace(defect=PLACEHOLDER_ARGUMENTS)

    def _read(self, *, over: bool) -> Reading:
        if self.cumulative is not None:
            return Reading(self.cumulative, self.defect or CUMULATIVE_ARGUMENTS)
        if self._own is None:
            return read(self.without_placeholder, over=over)
        if self.is_uncertain:
            return Reading(self._own.text(), self.defect, stands=True)
        reading = read(self._own, over=over)
        if over and self._tail.lstrip(WHITE).startswith(AGAIN):  # it is not repeated completely
            return Reading(reading.text + self._tail, reading.defect, reading.stands)
        return Reading(reading.text, reading.defect or self.defect, reading.stands)

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
        if self.is_uncertain and self._own is not None:
            return True
        if self.cumulative is not None or self.suspect is not None or self._high_surrogate:
            return False
        return source.inside_value and source.viable and source.complete_again is None and source.head is not None

    # -- the input

    def add(self, fragment: str, received: ArgumentText) -> None:
        """The next fragment, which `received` has already. With another text than before, all starts over."""
        if received is not self.received:
            self._reset(received)
        if not fragment:
            return
        self._known = None
        if self._shift:
            self.without_placeholder.add(fragment)
        if self._own is not None:
            self._grow(fragment)
        elif self.newest is not None and grows_into(self.newest, fragment):
            self.cumulative = self.newest = fragment
            self.begin, self.defect = self.received.size - len(fragment), SNAPSHOT_ARGUMENTS
        elif self.cumulative is not None and self.defect is SNAPSHOT_ARGUMENTS:
            self._after_snapshots(fragment)
        elif self.cumulative is not None or self._extends_suspect(fragment):
            self._add_snapshot(fragment)
        else:
            self._judge(fragment)
            if self._own is None:
                self._suspect(fragment)
                has_key = received.head is None and _BEGUN_OBJECT.fullmatch(received.text()) is None
                if received.beginning is None or has_key:
                    self.suspect = ""
            is_first = self.without_placeholder.size == len(fragment) and not is_placeholder(fragment)
            self.newest = self.without_placeholder.complete_again if is_first else None

    def skip(self, text: str, last: str) -> None:
        """Plain fragments were forwarded unseen."""
        self._known = None
        if self._shift:
            self.without_placeholder.add_plain(text, last)
        if self._own is not None:
            self._own.add_plain(text, last)

    def settle(self, *, over: bool) -> None:
        """No later fragment decides what the last one means; `over`: because none arrives, or it is too late."""
        suspect, self.suspect, self.newest = self.suspect, None, None
        if self._own is not None and self._complete is not None:
            if over and suspect is not None and len(suspect) < _SURELY_AGAIN:
                self._stands(self._own, None)
        elif suspect is not None and not self.without_placeholder.ended and is_object(suspect):
            self.cumulative, self.begin, self._known = suspect, self.received.size - len(suspect), None

    def _other_text(self) -> ArgumentText:
        """Another text of the call, which shares the limit of the received one."""
        return ArgumentText(room=self.received.room)

    def _judge(self, fragment: str) -> None:
        """Whether the intended text differs from the received one from this fragment on."""
        received = self.without_placeholder
        if received.beginning and not received.head:
            self.source = self._own = self._other_text()
            self.defect, self.begin, self.suspect = LOST_BEGINNING, -len(received.beginning), None
            self._own.add(received.beginning + received.text())
        elif HIGH <= fragment[-1] < LOW:
            self.source = self._own = self._other_text()
            self.defect, self._high_surrogate = SPLIT_SURROGATE, fragment[-1]
            self._own.add(paired(received.text()[:-1]))
        elif not self._shift and (shift := received.head or self._placeholder_before(fragment)):
            self._shift = self.begin = shift
            self.source = self.without_placeholder = self._other_text()
            self.without_placeholder.add(received.text()[shift:])
        elif (
            received.spilled
            and not (self.received.head and self.received.viable)
            and not self.may_be_placeholder
            and (complete := received.ended_object()) is not None
            and received.text().startswith(complete)
        ):
            self.source = self._own = self._other_text()
            self._complete = complete
            self._own.add(complete)
            self._follow(self._own, complete, received.text()[len(complete) :])

    def _placeholder_before(self, fragment: str) -> int:
        """Characters of a placeholder before the arguments, which begin with or in this fragment."""
        size = self.received.size - len(fragment)
        if size > LONGEST_PLACEHOLDER or (size and is_placeholder(fragment)):
            return 0
        before = BEFORE.match(self.received.text())
        return before.end() if before is not None else 0

    def _grow(self, fragment: str) -> None:
        assert self._own is not None
        if self._complete is not None:
            self._follow(self._own, self._complete, fragment)
            return
        text, self._high_surrogate = paired(self._high_surrogate + fragment), ""
        if HIGH <= text[-1] < LOW:
            text, self._high_surrogate = text[:-1], text[-1]
        self._own.add(text)
        self.is_unchanged = text == fragment

    def _follow(self, own: ArgumentText, complete: str, fragment: str) -> None:
        """A fragment after a complete object: the object again, markup, or something else."""
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
            self._stands(own, self.defect)

    def _stands(self, own: ArgumentText, defect: Defect | None) -> None:
        """The text after the complete object is forwarded unchanged."""
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
        """Take a fragment that continues no snapshot: unless it repeats the last one, there were no snapshots."""
        if fragment.strip(WHITE) and not same_arguments(self.cumulative or "", fragment):
            self.cumulative = self.newest = self.defect = None
            self.begin = self._shift
            self._judge(fragment)

    def _extends_suspect(self, fragment: str) -> bool:
        """Whether a fragment begins with the one before, which begins with all text before that: both have all."""
        if not (self.suspect and fragment.startswith(self.suspect) and len(fragment) > len(self.suspect)):
            return False
        self.cumulative, self.suspect, self.newest = self.suspect, None, None
        return True

    def _suspect(self, fragment: str) -> None:
        """Whether each fragment has all arguments so far, which the joined text alone does not show."""
        received = self.without_placeholder
        self.suspect = None
        if len(fragment) * 2 < received.size or len(fragment) >= received.size or received.ended_object() is not None:
            return
        before = received.text()[: -len(fragment)]
        if not fragment.startswith(before) or is_placeholder(before) or before.lstrip(WHITE)[:1] != "{":
            return
        if not received.viable:
            self.cumulative, self.begin = fragment, self._shift + len(before)
        elif len(before) > 1:
            self.suspect = fragment


class FreeText(Meaning):
    """The arguments of a custom tool's call: the received text is intended."""

    is_inside = True
    may_be_placeholder = False
    may_become_placeholder = False

    @override
    def add(self, fragment: str, received: ArgumentText) -> None:
        if received is not self.received:
            self._reset(received)

    @override
    def _read(self, *, over: bool) -> Reading:
        return Reading(self.received.text())
