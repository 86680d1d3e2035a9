"""aichat 0.30.0, Chat Completions: https://github.com/sigoden/aichat/issues/1495.

Its key of a call is `id/index`; an absent or empty id is an empty string. When a delta starts another call, the
previous call is flushed, with `{}` if it has no arguments. The last call is flushed at `[DONE]`. Of several entries
in one event only the first is read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.e2e.clients.conversation import (
    DONE,
    Call,
    Client,
    CrashError,
    Json,
    Tools,
    chunks,
    entries,
    in_chat,
    missing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

type Starts = Callable[[str, str, str], bool]
"""Whether a delta starts another call: from the current key, the delta's key and its id."""


class Handler:
    """The state of the client while it reads a stream."""

    def __init__(self, starts: Starts) -> None:
        """`starts` is the difference between the client's versions."""
        self.calls: list[Call] = []
        self._starts = starts
        self._key = self._id = self._name = self._arguments = ""

    def read(self, entry: Json) -> None:
        """Apply the first entry of a delta."""
        call_id = entry.get("id") or ""
        key = f"{call_id}/{entry.get('index') or 0}"
        if self._starts(self._key, key, call_id):
            self.flush()
            self._key, self._id, self._name, self._arguments = key, "", "", ""
        function = entry.get("function", {})
        name = function.get("name") or ""
        self._name = name if name.startswith(self._name) else self._name + name
        self._arguments += function.get("arguments") or ""
        self._id = call_id or self._id

    def flush(self) -> None:
        """Treat the current call as complete."""
        if not self._name:
            return
        text = self._arguments or "{}"
        try:
            json.loads(text)
        except ValueError as error:
            raise CrashError(f"Tool call '{self._name}' have non-JSON arguments '{text}'") from error
        self.calls.append(Call(self._id, self._name, text))


def _reader(starts: Starts) -> Callable[[Sequence[str]], list[Call]]:
    def assemble(data: Sequence[str]) -> list[Call]:
        handler = Handler(starts)
        for chunk in chunks(data):
            for entry in entries(chunk)[:1]:
                handler.read(entry)
        if "[DONE]" in data:
            handler.flush()
        return handler.calls

    return assemble


def run(call: Call, tools: Tools) -> str:
    """Run a tool, which is a Python function `run`."""
    if call.name not in tools:
        raise CrashError(f"Unexpected call: {call.name} {call.arguments}")
    lacking = missing(json.loads(call.arguments), tools[call.name])
    if not lacking:
        return DONE
    plural = "s" if len(lacking) > 1 else ""
    names = " and ".join(map(repr, lacking))
    return f"run() missing {len(lacking)} required positional argument{plural}: {names}"


def following(request: Json, calls: Sequence[Call], results: Sequence[str]) -> Json:
    """The next request, as in the report: `arguments` is an object."""
    return in_chat(request, calls, results, [json.loads(call.arguments) for call in calls])


def _client(state: str, starts: Starts) -> Client:
    return Client(f"aichat, {state}", _reader(starts), run, following)


PUBLISHED = _client("as published", lambda key, new, call_id: new != key and len(new) >= len(key))  # noqa: ARG005
"""A key that is shorter than the current one does not start a call."""
UNGUARDED = _client("without the guard", lambda key, new, call_id: new != key)  # noqa: ARG005
"""As reported: every later fragment without an id has another key."""
FIXED = _client("fixed", lambda key, new, call_id: bool(call_id) and new != key)
"""A call starts only at an id."""
