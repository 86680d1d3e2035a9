"""Whether a contender told the calls that were sent. Knows what toolstream prints and writes."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchlib.rig import Running
    from benchlib.streams import Load, Told


class WrongCallsError(AssertionError):
    """What was told is not what was sent."""


def check_told(running: Running, load: Load, streams: int) -> None:
    """Hold what `running`, stopped by now, told of all its streams against `load`, if it is toolstream."""
    if not running.contender.log:
        return
    _check_printed(running, load.call, streams)
    if running.contender.jsonl:
        _check_written(running, load, streams)


def _check_printed(running: Running, call: Told, streams: int) -> None:
    start = f"call 0 {call.name} id="
    told = [line.partition(start)[2].partition(" ")[2] for line in running.proxy.output if start in line]
    wrong = [text for text in told if not _says(text, call.arguments)]
    if wrong or len(told) != streams:
        said = "\n".join(wrong[:1] or running.proxy.output[-20:])
        raise WrongCallsError(f"{running.contender.name}: {len(told)} calls for {streams} streams:\n{said[:3000]}")


def _says(text: str, arguments: str) -> bool:
    """Whether `text` is `arguments`, or their beginning and end and how much is left out between them."""
    if text == arguments:
        return True
    begin, gap, rest = text.partition("…(+")
    left_out, _, end = rest.partition(")…")
    whole = len(begin) + len(end) + int(left_out) == len(arguments) if gap else False
    return whole and arguments.startswith(begin) and arguments.endswith(end)


def _check_written(running: Running, load: Load, streams: int) -> None:
    events: dict[str, int] = defaultdict(int)
    pieces: dict[str, list[str]] = defaultdict(list)
    ended = 0
    for line in _objects(running.jsonl):
        if line["type"] == "verdict":
            continue
        flow = line["flow"]
        if line["type"] == "event":
            events[flow] += 1
            pieces[flow] += (fragment.get("arguments", "") for fragment in line.get("fragments", ()))
            continue
        ended += 1
        calls = [(call["id"], call["name"], call["arguments"]) for call in line["record"]["calls"]]
        whole = "".join(pieces.pop(flow))
        if calls != [load.call] or whole != load.call.arguments or events[flow] != load.events:
            raise WrongCallsError(f"{flow}: {events[flow]} events in the JSONL, calls {str(calls)[:300]}")
    if ended != streams:
        raise WrongCallsError(f"{ended} streams ended in the JSONL, not {streams}")


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
