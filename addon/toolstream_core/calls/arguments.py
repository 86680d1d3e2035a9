"""The arguments of one call while their fragments arrive."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from toolstream_core.calls.json_text import (
    begun_inside,
    canonical,
    closes_object,
    end_at_once,
    grows_into,
    has_nothing,
    is_object,
    lost_beginning,
    paired,
    same_arguments,
    unwrapped,
    value_end,
    value_of,
    without,
)
from toolstream_core.calls.parameters import LONGEST_HEAD, UNKNOWN, Parameters
from toolstream_core.calls.placeholders import (
    BEFORE,
    LONGEST_PLACEHOLDER,
    MAX_MARKUP,
    SEVERAL,
    is_garbage,
    is_markup,
)
from toolstream_core.calls.scanner import AN_OBJECT, NOTHING, STRING, WHITE, WS, JsonScanner
from toolstream_core.defects.arguments import (
    CUMULATIVE_ARGUMENTS,
    DOUBLE_ENCODED_ARGUMENTS,
    ENVELOPED_ARGUMENTS,
    LOST_BEGINNING,
    MERGED_CALLS,
    PLACEHOLDER_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SPLIT_SURROGATE,
    TRAILING_GARBAGE,
)
from toolstream_core.defects.defect import Defect
from toolstream_core.model import Seen, SkippedRun

_BLOCK: Final = 256


class JoinedText(list[str]):
    """The fragments in order. Grows by `append`; when there are `full` of them, `merge` is due."""

    full = _BLOCK

    def add(self, text: str) -> None:
        """Append a fragment, and merge if that is due."""
        self.append(text)
        if len(self) == self.full:
            self.merge()

    def merge(self) -> None:
        """Join the last fragments into one: many fragments cost little."""
        self[-_BLOCK:] = ["".join(self[-_BLOCK:])]
        self.full += 1

    def text(self) -> str:
        """The fragments joined."""
        if len(self) > 1:
            self[:] = ["".join(self)]
            self.full = _BLOCK + 1
        return self[0] if self else ""

    def ends_in(self, text: str) -> bool:
        """Whether the text ends with `text`, after other fragments."""
        tail = ""
        for part in reversed(self):
            if len(tail) > len(text):
                break
            tail = part + tail
        return len(tail) > len(text) and tail.endswith(text)


MAX_PART: Final = 16 * 1024
"""Characters of the longest text that is compared with an object at every fragment."""
# Every argument text has two readings, because providers need both:
#
#   joined         as the protocols define: the fragments, one after the other.
#   last complete  the last fragment that is a complete object by itself *and cannot be a part of the joined text*:
#                  for providers that send the arguments so far in each delta (hermes-agent#35718), or the complete
#                  call again at the end (eliza#16973).
#
# Joined wins whenever it is one JSON value. "Cannot be a part" keeps a call cut off inside `{"a":{}` from being read as
# `{}`. Only an object is complete by itself (also within a JSON string): `2` may be the start of `25`.

MAX_TEXT = 8 * 1024 * 1024
"""The most characters of one call's arguments that are kept. More make the call incomplete."""
MAX_KEPT = 32 * 1024 * 1024
"""The most characters of the arguments of all calls of one response that are kept."""

_USUAL_BEGIN: Final = re.compile(rf'{WS}\{{{WS}"[^ain"]')
"""The beginning of an object whose first key is none of a call."""
_MAY_HOLD: Final = re.compile(rf'{WS}"(?:[{WHITE}]|\\[nrt])*(?:\\?\Z|\{{)')
"""A JSON string that may hold an object."""
_SPACE: Final = re.compile(rf"[{WHITE}]+")
AGAIN: Final = ("{", '"')
"""The beginning of repeated arguments."""
HIGH, LOW = "\ud800", "\udc00"
_SHORT = 16
"""The most characters of a fragment that may stand for no arguments."""
_BEFORE_OBJECT = frozenset("{" + WHITE)


class Budget:
    """How many more characters of arguments are kept; shared by all calls of a response."""

    def __init__(self, left: float | None = None) -> None:
        """Start with `left` characters, `MAX_KEPT` by default."""
        self.left = MAX_KEPT if left is None else left

    def take(self, size: int) -> bool:
        """Reserve this many characters; false if fewer are left."""
        if size > self.left:
            return False
        self.left -= size
        return True


UNLIMITED = Budget(math.inf)
"""For a text that belongs to no response."""


class ArgumentText:
    """The received arguments of one call; `reading` returns the intended ones."""

    beginning: str | None = ""
    """The beginning that was lost: `{`, `{"` or nothing; `None` while that is unknown."""
    envelope_size: int | None = 0
    """Characters before the arguments if the text is a call, not its arguments; `None` while that is unknown."""

    def __init__(self, budget: Budget = UNLIMITED, parameters: Parameters = UNKNOWN) -> None:
        """Start empty. Keeps at most `MAX_TEXT` characters, and no more than `budget` has left."""
        self.budget = budget
        self.parameters = parameters
        """The parameters of the tool; they may be set until the first fragment arrives."""
        self._joined = JoinedText()
        self.size = 0
        """The number of characters that arrived."""
        self.truncated = False
        """Whether more characters arrived than are kept."""
        self.scanner = NOTHING
        self._object: bool | None = None
        """Whether the value that ended is an object, or a string with one; `None` if it was not read yet."""
        self._first = ""
        self._end = 0
        """The end of the value that ended, in the joined text."""
        self.empty = True
        """Whether only white space arrived."""
        self._tail = ""
        self._last = ""
        self._intended = (0, "")
        """The size of the text at the last reading, and its result."""
        self._several = False
        """Whether several complete objects arrived that are not states of one."""
        self.has_trailing_text = False
        """Whether something other than white space follows the value that ended."""
        self.last_complete: str | None = None
        """The last fragment that is a complete object by itself and not a part of the joined text."""

    @property
    def ended(self) -> bool:
        """Whether one JSON object, array or string was opened and closed, valid or not."""
        return self.scanner.ended

    @property
    def closed(self) -> bool:
        """Whether more text could not complete the arguments: a value ended, or the text is no beginning of one."""
        scanner = self.scanner
        if scanner.ended or scanner.viable:
            return scanner.ended
        if scanner.depth > 0 or scanner.in_string:
            return self._tail == "}" and self.size <= MAX_PART and bool(lost_beginning(self.text()))
        return self.size > MAX_MARKUP or not is_markup(self.text())

    @property
    def viable(self) -> bool:
        """Whether the joined text is JSON, or a possible beginning of it."""
        return self.scanner.viable and not self.has_trailing_text

    @property
    def is_json(self) -> bool:
        """Whether the joined text is one JSON value."""
        return self.scanner.is_complete and not self.has_trailing_text

    @property
    def is_complete(self) -> bool:
        """Whether the text starts with a complete object."""
        if self.last_complete is None and (self.has_trailing_text or not self.scanner.ended):
            return False
        return self.last_complete is not None or self._object or (self.scanner.is_complete and self._holds_object())

    @property
    def inside_value(self) -> bool:
        """Whether an object or array is open."""
        return self.scanner.depth > 0 and not self.scanner.ended

    @property
    def unclosed(self) -> bool:
        """Whether the text is an open object or array, and nothing else."""
        scanner = self.scanner
        closed = scanner.depth <= 0 or scanner.ended or self.has_trailing_text or self.last_complete is not None
        return not closed and scanner.viable

    @property
    def quoted(self) -> bool:
        """Whether the text is an open string, which may hold an object."""
        return self.scanner.text_value and self.scanner.in_string

    @property
    def in_escape(self) -> bool:
        """Whether the text stops inside an escape."""
        return bool(self.scanner.escape)

    @property
    def canonical(self) -> str:
        """The intended arguments in canonical form."""
        if self._intended[0] != self.size:
            self._intended = (self.size, canonical(self.reading()[0]))
        return self._intended[1] if self.size else canonical(self.reading()[0])

    def ended_object(self) -> str | None:
        """The object that ended, without the text after it; `None` if it is not an object, or too long to keep."""
        return self.ended_value() if self.scanner.is_complete and self._first == "{" and not self.truncated else None

    def ended_value(self) -> str:
        """The value that ended, without the text after it."""
        return ((self.beginning or "") + self.text())[: self._end]

    def renewed(self) -> ArgumentText:
        """An empty text that replaces this one."""
        if not self.size:
            return self
        self.budget.left += len(self.text())
        return ArgumentText(self.budget, self.parameters)

    def beside(self, text: str) -> ArgumentText:
        """Another text of the same call."""
        arguments = ArgumentText(parameters=self.parameters)
        arguments.add(text)
        return arguments

    def add(self, fragment: str) -> None:
        """Add the next fragment."""
        if not fragment:
            return
        count = len(fragment)
        if not self.size:
            self._begin(fragment)
        else:
            if fragment[0] in _BEFORE_OBJECT and fragment.lstrip(WHITE).startswith("{"):
                self._note_complete(fragment)
            if not self.scanner.in_string or self.scanner.escape or STRING.fullmatch(fragment) is None:
                self._scan(fragment)
        self._last = fragment
        if count > self.size > 0 and fragment[0] == "{" and not self.viable and closes_object(fragment):
            self.last_complete = fragment if fragment.startswith(self.text()) else self.last_complete
        if tail := fragment.rstrip(WHITE)[-1:]:
            self._tail, self.empty = tail, False
        self._first = self._first or fragment.lstrip(WHITE)[:1]
        self.size += count
        budget = self.budget
        if self.truncated or self.size > MAX_TEXT or count > budget.left:
            self.truncated, self._last, self.last_complete = True, "", None
            return
        budget.left -= count
        joined = self._joined
        joined.append(fragment)
        if len(joined) == joined.full:
            joined.merge()
        is_open = self.beginning is None or self.envelope_size is None
        if is_open or (count == self.size and self.parameters.names and _USUAL_BEGIN.match(fragment) is None):
            self._compare_with_tool()

    def add_plain(self, text: str, last: str) -> None:
        """Add joined fragments inside one value; `last` is the last of them."""
        self.add(text)
        if not self.truncated:
            self._last = last or self._last

    def add_skipped(self, passed: SkippedRun) -> None:
        """Add the fragments of skipped events."""
        if passed.text:
            self.add_plain(passed.text, passed.last)
        for fragment in passed.fragments:
            self.add(fragment)

    def text(self) -> str:
        """The fragments joined."""
        return self._joined.text()

    def ends_in(self, text: str) -> bool:
        """Whether the text that arrived ends with `text`, after other fragments."""
        return self._joined.ends_in(text)

    def reading(self, *, may_be_empty: bool = True, final: bool = True) -> tuple[str, bool]:
        """The intended arguments, and whether they are one JSON value; `final`: no more fragments arrive.

        `may_be_empty`: the tool has no required parameters, so nothing, `""` and `null` mean `{}`.
        """
        joined = paired(self.beginning + self.text() if self.beginning else self.text())
        if self.truncated:
            return joined, False
        if joined.strip(WHITE) in {"", "null"}:
            return ("{}", True) if may_be_empty else (joined, False)
        if self.is_json and not (self.envelope_size and self._is_call(joined)):
            return unwrapped(joined), True
        again = None if self.envelope_size else self.last_complete
        closes = self.has_trailing_text and joined[self._end :].lstrip(WHITE)[:1] in {"}", "]"}
        if closes and again is None and not final:
            return joined, False
        text = read(self, final=True).text
        complete = is_object(text)
        return (text, complete) if complete or again is None else (again, True)

    def restarted_by(self, fragment: Seen[str]) -> bool:
        """Whether `fragment` starts other arguments: an object that cannot continue the open one."""
        return isinstance(fragment, str) and fragment.lstrip(WHITE).startswith("{") and self._may_restart(fragment)

    def continued_by(self, fragment: Seen[str]) -> bool:
        """Whether `fragment` continues the value that is open. White space fits anywhere, so it proves nothing."""
        blank = isinstance(fragment, str) and not fragment.strip()
        return not blank and self.viable and not self.ended and not self.restarted_by(fragment)

    def _is_call(self, text: str) -> bool:
        """Whether a complete text is a call: it may have further keys, but none of the tool's parameters."""
        value, inner = value_of(text), text[len(self.beginning or "") + (self.envelope_size or 0) :]
        held = unwrapped(inner[: value_end(inner, 0)])
        return isinstance(value, dict) and self.parameters.names.isdisjoint(value) and is_object(held)

    def _compare_with_tool(self) -> None:
        """Find an envelope around the arguments, or a lost beginning, by the parameters of the tool."""
        text, known = self.text(), self.parameters
        first, is_longer = text[:LONGEST_HEAD], len(text) > LONGEST_HEAD
        envelope_size = known.head_of_call(first) if known.heads else 0
        self.envelope_size = envelope_size or 0 if is_longer else envelope_size
        if self.envelope_size and self._first != "{":
            self._begin_with('{"name":""' if self._first == "," else "{")
        if self.envelope_size and self.is_json and not self._is_call((self.beginning or "") + text):
            self.envelope_size = 0
        if self._first == "{":
            return
        beginning = known.lost_beginning(first) if known.names else ""
        self.beginning = beginning or "" if is_longer else beginning
        if self.beginning:
            self._begin_with(self.beginning)

    def _begin_with(self, beginning: str) -> None:
        """Scan the text again with its lost beginning."""
        text = self.text()
        self.beginning, self.scanner = beginning, JsonScanner()
        self.scanner.feed(beginning)
        end = self.scanner.feed(text)
        self._end, self.has_trailing_text = len(beginning) + end, bool(text[end:].strip(WHITE))
        self.last_complete = self._object = None
        self._first = "{"

    def _holds_object(self) -> bool:
        if self._object is None:
            held = unwrapped(self.text()[: self._end]) if self.scanner.text_value else ""
            self._object = self._first == "{" or is_object(held)
        return self._object

    def _begin(self, fragment: str) -> None:
        self._end = end_at_once(fragment)
        if self._end:
            self.scanner = AN_OBJECT
            self.has_trailing_text = self._end < len(fragment) and bool(fragment[self._end :].strip(WHITE))
            is_json = not self.has_trailing_text
        else:
            self.scanner = JsonScanner()
            self._scan(fragment)
            is_json = fragment[-1] in "} \t\r\n" and self.is_json
        if is_json and fragment.lstrip(WHITE).startswith("{"):
            self.last_complete = fragment

    def _note_complete(self, fragment: str) -> None:
        restarts = self._may_restart(fragment)
        if len(fragment) <= _SHORT and fragment.strip(WHITE) == "{}" and self.is_complete:
            return
        if restarts and fragment == self.last_complete:
            return
        if restarts and closes_object(fragment) and not (self.ended and self._is_another(fragment)):
            self.last_complete = fragment
        elif restarts or self.ended:
            self.last_complete = None

    def _is_another(self, fragment: str) -> bool:
        """Whether an object after a complete one is not a later state of it: the intended one is unknown then."""
        before = self.last_complete or self.ended_object()
        if not (self._several or before is None):
            self._several = not (same_arguments(before, fragment) or grows_into(before, fragment))
        return self._several

    def _may_restart(self, fragment: str) -> bool:
        """Whether an object that begins here cannot be inside the open one."""
        if not self._tail or (self._last and fragment.startswith(self._last)):
            return True
        return not self.scanner.in_string and self._tail not in ":[,"

    def _scan(self, fragment: str) -> None:
        before = self.scanner.ended
        end = self.scanner.feed(fragment)
        if self.scanner.ended and not before:
            self._end = len(self.beginning or "") + self.size + end
        if not self.has_trailing_text:
            self.has_trailing_text = self.scanner.depth < 0 or bool(fragment[end:].strip(WHITE))


class Reading(NamedTuple):
    """The intended arguments, as read from a received text."""

    text: str
    defect: Defect | None = None
    """The defect for which this differs from the received text."""
    is_ambiguous: bool = False
    """Whether the text is forwarded unchanged: the defect has no certain repair."""


def read(received: ArgumentText, *, final: bool) -> Reading:
    """The intended arguments as far as they are certain; `final`: no more fragments arrive."""
    raw = received.text()
    if not raw.strip(WHITE):
        return Reading(raw)
    if len(raw) <= LONGEST_PLACEHOLDER and SEVERAL.fullmatch(raw):
        return _placeholders(raw)
    if received.beginning and not received.envelope_size:
        intended = read_text(received.beginning + raw, final=final)
        return intended._replace(defect=intended.defect or LOST_BEGINNING)
    if received.envelope_size:
        return read_in_call(received.beside(raw[received.envelope_size :]), received, final=final)
    if raw.lstrip(WHITE)[0] == '"':
        return _quoted(received, raw, final=final)
    if before := BEFORE.match(raw):
        intended = read_text(raw[before.end() :], final=final)
        return intended._replace(defect=intended.defect or PLACEHOLDER_ARGUMENTS)
    if received.has_trailing_text and (ended := received.ended_object()) is not None and raw.startswith(ended):
        return _after_object(ended, raw, final=final)
    if not received.viable and received.last_complete is not None:
        repeats = raw.lstrip(WHITE)[0] == "{"
        return Reading(received.last_complete, CUMULATIVE_ARGUMENTS if repeats else PLACEHOLDER_ARGUMENTS)
    return _characters(raw, final=final)


def read_text(text: str, *, final: bool) -> Reading:
    """As `read`, for a complete text."""
    received = ArgumentText()
    received.add(text)
    return read(received, final=final)


def read_in_call(arguments: ArgumentText, call: ArgumentText, *, final: bool) -> Reading:
    """The intended arguments inside the text of a call with other keys; they are complete only when `call` is."""
    if arguments.quoted:
        raw = arguments.text()
        return Reading(begun_inside(raw if final else raw[:LONGEST_PLACEHOLDER]), ENVELOPED_ARGUMENTS)
    if call.viable and arguments.ended:
        arguments = call.beside(arguments.ended_value())
    reading = read(arguments, final=final)
    if reading.defect not in {None, DOUBLE_ENCODED_ARGUMENTS}:
        return reading
    text = reading.text if call.ended or not arguments.ended else reading.text.rstrip(WHITE)[:-1]
    return reading._replace(text=text, defect=ENVELOPED_ARGUMENTS)


def repetition(complete: str, rest: str) -> Defect | None:
    """The defect of text after a complete object that adds nothing so far; `None` if it adds something."""
    again = begun_inside(rest) if rest[:1] == '"' else rest
    if not again or (again[0] == "{" and _SPACE.sub("", complete).startswith(_SPACE.sub("", again))):
        return REPLAYED_ARGUMENTS
    return TRAILING_GARBAGE if rest[0] != "{" and is_garbage(complete, rest) else None


def addition(rest: str) -> Defect:
    """The defect of text after a complete object that adds something."""
    return MERGED_CALLS if "{" in rest else TRAILING_GARBAGE


def _quoted(received: ArgumentText, raw: str, *, final: bool) -> Reading:
    """Read a JSON string that may contain the object, and the text after it."""
    if not received.ended:
        may_hold = not final and received.viable and _MAY_HOLD.match(raw) is not None
        return Reading("", DOUBLE_ENCODED_ARGUMENTS) if may_hold else Reading(raw)
    value = received.ended_value()
    intended = unwrapped(value)
    if not is_object(intended):
        return Reading(raw)
    rest = without(value.strip(WHITE), raw[len(value) :].strip(WHITE))
    complete = not rest or has_nothing(rest) or is_garbage(intended, rest)
    return Reading(intended, DOUBLE_ENCODED_ARGUMENTS) if complete else Reading(intended + rest)


def _placeholders(raw: str) -> Reading:
    """Read several placeholders without other text: the call has no arguments."""
    plain = _SPACE.sub("", raw)
    is_replayed = plain == "{}" * (len(plain) // 2) or plain == "null" * (len(plain) // 4)
    return Reading("{}" if "{" in plain else "null", REPLAYED_ARGUMENTS if is_replayed else PLACEHOLDER_ARGUMENTS)


def _after_object(complete: str, raw: str, *, final: bool) -> Reading:
    rest = without(complete.strip(WHITE), raw[len(complete) :].strip(WHITE))
    if rest and has_nothing(rest):
        return Reading(complete, TRAILING_GARBAGE)
    defect = repetition(complete, rest)
    if defect is None or (final and rest.startswith(AGAIN)):
        return Reading(raw, addition(rest), is_ambiguous=True)
    return Reading(complete, defect)


def _characters(raw: str, *, final: bool) -> Reading:
    """Read text without another deviation than split surrogate pairs, which are joined."""
    if raw.isascii():
        return Reading(raw)
    surrogate = "" if final or not HIGH <= raw[-1] < LOW else raw[-1]
    text = paired(raw[: len(raw) - len(surrogate)])
    return Reading(text, SPLIT_SURROGATE if surrogate or text != raw else None)
