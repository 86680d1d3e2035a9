"""Streams that once came out worse than they went in, where they are at hand: what has to come out of each."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.conftest import needs_shared, shared_dir
from tests.fuzz.case import Case
from tests.fuzz.hunt import broken
from tests.fuzz.invariants import OF_AN_END, Seen
from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_shared
RESET = "the connection was reset"


@cache
def streams() -> dict[str, Path]:
    """By file name."""
    folder = shared_dir()
    return {path.name: path for path in sorted((folder / "repro").glob("*.sse"))} if folder else {}


FRAGMENTS = ("msg-fragments.sse", "writer-unstreamed.broken.sse")


def case(name: str, end: str | None = None) -> Case:
    """Safe repairs of a file, with its request where it has one."""
    path = streams()[name]
    asked = path.with_suffix(".request.json")
    request = json.loads(asked.read_text(encoding="utf-8")) if asked.exists() else ABSENT
    return Case("", path.read_bytes(), "text/event-stream", request=request, broken=end)


def through(name: str) -> Seen:
    """What becomes of a file."""
    return Seen(case(name))


def complete(seen: Seen) -> list[tuple[str, object]]:
    """The calls that are whole behind the repairs."""
    return [(name, json.loads(arguments)) for name, arguments, whole in seen.reread.calls if whole]


@pytest.mark.parametrize("end", [None, RESET], ids=["clean", "broken"])
@pytest.mark.parametrize("name", streams())
def test_no_invariant_is_broken(name: str, end: str | None) -> None:
    """With an end that is clean, and one that is not."""
    assert list(broken(case(name, end), OF_AN_END)) == []


@pytest.mark.parametrize("name", [name for name in streams() if name.startswith("trunc-")])
def test_a_header_alone_is_no_call(name: str) -> None:
    """It is told that the stream ends, and nothing is whole."""
    seen = through(name)
    assert "truncated-stream" in seen.off.names
    assert [whole for _, _, whole in seen.off.calls] == [False]
    assert complete(seen) == []
    assert not seen.changed.over


HEADLESS = (
    "double-encoded-cut-anthropic",
    "double-encoded-cut-chat",
    "no-audit-anthropic",
    *(
        f"calls-changed-{name}"
        for name in ("changing-stream-id", "cut-off-call-empty-id", "empty-id", "unclosed-call", "unknown-block")
    ),
    "calls-changed-missing-id",
)


@pytest.mark.parametrize("name", HEADLESS)
def test_arguments_whose_head_is_lost_go_out(name: str) -> None:
    """As they were said; the call stays not whole."""
    seen = through(f"{name}.sse")
    said = [call.text for call in seen.changed.calls.values()]
    assert said == [call.text for call in seen.raw.calls.values()]
    assert complete(seen) == complete_before(seen)


def complete_before(seen: Seen) -> list[tuple[str, object]]:
    """The calls that a plain client has whole from the raw bytes."""
    return [(call.name, call.value) for call in seen.raw.calls.values() if call.value is not None]


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments_of_a_message_are_fragments(name: str) -> None:
    """The calls are whole, and not `{}`."""
    seen = through(name)
    plain = [(call.name, call.value) for call in seen.changed.calls.values()]
    assert plain == complete(seen) != []
    assert all(value for _, value in plain)


def test_null_from_a_tool_without_parameters_is_an_empty_object() -> None:
    """The finish stays."""
    seen = through("null-arguments-no-parameter-tool.sse")
    assert [call.value for call in seen.changed.calls.values()] == [{}]
    assert seen.off.record is not None
    assert seen.reread.record is not None
    assert seen.reread.record.finish == seen.off.record.finish


def test_no_delta_goes_out_twice() -> None:
    """Neither where the name came late."""
    seen = through("late-name-noargs-responses.broken.sse")
    assert seen.on.out.count(b'"delta":"{}"') == 1


def test_one_stream_has_one_id() -> None:
    """Or as many as it came with."""
    seen = through("changing-stream-id-partial.sse")
    assert len({block.payload["id"] for block in seen.mended_cut.blocks if isinstance(block.payload, dict)}) == 1


@pytest.mark.parametrize("name", [name for name in streams() if name.startswith("resumed-")])
def test_a_resumed_stream_is_left_alone(name: str) -> None:
    """Its head came before."""
    seen = through(name)
    assert seen.on.out == seen.case.body


def test_items_of_one_call_are_one_call() -> None:
    """Whatever punctuation one of them is."""
    seen = through("ipf.broken.sse")
    assert len(complete(seen)) == len(seen.changed.calls) == 1


def test_a_header_behind_the_finish_names_its_call() -> None:
    """The name is nowhere else."""
    seen = through("nat-chat-header-after-finish.sse")
    assert [call.name for call in seen.changed.calls.values()] == [name for name, _, _ in seen.off.calls] != [""]


@pytest.mark.parametrize("name", [name for name in streams() if "trailing-garbage" in name])
def test_garbage_goes_behind_an_object_only(name: str) -> None:
    """`2}` is not made a whole `2`."""
    seen = through(name)
    assert [call.text for call in seen.changed.calls.values()] == [call.text for call in seen.raw.calls.values()]
