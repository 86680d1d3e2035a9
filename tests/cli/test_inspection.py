from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.cli.inspection import CLEAN, FOUND, UNREADABLE, Inspection
from toolstream_core.cli.printer import TextPrinter
from toolstream_core.model import Exchange
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.sources.saved import Saved, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from toolstream_core.model import Finding, Record

GOOD = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
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
    return Saved(exchange=Exchange(source=source), chunks=chunks, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ((answer(GOOD),), CLEAN),
        ((answer(b"nothing"),), CLEAN),
        ((), CLEAN),
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
        ((), "no LLM stream in x"),
        ((answer(b"data: {}\n\n"),), "no LLM stream in x"),
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
    assert capsys.readouterr().err == "toolstream: no LLM stream in standard input\n"


def test_a_folder_without_streams_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its files are passed over in silence."""
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    inspected(answer(b"nothing"), path=str(tmp_path))
    assert capsys.readouterr().err == f"toolstream: no LLM stream in {tmp_path}\n"


def test_a_bug_of_ours_is_told_and_the_next_answer_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a traceback, and never with exit code 0."""

    class Failing(TextPrinter):
        def add(self, record: Record, hide: object) -> None:
            raise KeyError(record.source)

    lines: list[str] = []
    answers = holding(answer(GOOD), answer(GOOD, source="x#1"))
    inspection = Inspection(Failing(lines.append), answers, every, PROTOCOLS)
    inspection.read("x")
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in told] == ["x#0", "x#1"]
    assert all("bug of toolstream" in line and "KeyError" in line for line in told)
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

    inspection, _ = inspected(Saved(exchange=Exchange(source="x"), chunks=endless()))
    assert inspection.close(exit_zero=False) == CLEAN
