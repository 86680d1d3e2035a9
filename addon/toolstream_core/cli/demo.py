"""`toolstream demo`: real clients, a real proxy, saved streams, no key and no network."""

from __future__ import annotations

import json
import os
import ssl
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolstream_core.cli.launch import Mitmdump, MitmdumpError
from toolstream_core.fixtures import load
from toolstream_core.packaged import packaged
from toolstream_core.report.paint import colour, plain, wants_colour

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

    from toolstream_core.report.paint import Paint

_EMPTY_ID = 'DeepSeek and its "id": "" on every chunk but the first'


@dataclass(frozen=True, slots=True)
class Scene:
    """One client's conversation: what it is called, which saved stream answers it, and how it is held."""

    title: str
    flow: str
    """The name of the saved flow whose calls the client has to understand."""
    talk: Callable[[dict[str, Any], str, Path], list[tuple[str, Any]]]
    """Given the saved request, the proxy's address and its authority: the calls understood, by name and arguments."""


@dataclass(frozen=True, slots=True)
class Act:
    """What one proxy is asked to do, and who is in front of it."""

    options: dict[str, str]
    scenes: list[Scene]
    works: bool = True
    """Whether the clients are to understand their calls."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("demo", help="show toolstream at work: offline, with real clients")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play the scenes; 1 where a client did not understand what was said."""
    del args
    paint = colour if wants_colour(terminal=sys.stdout.isatty(), environment=dict(os.environ)) else plain
    try:
        scenes = _scenes()
    except ImportError as error:
        print(f"toolstream demo needs {error.name}: pip install '.[demo]' in the clone", file=sys.stderr)
        return 2
    failed = []
    try:
        for act in _acts(scenes):
            failed += _perform(act, paint)
    except MitmdumpError as error:
        print(error, file=sys.stderr)
        return 1
    if failed:
        print(paint("error", f"failed: {', '.join(failed)}"))
        return 1
    print(paint("good", f"All {len(scenes)} clients were seen, and one broken stream was mended."), "Yours goes here:")
    print("  mitmdump -s addon/toolstream.py      then HTTPS_PROXY=http://127.0.0.1:8080 your-client")
    return 0


def _acts(scenes: list[Scene]) -> list[Act]:
    """To look; then a provider that sends all arguments so far with each delta, bare and mended."""
    one = replace(scenes[0], title="A provider whose deltas are cumulative")
    changed = replace(one, title="The same, mended on the way")
    fault = {"toolstream_fault": "cumulative-arguments", "toolstream_log": "calls"}
    return [
        Act({}, scenes),
        Act(fault, [one], works=False),
        Act({**fault, "toolstream_repair": "safe"}, [changed]),
    ]


def _perform(act: Act, paint: Paint) -> list[str]:
    """Play an act; the titles of the scenes that went otherwise than they should."""
    options = {"toolstream_provider": str(packaged("flows")), **act.options}
    env = {} if paint is colour else {"NO_COLOR": "1"}
    said = {**options, "toolstream_provider": packaged("flows").name}
    print(paint("dim", f"$ mitmdump -s addon/toolstream.py {' '.join(f'--set {k}={v}' for k, v in said.items())}"))
    with Mitmdump({**options, "flow_detail": "0"}, env=env, terminal=paint is colour) as proxy:
        failed = [scene.title for scene in act.scenes if _play(scene, proxy, paint) != act.works]
    print()
    return failed


def _play(scene: Scene, proxy: Mitmdump, paint: Paint) -> bool:
    seen = len(proxy.output)
    print(f"\n{paint('name', scene.title)}")
    saved = load(packaged("flows") / f"{scene.flow}.flow")[0]
    understood = scene.talk(saved.request, proxy.url, proxy.ca)
    for line in _told(proxy, seen):
        print(f"  {line}")
    for name, arguments in understood:
        print(f"  the client runs {paint('name', name)} with {json.dumps(arguments)}")
    expected = _expected(scene.flow)
    if understood != expected:
        for name, arguments in expected:
            print(paint("error", f"  and was told to run {name} with {json.dumps(arguments)}"))
    return understood == expected


def _expected(flow: str) -> list[tuple[str, Any]]:
    from toolstream_core.fixtures.expectation import read_expectation

    first = read_expectation(packaged("flows") / f"{flow}.expect.json").answers[0]
    return [(call.name, json.loads(call.arguments)) for call in first.calls]


def _told(proxy: Mitmdump, seen: int) -> list[str]:
    """What was told of one answer, up to its summary, the last line; without mitmproxy's own lines."""
    proxy.wait_for(lambda line: line.startswith("#") and " events, " in line, after=seen)
    return [line for line in proxy.output[seen:] if "#" in line[:8]]


def _read(arguments: str) -> Any:
    """A call's arguments, or their text where a client would fail to read them."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _scenes() -> list[Scene]:
    import anthropic
    import openai

    def chat(request: dict[str, Any], proxy: str, ca: Path, base_url: str | None = None) -> list[tuple[str, Any]]:
        http = openai.DefaultHttpxClient(proxy=proxy, verify=ssl.create_default_context(cafile=str(ca)))
        client = openai.OpenAI(api_key="offline", base_url=base_url, http_client=http, max_retries=0)
        kept = {key: request[key] for key in ("model", "messages", "tools")}
        with client, client.chat.completions.stream(**kept) as events:
            message = events.get_final_completion().choices[0].message
        return [(call.function.name, _read(call.function.arguments)) for call in message.tool_calls or []]

    def deepseek(request: dict[str, Any], proxy: str, ca: Path) -> list[tuple[str, Any]]:
        return chat(request, proxy, ca, "https://api.deepseek.com")

    def messages(request: dict[str, Any], proxy: str, ca: Path) -> list[tuple[str, Any]]:
        http = anthropic.DefaultHttpxClient(proxy=proxy, verify=ssl.create_default_context(cafile=str(ca)))
        client = anthropic.Anthropic(api_key="offline", http_client=http, max_retries=0)
        kept = {key: request[key] for key in ("model", "max_tokens", "messages", "tools")}
        with client, client.messages.stream(**kept) as events:
            content = events.get_final_message().content
        return [(block.name, block.input) for block in content if block.type == "tool_use"]

    return [
        Scene("openai-python, Chat Completions", "openai-chat-single", chat),
        Scene(f"openai-python, {_EMPTY_ID}", "deepseek-empty-id", deepseek),
        Scene("anthropic-python, Messages", "anthropic-single", messages),
    ]
