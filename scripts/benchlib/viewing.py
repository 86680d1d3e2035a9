"""The session view and the content views: what they cost. Knows the page only as a file."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchlib.streams import Kind, Load
from tests.browser.chromium import program
from toolstream_core.model import StreamFacts
from toolstream_core.proxy.ui.facts import facts_of
from toolstream_core.proxy.ui.known import Seen
from toolstream_core.proxy.ui.text import event_lines, response_lines, wrapped
from toolstream_core.saved.exchange import Exchange
from toolstream_core.view.assemble import page
from toolstream_core.view.document import ViewBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCRIPT: Final = Path(__file__).with_name("opening.mjs")
PACKAGES: Final = Path(__file__).resolve().parents[2] / "requirements" / "browser"
IDLE: Final = "<!doctype html><html lang=en><title>idle</title><p>idle"


@dataclass(slots=True)
class Viewed:
    """Seconds for something beside its baseline, a value a round."""

    what: str
    events: int
    baseline: str
    seconds: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    size: int = 0
    """Bytes of the page."""


def measure(folder: Path, events: int, rounds: int) -> list[Viewed]:
    """The document in this process, the command, and the page in Chromium where there is one."""
    chunks = list(_blocks(events))
    body = folder / "session.sse"
    body.write_bytes(b"".join(chunks))
    out = folder / "page.html"
    made = Viewed("document", events, "json.loads of each event")
    command = Viewed("toolstream view", events, "python -c pass")
    for _ in range(rounds):
        made.seconds.append(_timed(lambda: _document(chunks)))
        made.beside.append(_timed(lambda: _parsed(chunks)))
        command.seconds.append(_timed(lambda: _command(body, out)))
        command.beside.append(_timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)))
    made.size = command.size = out.stat().st_size
    return [made, command, *_in_browser(folder, out, events, rounds), *_content_views(events // 2, rounds)]


def _blocks(events: int) -> Sequence[bytes]:
    return list(Load(Kind.TOOL, events).blocks())


def _document(chunks: Sequence[bytes]) -> None:
    builder = ViewBuilder()
    exchange = StreamFacts(source="bench", path="/v1/chat/completions", content_type="text/event-stream")
    builder.take(Exchange(facts=exchange, chunks=chunks))
    page(builder.document(["bench"]))


def _parsed(chunks: Sequence[bytes]) -> None:
    for chunk in chunks:
        if chunk.startswith(b"data: {"):
            json.loads(chunk[6:])


def _command(body: Path, out: Path) -> None:
    words = ["-m", "toolstream_core.cli.main", "view", str(body), "-o", str(out), "--force"]
    subprocess.run([sys.executable, *words], check=True)


def _in_browser(folder: Path, out: Path, events: int, rounds: int) -> list[Viewed]:
    """Opening and stepping, in milliseconds of the browser's own clock; nothing where there is no browser."""
    node, chromium = shutil.which("node"), program()
    if node is None or chromium is None or not (PACKAGES / "node_modules").is_dir():
        return []
    idle = folder / "idle.html"
    idle.write_text(IDLE)
    environment = os.environ | {"TOOLSTREAM_BROWSER": str(PACKAGES), "TOOLSTREAM_CHROMIUM": chromium}
    command = [node, str(SCRIPT), str(out), str(idle), str(rounds)]
    told = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    return [
        Viewed("page opens", events, "an idle page", told["open"], told["idle"], out.stat().st_size),
        Viewed("page steps one event", events, "a frame", told["step"], told["frame"], out.stat().st_size),
    ]


def _content_views(events: int, rounds: int) -> list[Viewed]:
    """The views of a response in mitmweb, and reading it, which is done once for both."""
    chunks = _blocks(events)
    exchange = StreamFacts(source="bench", path="/v1/chat/completions", content_type="text/event-stream")
    saved = Exchange(facts=exchange, chunks=chunks, times=range(len(chunks)))
    facts = facts_of(saved)
    assert facts is not None
    known = facts
    work: dict[str, Callable[[], object]] = {
        "content view Events": lambda: "\n".join(event_lines(known)),
        "content view Tool calls": lambda: "\n".join(wrapped(response_lines(known, Seen()))),
        "response read for content views": lambda: facts_of(saved),
    }
    measured = {name: Viewed(name, events, "json.loads of each event") for name in work}
    for _ in range(rounds):
        for name, do in work.items():
            measured[name].seconds.append(_timed(do))
            measured[name].beside.append(_timed(lambda: _parsed(chunks)))
    return [*measured.values()]


def _timed(do: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    do()
    return time.perf_counter() - start
