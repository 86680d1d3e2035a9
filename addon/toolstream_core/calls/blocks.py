"""Which call an Anthropic content block or a Gemini part belongs to: where the protocol says call by call."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.book import Calls
from toolstream_core.calls.opened import OpenCall, known
from toolstream_core.calls.over import is_cut
from toolstream_core.calls.strays import Strays
from toolstream_core.model import Call, Fragment, Phase
from toolstream_core.wire import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Said, Seen

NOBODYS = 1 << 16
"""The index from which on no answer has blocks: a delta there belongs to none, however few are open."""


class AnthropicCalls(Calls):
    """A `content_block_start` opens, also at an index in use; a start for the open call again goes on with it."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._newest: dict[Seen[int], OpenCall] = {}
        self._still_open: dict[int, OpenCall] = {}
        """Calls that were started and not stopped, by their position."""
        self._stopped_last: OpenCall | None = None
        """The call that was stopped last, where no other block was stopped behind it."""
        self._strays = Strays()

    def conclude(self, said: Said) -> None:
        """As `Calls.conclude`. The block that a limit cuts is stopped too, and is no less cut for that."""
        super().conclude(said)
        last = self._stopped_last
        if last is not None and not last.arguments.whole and any(is_cut(finish.reason) for finish in said.finishes):
            last.cut, last.over = True, False

    def _place(self, fragment: Fragment, event: int) -> OpenCall | None:
        if fragment.phase is Phase.CLOSE:
            self._stopped_last = self._stopped(fragment)
            return self._stopped_last
        if fragment.phase is not Phase.MORE:
            call = self._started_again(fragment) or self._open(fragment)
        else:
            call = self._continued(fragment, event)
        if not self.overflowed:
            self._newest[fragment.index] = call
            if not call.closed and fragment.phase is not Phase.MORE:
                self._still_open[call.position] = call
        return call

    def _continued(self, fragment: Fragment, event: int) -> OpenCall:
        """The call that a delta goes on with."""
        known_at = self._newest.get(fragment.index)
        if known_at is not None and fragment.index == known_at.index:
            for other, number in self._strays.taken_back(known_at, fragment):
                self._as_nobodys(known_at, other, number)
            return known_at
        call = known_at or self._elsewhere(fragment)
        if call is None:
            return self._open(fragment)
        if fragment.arguments and (known_at is None or self._strays.has(call)):
            self._strays.add(call, fragment, event)
        return call

    def _as_nobodys(self, call: OpenCall, fragment: Fragment, event: int) -> None:
        """A fragment that was given to `call` is of a call that nobody started."""
        if self._newest.get(fragment.index) is call:
            self._newest[fragment.index] = self._open(fragment)
        other = self._newest[fragment.index]
        if other is not self._beyond:
            other.runs.add(event)
            self._fill(other, fragment)

    def _stopped(self, fragment: Fragment) -> OpenCall | None:
        call = self._newest.get(fragment.index)
        return None if call is None or call.closed else call

    def _elsewhere(self, fragment: Fragment) -> OpenCall | None:
        """Where a delta of an index that was never started belongs: to the one open call that got none, a guess.

        Of several nobody can tell (claude-code "Content block not found"), and what begins other arguments than those
        that have begun is of another call.
        """
        index = fragment.index
        if len(self._still_open) != 1 or (isinstance(index, int) and index >= NOBODYS):
            return None
        call = next(iter(self._still_open.values()))
        said = call.arguments
        if not self._strays.may_take(call) or said.whole or (not said.empty and said.restarted_by(fragment.arguments)):
            return None
        call.guessed = True
        return call

    def _started_again(self, fragment: Fragment) -> OpenCall | None:
        """One block started twice: same index, same id, not stopped in between (ccx#183)."""
        last = self._opened[-1] if self._opened else None
        if last is None or last.closed or not known(fragment.id):
            return None
        return last if (last.index, last.id) == (fragment.index, fragment.id) else None

    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.phase is Phase.CLOSE:
            call.closed = call.over = True
            self._still_open.pop(call.position, None)
            self._strays.forget(call)
        elif isinstance(fragment.arguments, str):
            call.start_input = fragment.arguments


class GeminiCalls(Calls):
    """Each `functionCall` part is a call, unless it goes on with one.

    It does without a name, where that call is not whole yet, and with the name of an open one.
    """

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._partial: dict[int, Any] = {}
        self._last: dict[int, OpenCall] = {}

    def conclude(self, said: Said) -> None:
        """A part says itself whether it is whole; a finish says nothing of it."""

    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        del event
        last = self._last.get(fragment.choice)
        if last is not None and self._goes_on(last, fragment):
            return last
        call = self._last[fragment.choice] = self._open(fragment)
        return call

    def _goes_on(self, last: OpenCall, fragment: Fragment) -> bool:
        name = known(fragment.name)
        if name:
            return name == last.name and not last.closed
        return not last.closed or says_nothing(fragment.arguments) or self._blank(last)

    def _blank(self, call: OpenCall) -> bool:
        """Whether the call has no arguments so far."""
        return id(call) not in self._partial and says_nothing(call.arguments.text())

    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.phase is Phase.MORE and isinstance(fragment.arguments, str):
            self._partial[id(call)] = patched(self._partial.get(id(call), {}), numbers.loads(fragment.arguments))
            fragment = fragment._replace(arguments=None)
        elif not says_nothing(fragment.arguments) or self._blank(call):
            self._partial.pop(id(call), None)
            call.arguments = ArgumentText()
        else:
            fragment = fragment._replace(arguments=None)
        super()._fill(call, fragment)
        call.closed = call.over = fragment.phase is Phase.CLOSE

    def _resolve(self, opened: OpenCall) -> Call:
        call = super()._resolve(opened)
        if id(opened) in self._partial:
            call.arguments, call.complete = numbers.dumps(self._partial[id(opened)]), True
        call.complete = call.complete and opened.over
        return call


_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_MAX_LIST = 100_000


def says_nothing(arguments: Seen[str]) -> bool:
    """Whether a part's arguments are none: absent, or what stands in for them."""
    return not isinstance(arguments, str) or arguments.strip() in {"", "{}", "null"}


def patched(tree: Any, patches: Any) -> Any:
    """`tree` with Vertex `partialArgs` put in: strings grow, other values are set.

    See https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Content (`PartialArg`).
    """
    for patch in patches if isinstance(patches, list) else ():
        if not isinstance(patch, dict):
            continue
        path = [_step(*groups) for groups in _STEP.findall(str(patch.get("jsonPath", "")))]
        if path:
            _put(tree, path, patch)
    return tree


def _step(dotted: str, number: str, *quoted: str) -> str | int:
    return int(number) if number else dotted or "".join(quoted)


def _put(node: Any, path: list[str | int], patch: dict[str, Any]) -> None:
    for step, following in pairwise(path):
        node = _child(node, step, [] if isinstance(following, int) else {})
        if node is None:
            return
    last = path[-1]
    if "stringValue" in patch:
        before = _child(node, last, "")
        _set(node, last, (before if isinstance(before, str) else "") + str(patch["stringValue"]))
    else:
        _set(node, last, next((patch[key] for key in ("numberValue", "boolValue") if key in patch), None))


def _child(node: Any, step: str | int, fresh: Any) -> Any:
    if isinstance(node, dict) and isinstance(step, str):
        return node.setdefault(step, fresh)
    if isinstance(node, list) and isinstance(step, int) and step < min(len(node) + 1, _MAX_LIST):
        if step == len(node):
            node.append(fresh)
        return node[step]
    return None


def _set(node: Any, step: str | int, value: Any) -> None:
    if isinstance(node, dict) and isinstance(step, str):
        node[step] = value
    elif isinstance(node, list) and isinstance(step, int) and step <= len(node):
        node[step : step + 1] = [value]
