"""A fixed part of the hunt: the same streams every time, from what lies with the project."""

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
from tests.fuzz.hunt import Broken, broken, names, note_interrupts, shrunk, until
from tests.fuzz.invariants import HARMS, INVARIANTS
from toolstream_core.model import ABSENT

ROOT = Path(__file__).resolve().parents[2]

PARTS = 8
CASES = 90
"""Of each part."""
RARE = 1
"""Streams of a part that may break an invariant which harms nobody; `scripts/fuzz` measures how many do."""


@pytest.mark.parametrize("part", range(PARTS))
def test_no_mutated_stream_breaks_a_invariant(part: int) -> None:
    """`scripts/fuzz` looks further, and makes what it finds small."""
    drawn = names("fixed", part)
    mutants = [mutate.case(seeds(), next(drawn)) for _ in range(CASES)]
    found = [(case.seed, *one) for case in mutants for one in broken(case)]
    harms = frozenset().union(*HARMS.values())
    assert [one for one in found if one[1] in harms] == []
    assert len({seed for seed, *_ in found}) <= RARE, found


def test_a_case_is_drawn_the_same_every_time() -> None:
    """Its name is all that is needed."""
    assert mutate.case(seeds(), "fixed:0:7") == mutate.case(seeds(), "fixed:0:7")
    assert len({mutate.case(seeds(), f"fixed:0:{number}").body for number in range(50)}) > 40


@pytest.mark.parametrize("request_body", [ABSENT, None, {"tools": []}])
def test_a_case_is_written_and_read(tmp_path: Path, request_body: object) -> None:
    """With all that was switched on."""
    case = Case("ollama", b"{}\n\xff", "application/x-ndjson", "/api/chat", request_body, ("safe",), ("crlf",), "reset")
    case = replace(case, intended=(("f", "{}"),))
    assert load(save(case, tmp_path / "x", why="it was so")) == case
    (tmp_path / "y.sse").write_bytes(b"data: x")
    assert load(tmp_path / "y.sse").repair == ("safe",)


def test_what_breaks_a_invariant_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that the complaint does not need go, and so does what is switched on."""
    monkeypatch.setitem(INVARIANTS, "no-exception", lambda seen: ["seen"] if b"[DONE]" in seen.case.body else [])
    case = Case("openai-chat", b'data: {"choices":[]}\n\n' * 9 + b"data: [DONE]\n\n", request={}, shape=("crlf",))
    small = shrunk(case, Broken("no-exception", "seen"))
    assert (small.body, small.request, small.shape) == (b"data: [DONE]\n\n", ABSENT, ())
    monkeypatch.setitem(INVARIANTS, "no-exception", lambda seen: ["seen"] if seen.case.intended else [])
    known = replace(case, intended=(("f", "{}"),))
    assert shrunk(known, Broken("no-exception", "seen")).body == case.body


def test_an_interrupt_ends_workers_that_are_started_just_then() -> None:
    """A signal that the parent process gets shortly before a fork is not pending in the child."""
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


def test_an_interrupt_ends_the_hunt_and_what_was_found_is_counted(tmp_path: Path) -> None:
    """In all processes at once, as Ctrl-C does."""
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
        told = process.stdout.read()
    assert process.returncode == 0
    assert re.match(r"\d+ streams in \d+ s", told)


def test_the_rates_of_streams_with_one_defect_are_printed() -> None:
    """Exceptions, calls completed that were not, calls or text lost, and each invariant."""
    command = [
        sys.executable,
        str(ROOT / "scripts" / "fuzz.py"),
        "--defects",
        "1",
        "--cases",
        "20",
        "--dialect",
        "ollama",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()[3:]]
    assert lines == [["0", "0.00", name] for name in (*HARMS, *INVARIANTS)]
    assert result.stdout.splitlines()[1].startswith("20 streams in ")
