"""The benchmark runs. A separate step in CI: the suite does not collect this file, and no measured value is tested."""

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
WITH_CAPTURE = ("(h) toolstream chunks", "(i) toolstream chunks, capture")
SECTIONS = ("paced", "captured")
"""The sections to run."""
PROTOCOLS = ("openai-chat", "openai-responses", "anthropic")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, list[object]]]:
    """Return output and numbers of a quick run of the sections that start few mitmdumps."""
    numbers = tmp_path_factory.mktemp("bench") / "numbers.json"
    command = [sys.executable, str(BENCH), "--quick", "--only", *SECTIONS, "--json", str(numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(numbers.read_text(encoding="utf-8"))


def test_the_benchmark_prints_and_stores_its_numbers(run: tuple[str, dict[str, list[object]]]) -> None:
    """A run prints a row for every measurement and stores every number."""
    text, numbers = run
    assert [tuple(row[:2]) for row in rows(text, "Live")] == [
        ("broken, 3 x 40", label) for label in (LABELS[0], WITH_CAPTURE[0], "(g) toolstream chunks, repair")
    ]
    assert [tuple(row[:2]) for row in rows(text, "Captures")] == [
        ("tool-heavy, 2 x 400", label) for label in WITH_CAPTURE
    ]
    assert {row[0].partition(" ")[0] for row in rows(text, "Targets")} == {"(h)", "(g)"}
    assert {row[3] for row in rows(text, "Targets")} <= {"yes", "NO"}
    assert {name: len(values) for name, values in numbers.items() if values} == {
        "paced": 3,
        "captured": 2,
    }


def test_each_protocol_is_measured() -> None:
    """Each kind of stream of each protocol is read by toolstream and by the SDK."""
    measurements = measure([50], 1)
    assert [(one.protocol, one.load.kind) for one in measurements] == [(p, k) for p in PROTOCOLS for k in HEALTHY]
    assert all(one.toolstream and one.sdk for one in measurements)
