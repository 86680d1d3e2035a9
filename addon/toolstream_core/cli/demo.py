"""`toolstream demo`: clients, a real proxy, saved streams, no key and no network."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.cli import demo_clients
from toolstream_core.cli.launch import Mitmdump, MitmdumpError
from toolstream_core.fixtures import load
from toolstream_core.packaged import packaged
from toolstream_core.report.paint import colour, plain, wants_colour

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from toolstream_core.cli.demo_clients import Call, Client
    from toolstream_core.report.paint import Paint

_REQUESTS: Final = 2
"""Of each client: one that gets calls, one with their results."""
_NUMBER: Final = re.compile(r"(?:\x1b\[[0-9;]*m)*#(\d+)")


@dataclass(frozen=True, slots=True)
class Scene:
    """A client that gets a saved stream."""

    title: str
    flow: str
    """The name of the packaged flow."""
    client: Client
    works: bool = True
    """Whether the client is expected to understand its calls."""


@dataclass(frozen=True, slots=True)
class Act:
    """The options of one proxy, and the clients that use it."""

    options: dict[str, str]
    scenes: list[Scene]


CHAT: Final = "openai-chat-single"
EMPTY_ID: Final = "deepseek-empty-id"
CALLS: Final = {"toolstream_log": "calls"}
FAULT: Final = {**CALLS, "toolstream_fault": "cumulative-arguments"}
ACTS: Final = [
    Act(
        {},
        [
            Scene("Chat Completions", CHAT, demo_clients.CHAT),
            Scene(
                'Chat Completions of DeepSeek, with "id": "" on every chunk but the first', EMPTY_ID, demo_clients.CHAT
            ),
            Scene("Anthropic Messages", "anthropic-single", demo_clients.MESSAGES),
        ],
    ),
    Act(
        CALLS,
        [Scene("A client that starts a call at each id", EMPTY_ID, demo_clients.BY_ID, works=False)],
    ),
    Act(
        {**CALLS, "toolstream_shape": "whole-calls"},
        [Scene("The same client, with the option after the arrow", EMPTY_ID, demo_clients.BY_ID)],
    ),
    Act(FAULT, [Scene("A provider that repeats the arguments so far", CHAT, demo_clients.CHAT, works=False)]),
    Act({**FAULT, "toolstream_repair": "safe"}, [Scene("The same provider, repaired", CHAT, demo_clients.CHAT)]),
]


def run(args: argparse.Namespace) -> int:
    """Play the scenes; 1 where a client did otherwise than expected."""
    del args
    paint = colour if wants_colour(terminal=sys.stdout.isatty(), environment=dict(os.environ)) else plain
    failed = []
    try:
        for act in ACTS:
            failed += _perform(act, paint)
    except MitmdumpError as error:
        print(error, file=sys.stderr)
        return 1
    if failed:
        print(paint("error", f"failed: {', '.join(failed)}"))
        return 1
    print(paint("ok", "All clients did what was expected."), "Yours goes here:")
    print("  toolstream run -- your-client")
    return 0


def _perform(act: Act, paint: Paint) -> list[str]:
    """Play an act; the titles of the scenes that went otherwise than expected."""
    options = {"toolstream_provider": "demo:", **act.options}
    env = {} if paint is colour else {"NO_COLOR": "1"}
    said = " ".join(f"--set {name}={value}" for name, value in options.items())
    print(f'$ mitmdump -s "$(toolstream addon-path)" {said}', flush=True)
    with Mitmdump({**options, "flow_detail": "0"}, env=env, terminal=paint is colour) as proxy:
        calls = [_calls(scene, proxy) for scene in act.scenes]
    # Only an ended proxy has printed all lines of a message.
    logged = _logged(proxy.output)
    failed = []
    for scene, read in zip(act.scenes, calls, strict=True):
        print(f"\n{scene.title}")
        for line in chain.from_iterable(islice(logged, _REQUESTS)):
            print(f"  {line}")
        if _understood(scene, read, paint) != scene.works:
            failed.append(scene.title)
    print()
    return failed


def _calls(scene: Scene, proxy: Mitmdump) -> list[Call]:
    """The calls that a client reads; returns once all about them is logged."""
    saved = load(packaged("flows") / f"{scene.flow}.flow")[0]
    url, through = f"https://{saved.host}{saved.path}", demo_clients.Proxy(proxy.url, proxy.ca)
    seen = len(proxy.output)
    calls = scene.client.read(through.events(url, saved.request))
    for _ in through.events(url, scene.client.with_results(saved.request, calls)):
        pass
    proxy.wait_for("verdict", after=seen)
    return calls


def _logged(output: Iterable[str]) -> Iterator[list[str]]:
    """The log lines of each response, which begin with its number. mitmproxy's own lines do not."""
    numbered = [(int(found[1]), line) for line in output if (found := _NUMBER.match(line))]
    for _, lines in groupby(sorted(numbered, key=itemgetter(0)), key=itemgetter(0)):
        yield [line for _, line in lines]


def _understood(scene: Scene, read: Iterable[Call], paint: Paint) -> bool:
    """Print the calls as the client read them; whether the provider sent these."""
    calls = [(call.name, _parsed(call.arguments or "{}")) for call in read]
    for name, arguments in calls:
        print(f"  the client runs {name} with {json.dumps(arguments)}")
    expected = _expected(scene.flow)
    if calls != expected:
        for name, arguments in expected:
            print(paint("error", f"  but the provider sent {name} with {json.dumps(arguments)}"))
    return calls == expected


def _expected(flow: str) -> list[tuple[str, Any]]:
    from toolstream_core.fixtures.expectation import read_expectation

    first = read_expectation(packaged("flows") / f"{flow}.expect.json").answers[0]
    return [(call.name, json.loads(call.arguments)) for call in first.calls]


def _parsed(arguments: str) -> Any:
    """A call's arguments, or their text where it is not valid JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
