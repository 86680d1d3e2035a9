"""The benchmark runs; what it measures is not for a test. A step of its own in CI: the suite does not collect it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchlib.core import measure
from benchlib.streams import HEALTHY
from tests.conftest import ROOT
from tests.test_bench import LABELS, rows

BENCH = ROOT / "scripts" / "bench.py"
KEEPING = ("(h) toolstream chunks", "(i) toolstream chunks, capture")
RUN = ("paced", "captured")
"""Sections of the run."""
PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")


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
        ("broken, 3 x 40", label) for label in (LABELS[0], KEEPING[0], "(g) toolstream chunks, repair")
    ]
    assert [tuple(row[:2]) for row in rows(text, "Captures")] == [("tool-heavy, 2 x 400", label) for label in KEEPING]
    assert {row[0].partition(" ")[0] for row in rows(text, "Targets")} == {"(h)", "(g)"}
    assert {row[3] for row in rows(text, "Targets")} <= {"yes", "NO"}
    assert {name: len(values) for name, values in kept.items() if values} == {
        "paced": 3,
        "captured": 2,
    }


def test_each_protocol_is_read_alone() -> None:
    """By toolstream and by the SDK, each kind of stream."""
    raced = measure([50], 1)
    assert [(one.protocol, one.load.kind) for one in raced] == [(p, k) for p in PROTOCOLS for k in HEALTHY]
    assert all(one.ours and one.sdk for one in raced)
