"""The benchmark runs from end to end and prints every row; what it measures is not for a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")


def rows(text: str, title: str) -> list[list[str]]:
    """The cells of the table under `title`, its head left out."""
    section = text.split(f"## {title}")[1].partition("##")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, list[object]]]:
    """What one quick run of everything printed, and what it kept."""
    kept = tmp_path_factory.mktemp("bench") / "numbers.json"
    command = [sys.executable, str(BENCH), "--quick", "--json", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(kept.read_text(encoding="utf-8"))


def test_every_row_of_every_table_is_there(run: tuple[str, dict[str, list[object]]]) -> None:
    """Contenders, kinds of stream and protocols, in order."""
    text, _ = run
    times = [(row[0].partition(",")[0], row[1]) for row in rows(text, "Upstream to client")]
    a, _, c, d, e, _ = LABELS
    assert times == [
        *((KINDS[0], label) for label in (*LABELS[:5], "no proxy")),
        *((KINDS[1], label) for label in (*LABELS, "no proxy")),
        *(("broken", label) for label in (a, e, "no proxy")),
    ]
    assert [tuple(row[:2]) for row in rows(text, "One event")] == [(k, m) for k in KINDS for m in (a, c, d, e)]
    grown = [(row[0].partition(",")[0], row[1]) for row in rows(text, "Memory")]
    assert grown == [(kind, label) for kind in KINDS for label in (a, c)]
    paced = [(row[0].partition(",")[0], row[1]) for row in rows(text, "Live")]
    assert paced == [(kind, label) for kind in (*KINDS, "broken") for label in (a, "(g) toolstream chunks, repair")]
    assert [row[0] for row in rows(text, "Odd arguments")] == list(ODD)
    assert [row[0] for row in rows(text, "Reading alone")] == [f"{p} {k}" for p in PROTOCOLS for k in KINDS]


def test_every_target_is_judged(run: tuple[str, dict[str, list[object]]]) -> None:
    """Whichever way it turns out on a run this small."""
    judged = rows(run[0], "Targets")
    assert {row[0] for row in judged} == {
        "(c) <= 1.1 x (a)",
        "(c) <= 1.4 x (a)",
        "(c) <= 1.0 x (b)",
        "(d) <= 2.0 x (a)",
        "(e) <= 1.5 x (a)",
        "(e) <= 2.0 x (a)",
        "(g) <= 1.35 x (a), live",
        "(c) adds <= 0.1 ms, p50",
        "(d) adds <= 0.1 ms, p50",
        "(c) grows < 10 MiB",
        "reader >= 20 x openai SDK",
    }
    assert {row[3] for row in judged} <= {"yes", "NO"}


def test_every_number_is_kept(run: tuple[str, dict[str, list[object]]]) -> None:
    """Each measured series stands in the JSON file."""
    kept = run[1]
    assert {name: len(values) for name, values in kept.items()} == {
        "throughput": 16,
        "latency": 8,
        "memory": 4,
        "core": 6,
        "odd": len(ODD),
        "paced": 6,
        "provided": 1,
    }
