from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from toolstream_core.cli.inspect import CLEAN, FOUND, UNREADABLE, Inspection, TextPrinter
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.saved.exchange import Saved, UnreadableError
from toolstream_core.saved.files import READABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolstream_core.model import Finding, Json, Record

GOOD = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
CALL = (
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":'
    b'{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
)
CUT = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'


def holding(*answers: Saved | Exception) -> Callable[[str], Iterator[Saved]]:
    """Reads a file that holds these answers."""

    def saved(file: str) -> Iterator[Saved]:
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
            yield answer

    return saved


def every(finding: Finding) -> bool:
    """Keep all findings."""
    return True


def no(finding: Finding) -> bool:
    """Keep none."""
    return False


def _ignore(line: str) -> None:
    del line


def inspected(
    *answers: Saved | Exception, keeps: Callable[[Finding], bool] = every, path: str = "x"
) -> tuple[Inspection, list[str]]:
    """An inspection of one file that holds these answers, and the lines it printed."""
    lines: list[str] = []
    inspection = Inspection(TextPrinter(lines.append, chunks=True), holding(*answers), keeps, PROTOCOLS)
    inspection.read(path)
    return inspection, lines


def answer(*chunks: bytes, source: str = "x#0", **more: object) -> Saved:
    """A saved answer."""
    return Saved(exchange=StreamFacts(source=source), chunks=chunks, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ((answer(GOOD),), CLEAN),
        ((answer(b"nothing"),), UNREADABLE),
        ((), UNREADABLE),
        ((answer(CUT),), FOUND),
        ((answer(CUT), answer(GOOD)), FOUND),
        ((answer(GOOD), UnreadableError("is corrupt")), UNREADABLE),
        ((answer(CUT), answer(missing="its body is away")), UNREADABLE),
    ],
)
def test_the_worst_decides_the_exit_code(answers: tuple[Saved | Exception, ...], code: int) -> None:
    """What could not be read may hide anything, so it is worse than a finding."""
    inspection, _ = inspected(*answers)
    assert inspection.close(exit_zero=False) == code


def test_exit_zero_forgives_findings_only() -> None:
    """Input that cannot be read stays an error."""
    assert inspected(answer(CUT))[0].close(exit_zero=True) == CLEAN
    assert inspected(UnreadableError("is corrupt"))[0].close(exit_zero=True) == UNREADABLE


def test_findings_that_nobody_wants_are_neither_told_nor_counted() -> None:
    """The rest of the stream is told as ever."""
    inspection, lines = inspected(answer(CUT), keeps=no)
    assert inspection.close(exit_zero=False) == CLEAN
    assert not any("TS" in line for line in lines)
    assert any("1 event" in line for line in lines)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ((), f"x contains no LLM response. Expected {READABLE}"),
        ((answer(b"data: {}\n\n"),), f"x contains no LLM response. Expected {READABLE}"),
        ((UnreadableError("is corrupt"),), "x is corrupt"),
        ((answer(missing="its body is away"),), "x#0 cannot be read: its body is away"),
        ((answer(GOOD),), None),
    ],
)
def test_standard_error_tells_what_is_not_there(
    answers: tuple[Saved | Exception, ...], told: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, by the name that the user gave."""
    inspected(*answers)
    assert capsys.readouterr().err.splitlines() == ([f"toolstream: {told}"] if told else [])


def test_standard_input_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """A hyphen alone would tell nobody."""
    inspected(path="-")
    assert capsys.readouterr().err == f"toolstream: standard input contains no LLM response. Expected {READABLE}\n"


def test_files_of_a_folder_without_a_response_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, and they are no error."""
    for number in range(12):
        (tmp_path / f"{number:02}").touch()
    inspection, _ = inspected(answer(b"nothing"), path=str(tmp_path))
    assert inspection.close(exit_zero=False) == CLEAN
    names = ", ".join(f"{number:02}" for number in range(10))
    told = f"toolstream: {tmp_path}: skipped 12 files without an LLM response: {names} and 2 more\n"
    assert capsys.readouterr().err == told


def test_a_bug_of_ours_is_told_and_the_next_answer_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a traceback, and never with exit code 0."""

    class Failing(TextPrinter):
        def add(self, record: Record, hide: object) -> None:
            raise KeyError(f"{record.source} planted-words")

    lines: list[str] = []
    answers = holding(answer(GOOD), answer(GOOD, source="x#1"))
    inspection = Inspection(Failing(lines.append), answers, every, PROTOCOLS)
    inspection.read("x")
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in told] == ["x#0", "x#1"]
    assert all("a bug in toolstream: KeyError at test_inspection.py:" in line for line in told)
    assert not any("planted" in line for line in told)
    assert inspection.close(exit_zero=True) == UNREADABLE


def test_output_that_nobody_reads_ends_it() -> None:
    """It is no bug of ours."""

    def closed(line: str) -> None:
        raise BrokenPipeError

    inspection = Inspection(TextPrinter(closed, chunks=False), holding(answer(GOOD)), every, PROTOCOLS)
    with pytest.raises(BrokenPipeError):
        inspection.read("x")


def test_chunks_have_the_times_at_which_they_came() -> None:
    """Where somebody noted them."""
    halves = (CUT, GOOD)
    _, timed = inspected(answer(*halves, times=(3, 250)))
    _, untimed = inspected(answer(*halves))
    assert timed[2] == "#1  +250ms event 1    finish stop"
    assert untimed[2] == "#1         event 1    finish stop"


def test_what_the_request_carried_is_hidden() -> None:
    """Wherever the answer repeats it."""
    body = GOOD.replace(b'"stop"', b'"the-key-of-the-request"')
    _, lines = inspected(answer(body, secrets=("the-key-of-the-request",)))
    assert any("[redacted]" in line for line in lines)
    assert not any("the-key" in line for line in lines)


def test_no_more_is_taken_of_a_file_than_it_takes_to_know_that_it_is_none() -> None:
    """A folder may hold large files of other people's."""

    def endless() -> Iterator[bytes]:
        yield b"\x7fELF"
        raise AssertionError

    inspection, _ = inspected(Saved(exchange=StreamFacts(source="x"), chunks=endless()))
    assert inspection.close(exit_zero=False) == UNREADABLE


def test_a_folder_of_our_own_files_named_one_by_one_is_no_error(tmp_path: Path) -> None:
    """As a shell does with `captures/*`: expectations and the files beside a bare response belong to these."""
    (tmp_path / "a.flow").touch()
    (tmp_path / "a.expect.json").touch()
    inspection, _ = inspected(answer(GOOD), path=str(tmp_path / "a.flow"))
    for name in ("a.expect.json", "b.expect.json"):
        other = Inspection(TextPrinter(_ignore), holding(), every, PROTOCOLS)
        other.read(str(tmp_path / name))
        assert other.close(exit_zero=False) == (CLEAN if name.startswith("a") else UNREADABLE)
    assert inspection.close(exit_zero=False) == CLEAN


def test_bodies_of_earlier_responses_are_not_kept_beyond_a_bound() -> None:
    """However many responses a file holds, and whether or not a request follows them."""

    def request(number: int) -> Json:
        return {"model": "m", "stream": True, "messages": [{"role": "user", "content": f"{number}"}]}

    size = 8 << 20

    def many() -> Iterator[Saved]:
        for number in range(24):
            exchange = StreamFacts(source=f"x#{number}", path="/v1/chat/completions", request=request(number))
            yield Saved(exchange=exchange, chunks=(CALL, *[b":" + b" " * 65_533 + b"\n\n"] * (size >> 16)))

    tracemalloc.start()
    try:
        inspection = Inspection(TextPrinter(_ignore), lambda _: many(), every, PROTOCOLS)
        inspection.read("x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < peak < 12 * size
    assert inspection.close(exit_zero=True) == CLEAN
