"""One test for many small cases: it runs them all and names each one that fails. Knows pytest.

A test costs pytest several milliseconds, in each process that collects it too; many cases need less than one.
"""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

type Invariant = Callable[..., None]


class Case(NamedTuple):
    """The arguments of one run of an invariant, and the test that it belongs to."""

    group: str
    arguments: tuple[Any, ...]


def grouped(cases: Iterable[Case]) -> Callable[[Invariant], Invariant]:
    """Make an invariant over single cases a test over groups of them; the failures of a group are raised together.

    Arguments after those of its cases are fixtures, which the cases of a group share.
    """
    groups: dict[str, list[tuple[Any, ...]]] = {}
    for case in cases:
        groups.setdefault(case.group, []).append(case.arguments)
    taken = len(next(iter(groups.values()))[0])

    def decorate(invariant: Invariant) -> Invariant:
        def test(each: list[tuple[Any, ...]], **fixtures: Any) -> None:
            failed = [error for arguments in each if (error := _failure(invariant, arguments, fixtures))]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(each)} cases", failed)

        test.__name__, test.__doc__ = invariant.__name__, invariant.__doc__
        # What pytest reads the names of fixtures from.
        asked = [*signature(invariant).parameters.values()][taken:]
        test.__signature__ = Signature([Parameter("each", Parameter.POSITIONAL_OR_KEYWORD), *asked])  # type: ignore[attr-defined]
        marked: Invariant = pytest.mark.parametrize("each", groups.values(), ids=groups)(test)
        return marked

    return decorate


def _failure(invariant: Invariant, arguments: tuple[Any, ...], fixtures: Mapping[str, Any]) -> Exception | None:
    try:
        invariant(*arguments, **fixtures)
    except Exception as error:  # noqa: BLE001 - raised with those of the other cases
        error.add_note(f"in the case {', '.join(map(str, arguments))}")
        return error
    return None
