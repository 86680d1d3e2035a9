"""The benchmark runs, and what it prints of numbers is right; what it measures is not for a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchlib import provided
from benchlib.capturing import LETTERS as CAPTURED
from benchlib.core import Raced, measure
from benchlib.endurance import Endured
from benchlib.latency import LETTERS as PINGED
from benchlib.latency import Delays
from benchlib.paced import LETTERS as PACED
from benchlib.results import Results
from benchlib.streams import HEALTHY, Kind, Load
from benchlib.tables import report
from benchlib.throughput import DIRECT, Scene, Timed
from benchlib.throughput import LETTERS as TIMED
from benchlib.usage import Growth

BENCH = Path(__file__).parents[1] / "scripts" / "bench.py"
KINDS = ("content-heavy", "tool-heavy")
LABELS = (
    "(a) mitmproxy stream=True",
    "(b) naive split + json.loads",
    "(c) toolstream calls",
    "(d) toolstream chunks + jsonl",
    "(e) toolstream calls, repair",
    "(f) toolstream calls, fault",
)
KEEPING = ("(h) toolstream chunks", "(i) toolstream chunks, capture")
ODD = (
    "plain",
    "encoded twice",
    "garbage behind them",
    "sent again",
    "sent again, in pieces",
    "cumulative",
    "a call an event",
    "a block for each call",
)
RUN = ("odd", "paced", "captured")
"""Sections of the run."""
PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")


def rows(text: str, title: str) -> list[list[str]]:
    """The cells of the table under `title`, its head left out."""
    section = text.split(f"## {title}")[1].partition("##")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, list[object]]]:
    """What one quick run printed, of the sections that need few mitmdumps, and what it kept."""
    kept = tmp_path_factory.mktemp("bench") / "numbers.json"
    command = [sys.executable, str(BENCH), "--quick", "--only", *RUN, "--json", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(kept.read_text(encoding="utf-8"))


def test_it_runs(run: tuple[str, dict[str, list[object]]]) -> None:
    """Through an upstream, proxies and a client of its own; a row for everything measured, and every number kept."""
    text, kept = run
    assert [tuple(row[:2]) for row in rows(text, "Live")] == [
        ("broken, 3 x 40", LABELS[0]),
        ("broken, 3 x 40", "(g) toolstream chunks, repair"),
    ]
    assert [row[0] for row in rows(text, "Odd arguments")] == list(ODD)
    assert [tuple(row[:2]) for row in rows(text, "Captures")] == [("tool-heavy, 2 x 400", label) for label in KEEPING]
    assert {row[0] for row in rows(text, "Targets")} == {"(g) <= 1.35 x (a), live", "(i) <= 1.15 x (h), processor"}
    assert {row[3] for row in rows(text, "Targets")} <= {"yes", "NO"}
    assert {name: len(values) for name, values in kept.items() if values} == {
        "odd": len(ODD),
        "paced": 2,
        "captured": 2,
    }


def test_each_protocol_is_read_alone() -> None:
    """By toolstream and by the SDK, each kind of stream."""
    raced = measure([50], 1)
    assert [(one.protocol, one.load.kind) for one in raced] == [(p, k) for p in PROTOCOLS for k in HEALTHY]
    assert all(one.ours and one.sdk for one in raced)


def test_provided_streams_come_in_their_own_time(tmp_path: Path) -> None:
    """Each event of each stream is counted."""
    late = provided.measure(tmp_path, 3, 10)
    assert (late.streams, late.events, len(late.milliseconds)) == (3, 10, 30)


def timed(scene: Scene, letter: str) -> Timed:
    """A contender that took a second, toolstream two."""
    seconds = 1.0 if letter in {"a", DIRECT} else 2.0
    return Timed(scene, letter, [seconds] * 3, [seconds] * 3)


def made_up() -> Results:
    """Numbers of every section that goes through proxies."""
    scenes = {kind: Scene(Load(kind, 400), 2) for kind in Kind}
    return Results(
        throughput=[timed(scene, letter) for kind, scene in scenes.items() for letter in (*TIMED[kind], DIRECT)],
        latency=[Delays(kind, letter, [0.2 if letter == "d" else 0.05] * 3) for kind in HEALTHY for letter in PINGED],
        memory=[
            Endured(Load(kind, 4000), letter, Growth(50.0, 70.0 if kind is Kind.TOOL else 51.0, 70.0), 1.0)
            for kind in HEALTHY
            for letter in ("a", "c")
        ],
        core=[Raced("openai-chat", Load(Kind.TOOL, 200), [1.0], [20.0])],
        paced=[timed(scene, letter) for scene in scenes.values() for letter in PACED],
        captured=[timed(scene, letter) for scene in scenes.values() for letter in CAPTURED],
    )


def test_every_row_of_every_table_is_there() -> None:
    """Contenders and kinds of stream, in order."""
    text = "\n".join(report(made_up()))
    a, _, c, d, e, _ = LABELS
    assert [(row[0].partition(",")[0], row[1]) for row in rows(text, "Upstream to client")] == [
        *((KINDS[0], label) for label in (*LABELS[:5], "no proxy")),
        *((KINDS[1], label) for label in (*LABELS, "no proxy")),
        *(("broken", label) for label in (a, e, "no proxy")),
    ]
    assert [tuple(row[:2]) for row in rows(text, "One event")] == [(k, m) for k in KINDS for m in (a, c, d, e)]
    grown = [(row[0].partition(",")[0], row[1]) for row in rows(text, "Memory")]
    assert grown == [(kind, label) for kind in KINDS for label in (a, c)]
    paced = [(row[0].partition(",")[0], row[1]) for row in rows(text, "Live")]
    assert paced == [(kind, label) for kind in (*KINDS, "broken") for label in (a, "(g) toolstream chunks, repair")]


def test_every_target_is_judged() -> None:
    """By its own numbers."""
    judged = [(row[0], row[1].partition(",")[0], row[3]) for row in rows("\n".join(report(made_up())), "Targets")]
    assert judged == [
        ("(c) <= 1.1 x (a)", "content-heavy", "NO"),
        ("(c) <= 1.4 x (a)", "tool-heavy", "NO"),
        ("(c) <= 1.0 x (b)", "content-heavy", "yes"),
        ("(d) <= 2.0 x (a)", "tool-heavy", "yes"),
        ("(e) <= 1.5 x (a)", "content-heavy", "NO"),
        ("(e) <= 1.5 x (a)", "tool-heavy", "NO"),
        ("(e) <= 2.0 x (a)", "broken", "yes"),
        ("(g) <= 1.35 x (a), live", "content-heavy", "NO"),
        ("(g) <= 1.35 x (a), live", "tool-heavy", "NO"),
        ("(g) <= 1.35 x (a), live", "broken", "NO"),
        *(("(i) <= 1.15 x (h), processor", kind, "yes") for kind in (*KINDS, "broken")),
        ("(c) adds <= 0.1 ms, p50", "content-heavy", "yes"),
        ("(d) adds <= 0.1 ms, p50", "content-heavy", "NO"),
        ("(c) adds <= 0.1 ms, p50", "tool-heavy", "yes"),
        ("(d) adds <= 0.1 ms, p50", "tool-heavy", "NO"),
        ("(c) grows < 10 MiB", "content-heavy", "yes"),
        ("(c) grows < 10 MiB", "tool-heavy", "NO"),
        ("reader >= 20 x openai SDK", "tool-heavy", "yes"),
    ]
