"""The call of a Gemini part, and arguments that are patched in fragments (`partialArgs`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, override

from toolstream_core.calls import Parameters
from toolstream_core.calls.json_text import has_nothing
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.resolver import Calls
from toolstream_core.model import Call, Fragment, Phase
from toolstream_core.wire import numbers

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_MAX_LIST = 100_000


class GeminiCalls(Calls):
    """Each `functionCall` part is a call, unless it continues one.

    A part continues the last call without a name, if that call is not complete, and with the name of an open call. An
    empty name is another call's, unless that call has no arguments.
    """

    def __init__(self, tools: Mapping[str, Parameters] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._partial: dict[int, Any] = {}
        self._last: dict[int, OpenCall] = {}

    @override
    def _end(self, choice: int) -> None:
        """A part itself marks whether it is complete; a finish does not change that."""

    @override
    def _is_incomplete(self, call: OpenCall) -> bool:
        return not call.ended or super()._is_incomplete(call)

    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        last = self._last.get(fragment.choice)
        if last is not None and self._goes_on(last, fragment):
            return last
        call = self._last[fragment.choice] = self._open(fragment)
        return call

    def _goes_on(self, last: OpenCall, fragment: Fragment) -> bool:
        name = nonblank(fragment.name)
        if name:
            return name == last.name and not last.closed
        ends = has_nothing(fragment.arguments) and not isinstance(fragment.name, str)
        return not last.closed or ends or self._blank(last)

    def _blank(self, call: OpenCall) -> bool:
        """Whether the call has no arguments so far."""
        return id(call) not in self._partial and has_nothing(call.arguments.text())

    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.phase is Phase.MORE and isinstance(fragment.arguments, str):
            self._patch(call, fragment.arguments)
            fragment = fragment._replace(arguments=None)
        elif not has_nothing(fragment.arguments) or self._blank(call):
            self._partial.pop(id(call), None)
            call.arguments = call.arguments.renewed() if call.arguments.size else call.arguments
        else:
            fragment = fragment._replace(arguments=None)
        super()._fill(call, fragment)
        call.closed = call.ended = fragment.phase is Phase.CLOSE
        if call.ended and id(call) in self._partial and not call.arguments.truncated:
            call.arguments = call.arguments.renewed()
            call.arguments.add(numbers.dumps(self._partial[id(call)]))

    def _patch(self, call: OpenCall, patches: str) -> None:
        tree = self._partial.setdefault(id(call), {})
        if call.arguments.budget.take(len(patches)):
            patched(tree, numbers.loads(patches))
        else:
            call.arguments.truncated = True

    def _resolve(self, opened: OpenCall) -> Call:
        call = super()._resolve(opened)
        if id(opened) in self._partial:
            call.arguments, call.complete = numbers.dumps(self._partial[id(opened)]), not call.truncated
        call.complete = call.complete and opened.ended
        return call


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
