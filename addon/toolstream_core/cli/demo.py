"""`toolstream demo`: real clients, a real proxy, saved streams, no key and no network."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolstream_core.cli.launch import Mitmdump, MitmdumpError
from toolstream_core.report.paint import colour, plain, wants_colour

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from toolstream_core.report.paint import Paint

_TOOL = {
    "name": "get_weather",
    "description": "The weather of a city, now.",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
_QUESTION = "What is the weather in Lisbon?"


@dataclass(frozen=True, slots=True)
class Scene:
    """One client's conversation: what it is called, how it is held, and the call that it has to understand."""

    title: str
    talk: Callable[[str, Path], list[tuple[str, Any]]]
    """Given the proxy's address and its authority: the calls that the client understood, by name and arguments."""
    expected: list[tuple[str, Any]]


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("demo", help="show toolstream at work: offline, with real clients")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play the scenes; 1 where a client did not understand what was said."""
    del args
    import os

    paint = colour if wants_colour(terminal=sys.stdout.isatty(), environment=dict(os.environ)) else plain
    try:
        scenes = _scenes()
    except ImportError as error:
        print(f"toolstream demo needs {error.name}: pip install 'toolstream[demo]'", file=sys.stderr)
        return 2
    options = {"toolstream_provider": str(flows_dir()), "flow_detail": "0"}
    env = {} if paint is colour else {"NO_COLOR": "1"}
    print(paint("dim", f"$ mitmdump -s addon/toolstream.py --set toolstream_provider={flows_dir().name}"))
    try:
        with Mitmdump(options, env=env, terminal=paint is colour) as proxy:
            failed = [scene.title for scene in scenes if not _play(scene, proxy, paint)]
    except MitmdumpError as error:
        print(error, file=sys.stderr)
        return 1
    if failed:
        print(paint("error", f"failed: {', '.join(failed)}"))
        return 1
    print(paint("good", f"All {len(scenes)} clients understood their calls."), "Yours goes here:")
    print("  mitmdump -s addon/toolstream.py      then HTTPS_PROXY=http://127.0.0.1:8080 your-client")
    return 0


def flows_dir() -> Path:
    """The saved flows: in a checkout beside `addon/`, else inside the installed package."""
    here = Path(__file__).resolve()
    checkout = here.parents[3] / "flows"
    return checkout if checkout.is_dir() else here.parents[1] / "flows"


def _play(scene: Scene, proxy: Mitmdump, paint: Paint) -> bool:
    seen = len(proxy.output)
    print(f"\n{paint('name', scene.title)}")
    understood = scene.talk(proxy.url, proxy.ca)
    proxy.wait_for(r"finish .*", after=seen)
    for line in _settled(proxy, seen):
        print(f"  {line}")
    right = understood == scene.expected
    for name, arguments in understood:
        print(f"  the client runs {paint('name', name)} {json.dumps(arguments)}")
    if not right:
        print(paint("error", f"  but was told {scene.expected}"))
    return right


def _settled(proxy: Mitmdump, seen: int) -> list[str]:
    """What was told of one answer, up to its summary, the last line."""
    proxy.wait_for(lambda line: " events, " in line and " finish " in line, after=seen)
    return [line for line in proxy.output[seen:] if line.strip()]


def _scenes() -> list[Scene]:
    import anthropic
    import httpx
    import openai

    def ask_openai(model: str, tools: list[dict[str, Any]], proxy: str, ca: Path) -> list[tuple[str, Any]]:
        http = httpx.Client(proxy=proxy, verify=_trusting(ca))
        with openai.OpenAI(api_key="offline", http_client=http, max_retries=0) as client:
            stream = client.chat.completions.stream(
                model=model, messages=[{"role": "user", "content": _QUESTION}], tools=tools
            )
            with stream as events:
                message = events.get_final_completion().choices[0].message
        return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]

    def ask_anthropic(proxy: str, ca: Path) -> list[tuple[str, Any]]:
        http = httpx.Client(proxy=proxy, verify=_trusting(ca))
        with anthropic.Anthropic(api_key="offline", http_client=http, max_retries=0) as client:
            stream = client.messages.stream(
                model="claude-sonnet-4-5",
                max_tokens=256,
                messages=[{"role": "user", "content": _QUESTION}],
                tools=[{"name": _TOOL["name"], "description": _TOOL["description"], "input_schema": _TOOL["schema"]}],
            )
            with stream as events:
                content = events.get_final_message().content
        return [(block.name, block.input) for block in content if block.type == "tool_use"]

    return [Scene("x", lambda p, c: ask_openai("gpt-4o", [], p, c), []), Scene("y", ask_anthropic, [])]
