"""`toolstream demo`: clients, a real proxy, saved streams, no key and no network."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import ssl
import sys
import threading
import urllib.request
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import IO, Any, Final, NamedTuple

from toolstream_core.cli.main import parsed
from toolstream_core.cli.serve import setup_of
from toolstream_core.clients.model import STANDARD, ClientModel, Kept, Key
from toolstream_core.clients.received import Received, ReceivedBytes
from toolstream_core.clients.stepping import SteppedCall, reads
from toolstream_core.model import StreamFacts
from toolstream_core.packaged import packaged
from toolstream_core.protocols.anthropic import ANTHROPIC
from toolstream_core.report.columns import Paint, colour, plain, wants_colour
from toolstream_core.saved.expectation import read_expectation
from toolstream_core.saved.read import load
from toolstream_core.testing import ProxySession

_TIMEOUT: Final = 60


def _ask(session: ProxySession, url: str, request: dict[str, Any]) -> bytes:
    """Send a request through the proxy, whose certificate authority is trusted; returns the body of the response."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({"https": session.proxy_url}),
        urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(session.ca_file))),
    )
    headers = {"content-type": "application/json", "authorization": "Bearer offline"}
    http_request = urllib.request.Request(url, json.dumps(request).encode(), headers)  # noqa: S310 - a saved https URL
    with opener.open(http_request, timeout=_TIMEOUT) as response:
        body: bytes = response.read()
    return body


def _chat_results(request: dict[str, Any], calls: Iterable[SteppedCall]) -> dict[str, Any]:
    listed = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
        for call in calls
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in listed]
    return {**request, "messages": [*request["messages"], {"role": "assistant", "tool_calls": listed}, *results]}


def _messages_results(request: dict[str, Any], calls: Iterable[SteppedCall]) -> dict[str, Any]:
    used = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments or "{}")}
        for call in calls
    ]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "done"} for call in used]
    turns = [{"role": "assistant", "content": used}, {"role": "user", "content": results}]
    return {**request, "messages": [*request["messages"], *turns]}


BY_ID: Final = STANDARD.with_deviations([Key.PRESENT_ID, Kept.NAMED])
"""A client with a common bug: an id that is present starts a call, even an empty one."""


class Scene(NamedTuple):
    """A client that gets a saved stream."""

    title: str
    flow: str
    """The name of the packaged flow."""
    client: ClientModel = STANDARD
    works: bool = True
    """Whether the client is expected to understand its calls."""


class Act(NamedTuple):
    """The arguments of `toolstream serve`, and the clients that it serves."""

    arguments: str
    scenes: list[Scene]


CHAT: Final = "openai-chat-single"
EMPTY_ID: Final = "deepseek-empty-id"
_FAULT: Final = "demo: --level calls --fault cumulative-arguments"
ACTS: Final = [
    Act(
        "demo:",
        [
            Scene("Chat Completions", CHAT),
            Scene('Chat Completions of DeepSeek, with "id": "" on every chunk but the first', EMPTY_ID),
            Scene("Anthropic Messages", "anthropic-single"),
        ],
    ),
    Act("demo: --level calls", [Scene("A client that starts a call at each id", EMPTY_ID, BY_ID, works=False)]),
    Act(
        "demo: --level calls --shape whole-calls",
        [Scene("The same client, with the option after the arrow", EMPTY_ID, BY_ID)],
    ),
    Act(_FAULT, [Scene("A provider that repeats the arguments so far", CHAT, works=False)]),
    Act(f"{_FAULT} --repair safe", [Scene("The same provider, repaired", CHAT)]),
]
_REQUESTS: Final = 2
"""The requests of each client: one that gets calls, one with their results."""
_NUMBER: Final = re.compile(r"(?:\x1b\[[0-9;]*m)*#(\d+)")


def run(_args: argparse.Namespace) -> int:
    """Play the scenes; returns 1 if a client did something unexpected. Raises `ToolstreamError`."""
    paint = colour if wants_colour(terminal=sys.stdout.isatty(), environment=dict(os.environ)) else plain
    failed = [title for act in ACTS for title in _failed(act, paint)]
    if failed:
        print(paint("error", f"failed: {', '.join(failed)}"))
        return 1
    print(paint("ok", "All clients did what was expected."), "Yours goes here:")
    print("  toolstream run -- your-client")
    return 0


def _failed(act: Act, paint: Paint) -> list[str]:
    """Play an act; returns the titles of the scenes with unexpected results."""
    print(f"$ toolstream serve {act.arguments}", flush=True)
    args = parsed(["serve", *act.arguments.split()])
    setup = setup_of(args, network="none", log=args.level)
    with _output(terminal=paint is colour) as (log, output), ProxySession(setup, log=log, keep=False) as session:
        calls = [_calls(scene, session) for scene in act.scenes]
        session.finish()
    logged = _logged(output)
    failed = []
    for scene, read in zip(act.scenes, calls, strict=True):
        print(f"\n{scene.title}")
        for line in chain.from_iterable(islice(logged, _REQUESTS)):
            print(f"  {line}")
        if _understood(scene, read, paint) != scene.works:
            failed.append(scene.title)
    print()
    return failed


@contextlib.contextmanager
def _output(*, terminal: bool) -> Iterator[tuple[int, list[str]]]:
    """A file descriptor for the proxy's output, and the lines printed so far; complete at the end."""
    lines: list[str] = []
    ours, theirs = os.openpty() if terminal else os.pipe()
    thread = threading.Thread(target=_read, args=(os.fdopen(ours, encoding="utf-8", errors="replace"), lines))
    thread.start()
    try:
        yield theirs, lines
    finally:
        os.close(theirs)
        thread.join()


def _read(stream: IO[str], lines: list[str]) -> None:
    # A pseudo-terminal ends with an error after the other side has closed.
    with contextlib.suppress(OSError), stream:
        lines.extend(line.rstrip("\r\n") for line in stream)


def _calls(scene: Scene, session: ProxySession) -> list[SteppedCall]:
    """The calls that a client reads; it sends their results."""
    saved = load(packaged("flows") / f"{scene.flow}.flow")[0]
    url = f"https://{saved.record.host}{saved.path}"
    got = Received(ReceivedBytes(StreamFacts(path=saved.path), _ask(session, url, saved.request)))
    assert got.protocol is not None
    calls = reads(scene.client, got.protocol.call_form, got.entries)
    with_results = _messages_results if got.protocol is ANTHROPIC else _chat_results
    _ask(session, url, with_results(saved.request, calls))
    return calls


def _logged(output: Iterable[str]) -> Iterator[list[str]]:
    """The log lines of each response, which begin with its number. Others do not."""
    numbered = [(int(found[1]), line) for line in output if (found := _NUMBER.match(line))]
    for _, lines in groupby(sorted(numbered, key=itemgetter(0)), key=itemgetter(0)):
        yield [line for _, line in lines]


def _understood(scene: Scene, read: Iterable[SteppedCall], paint: Paint) -> bool:
    """Print the calls as the client read them. Returns whether the provider sent these."""
    calls = [(call.name, _parsed(call.arguments or "{}")) for call in read]
    for name, arguments in calls:
        print(f"  the client runs {name} with {json.dumps(arguments)}")
    first = read_expectation(packaged("flows") / f"{scene.flow}.expect.json")[0]
    expected = [(call.name, json.loads(call.arguments)) for call in first.calls]
    if calls != expected:
        for name, arguments in expected:
            print(paint("error", f"  but the provider sent {name} with {json.dumps(arguments)}"))
    return calls == expected


def _parsed(arguments: str) -> Any:
    """A call's arguments, or their text if it is not valid JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
