"""A fixed part of the fuzzer's cases, from the streams in the repository."""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fuzz import mutate
from tests.fuzz.case import Case, load, save
from tests.fuzz.corpus import seeds
from tests.fuzz.hunt import Violation, names, note_interrupts, shrunk, until, violations
from tests.fuzz.invariants import HARMS, INVARIANTS
from toolstream_core.model import ABSENT

ROOT = Path(__file__).resolve().parents[2]

PARTS = 8
CASES = 90
"""The number of cases of each part."""
TOLERATED = 1
"""Streams of a part that may violate an invariant outside `HARMS`; `scripts/fuzz` measures the rates."""


@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_streams_violate_no_invariant(part: int) -> None:
    """A mutated stream violates no invariant of `HARMS`, and few violate another."""
    drawn = names("fixed", part)
    mutants = [mutate.case(seeds(), next(drawn)) for _ in range(CASES)]
    found = [(case.seed, *one) for case in mutants for one in violations(case)]
    harms = frozenset().union(*HARMS.values())
    assert [one for one in found if one[1] in harms] == []
    assert len({seed for seed, *_ in found}) <= TOLERATED, found


def test_a_case_depends_on_its_name_only() -> None:
    """The same name gives the same case, and other names give other cases."""
    assert mutate.case(seeds(), "fixed:0:7") == mutate.case(seeds(), "fixed:0:7")
    assert len({mutate.case(seeds(), f"fixed:0:{number}").body for number in range(50)}) > 40


@pytest.mark.parametrize("request_body", [ABSENT, None, {"tools": []}])
def test_a_saved_case_is_loaded(tmp_path: Path, request_body: object) -> None:
    """A saved case is loaded with all options; a body without a `.case` file gets safe repairs."""
    case = Case("ollama", b"{}\n\xff", "application/x-ndjson", "/api/chat", request_body, ("safe",), ("crlf",), "reset")
    case = replace(case, intended=(("f", "{}"),))
    assert load(save(case, tmp_path / "x", why="a reason")) == case
    (tmp_path / "y.sse").write_bytes(b"data: x")
    assert load(tmp_path / "y.sse").repair == ("safe",)


def test_a_violation_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrinking removes events and options that the complaint does not need; intended calls keep the body."""
    monkeypatch.setitem(INVARIANTS, "no-exception", lambda outcome: ["found"] if b"[DONE]" in outcome.case.body else [])
    case = Case("openai-chat", b'data: {"choices":[]}\n\n' * 9 + b"data: [DONE]\n\n", request={}, shape=("crlf",))
    small = shrunk(case, Violation("no-exception", "found"))
    assert (small.body, small.request, small.shape) == (b"data: [DONE]\n\n", ABSENT, ())
    monkeypatch.setitem(INVARIANTS, "no-exception", lambda outcome: ["found"] if outcome.case.intended else [])
    known = replace(case, intended=(("f", "{}"),))
    assert shrunk(known, Violation("no-exception", "found")).body == case.body


def test_an_interrupt_ends_workers_that_are_being_started() -> None:
    """An interrupt ends a worker that is forked at that moment, although the signal is not pending in the child."""
    before = signal.getsignal(signal.SIGINT)
    try:
        note_interrupts()
        drawn = until(names("1", 0), math.inf)
        assert next(drawn)
        worker = multiprocessing.get_context("fork").Process(target=deque, args=(drawn, 0))
        worker.start()
        signal.raise_signal(signal.SIGINT)
        worker.join(60)
        worker.kill()
    finally:
        signal.signal(signal.SIGINT, before)
    assert worker.exitcode == 0
    assert not list(drawn)


def test_an_interrupt_ends_the_hunt_with_a_report(tmp_path: Path) -> None:
    """An interrupt of all processes, as Ctrl-C sends it, ends the hunt, and the results so far are printed."""
    command: list[str | Path] = [
        sys.executable,
        ROOT / "scripts" / "fuzz.py",
        "--minutes",
        "9",
        "--invariant",
        "no-exception",
    ]
    process = subprocess.Popen([*command, "--out", tmp_path], stdout=subprocess.PIPE, text=True, start_new_session=True)
    with process:
        assert process.stdout is not None
        assert "Ctrl-C" in process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        output = process.stdout.read()
    assert process.returncode == 0
    assert re.match(r"\d+ streams in \d+ s", output)


def test_the_rates_of_streams_with_one_defect_are_printed() -> None:
    """For streams with one defect, the rates of each group of `HARMS` and of each invariant are printed."""
    command = [
        sys.executable,
        str(ROOT / "scripts" / "fuzz.py"),
        "--defects",
        "1",
        "--cases",
        "20",
        "--protocol",
        "ollama",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()[3:]]
    assert lines == [["0", "0.00", name] for name in (*HARMS, *INVARIANTS)]
    assert result.stdout.splitlines()[1].startswith("20 streams in ")
