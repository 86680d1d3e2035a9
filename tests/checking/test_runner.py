"""The saved state of a check, and the options that it tries for a client."""

from __future__ import annotations

import stat
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.checking.cases import Case, Kind
from toolstream_core.checking.runner import CheckState, candidates
from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from pathlib import Path


HEADER = {"clients": {"a": ["python"]}, "calls": ("x",)}


def test_finished_cases_are_kept(tmp_path: Path) -> None:
    """They are kept also if the last line is truncated. The file has mode 0600."""
    path = tmp_path / "state"
    with CheckState(path, HEADER) as state:
        state.add(("a", "p/fault/x"), {"id": "p/fault/x", "grade": "ok"})
        state.add(("b", "p/fault/x"), {"id": "p/fault/x", "grade": "failed"})
    with path.open("a") as file:
        file.write('{"client": "a", "ca')
    with CheckState(path, HEADER) as state:
        assert state.get(("a", "p/fault/x")) == {"id": "p/fault/x", "grade": "ok"}
        assert state.get(("b", "p/fault/x")) == {"id": "p/fault/x", "grade": "failed"}
        assert state.get(("a", "p/fault/y")) is None
        state.add(("a", "p/fault/y"), {"id": "p/fault/y", "grade": "ok"})
    with CheckState(path, HEADER) as state:
        assert state.get(("a", "p/fault/y")) is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_state_of_another_check_is_an_error(tmp_path: Path) -> None:
    """So is any other file."""
    path = tmp_path / "state"
    CheckState(path, HEADER).__exit__()
    with pytest.raises(ToolstreamError, match="belongs to another command"):
        CheckState(path, {**HEADER, "calls": ()})
    path.write_text("hello\n")
    with pytest.raises(ToolstreamError, match="is not a state file of"):
        CheckState(path, HEADER)


def test_without_a_file_the_state_is_in_memory() -> None:
    """It is kept for this run."""
    with CheckState() as state:
        state.add(("a", "i"), {"id": "i", "grade": "ok"})
        assert state.get(("a", "i")) is not None


def case(kind: str, name: str) -> Case:
    """A case with this kind and name."""
    return Case(protocol="openai-chat", kind=Kind(kind), name=name, title="")


def exchanges(*advised: tuple[str, ...], protocol: str = "openai-chat", calls: int = 0) -> Any:
    """An exchange without a verdict, and exchanges with verdicts that have this advice."""
    verdicts = [None, *(SimpleNamespace(advice=one) for one in advised)]
    request = SimpleNamespace(protocol=protocol)
    return [SimpleNamespace(verdict=one, request=request, calls=[None] * calls) for one in verdicts]


ALL_SAFE = "--set toolstream_repair=safe"


@pytest.mark.parametrize(
    ("failed", "options"),
    [
        (case("fault", "late-id"), ["--set toolstream_repair=late-id", ALL_SAFE]),
        (case("preset", "openclaw"), ["--set toolstream_repair=empty-id,empty-name", ALL_SAFE]),
        (case("fault", "missing-calls"), [ALL_SAFE]),
        (case("fault", "lost-arguments"), [ALL_SAFE]),
        (case("shape", "whole-calls"), []),
        (case("transit", "stall"), []),
    ],
)
def test_safe_repairs_of_the_injected_faults_are_tried(failed: Case, options: list[str]) -> None:
    """Unsafe repairs are not."""
    assert candidates(failed, exchanges(())) == options


def test_the_advice_of_a_verdict_is_tried_before_all_repairs() -> None:
    """Only the first option of a verdict is tried, and a shape after the repair of the fault."""
    shape, repair = "--set toolstream_shape=a", "--set toolstream_repair=late-id"
    found = exchanges((), (shape, "--set toolstream_shape=b"), ("--set toolstream_shape=c",))
    assert candidates(case("fault", "late-id"), found) == [repair, shape, ALL_SAFE]
    assert candidates(case("fault", "late-id"), exchanges((repair,))) == [repair, ALL_SAFE]
    other = "--set toolstream_repair=empty-id"
    assert candidates(case("fault", "late-id"), exchanges((other,))) == [other, repair, ALL_SAFE]


def test_whole_calls_are_tried_last() -> None:
    """They are tried if there are calls, since a client that crashed on fragments may read them."""
    whole_calls = "--set toolstream_shape=whole-calls"
    assert candidates(case("healthy", "healthy"), exchanges(calls=1)) == [whole_calls]
    assert candidates(case("fault", "late-id"), exchanges(calls=1)) == [
        "--set toolstream_repair=late-id",
        ALL_SAFE,
        whole_calls,
    ]
    assert candidates(case("healthy", "healthy"), exchanges(calls=1, protocol="ollama")) == []


def test_the_shape_that_undoes_another_is_tried() -> None:
    """If a framing shape fails, plain lines; for other shapes they are not tried."""
    plain_lines = "--set toolstream_shape=plain-lines"
    whole_calls = "--set toolstream_shape=whole-calls"  # rewritten events have plain lines too, but text has not
    assert candidates(case("shape", "no-space"), exchanges(calls=1)) == [plain_lines, whole_calls]
    assert plain_lines not in candidates(case("shape", "tiny-fragments"), exchanges(()))
    for name, undone in (("calls-in-one-event", "one-call-per-event"), ("finish-with-calls", "finish-apart")):
        assert candidates(case("shape", name), exchanges(())) == [f"--set toolstream_shape={undone}"]
    of_preset = candidates(case("preset", "gemini-openai"), exchanges(()))[-1]
    assert of_preset == "--set toolstream_repair=safe --set toolstream_shape=finish-apart"


def test_no_option_is_tried_with_the_real_provider() -> None:
    """Each run costs money there."""
    failed = case("fault", "late-id")
    assert candidates(failed, exchanges(("--set toolstream_shape=a",)), upstream=True) == []
    assert candidates(failed, exchanges(("--set toolstream_shape=a",))) != []
