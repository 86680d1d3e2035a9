"""The marker `toolstream`: which flows answer a test's clients, and how."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.errors import ToolstreamError
from toolstream_core.sources import demo
from toolstream_core.synthetic.call_specs import PREFIX, parse_calls
from toolstream_core.testing import Setup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CHANGES = ("fault", "repair", "shape")
_OTHERS = {"speed": (int, float), "strict": (bool,), "seed": (int,), "provider_repeats": (int,)}

type Words = str | Iterable[str | None] | None
"""One word, several, or none; `None` among them is nothing, so that it can be a parameter."""


def setup_of(item: pytest.Item) -> Setup:
    """What the markers of a test say together; where two say the same, the one nearest to the test counts."""
    said: dict[str, Any] = {}
    for mark in item.iter_markers("toolstream"):
        answers = _answers(mark.args, item) if mark.args and not {"flows", "calls"} & {*said} else {}
        said = {**_checked(mark.kwargs), **answers, **said}
    return Setup(**said)


def words(*given: Words) -> tuple[str, ...]:
    """The words that are there."""
    listed = [(one,) if one is None or isinstance(one, str) else tuple(one) for one in given]
    return tuple(word for one in listed for word in one if word is not None)


def _checked(said: Mapping[str, Any]) -> dict[str, Any]:
    known = {*_CHANGES, *_OTHERS} & {field.name for field in fields(Setup)}
    for name, value in said.items():
        if name not in known:
            raise pytest.UsageError(
                f"marker toolstream: unknown argument {name!r}; expected {', '.join(sorted(known))}"
            )
        if name in _OTHERS and not isinstance(value, _OTHERS[name]):
            raise pytest.UsageError(f"marker toolstream: {name}={value!r} must be a {_OTHERS[name][0].__name__}")
    return {name: words(value) if name in _CHANGES else value for name, value in said.items()}


def _answers(given: Iterable[str | Path], item: pytest.Item) -> dict[str, Any]:
    """What answers: calls, written as `calls:…`, or saved flows."""
    calls = [one for one in given if isinstance(one, str) and one.startswith(PREFIX)]
    flows = tuple(_found(one, item) for one in given if one not in calls)
    if calls and flows:
        raise pytest.UsageError(f"marker toolstream: give either calls: or flows, not {calls[0]!r} and {flows[0]}")
    try:
        parse_calls(calls)
    except ToolstreamError as error:
        raise pytest.UsageError(f"marker toolstream: {error}") from error
    return {"calls": tuple(filter(None, (one.removeprefix(PREFIX) for one in calls)))} if calls else {"flows": flows}


def _found(given: str | Path, item: pytest.Item) -> Path:
    """The path as it is, in the folder of the test's file, or in the root."""
    if demo.is_demo(given):
        if unknown := demo.unknown(given):
            raise pytest.UsageError(f"the marker toolstream: {unknown}")
        return Path(given)
    wanted = Path(given).expanduser()
    tried = [folder / wanted for folder in (item.path.parent, item.config.rootpath)]
    for path in tried:
        if path.exists():
            return path
    places = " and ".join(str(path) for path in dict.fromkeys(tried))
    raise pytest.UsageError(f"marker toolstream: no such file: {str(given)!r}; tried {places}")
