"""Runs many small cases as one test that names each failed case.

A pytest item costs several milliseconds in each worker that collects it; many cases need less than one.
"""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

type Invariant = Callable[..., None]


class Case(NamedTuple):
    """The arguments of one run of an invariant, and the name of its test."""

    group: str
    arguments: tuple[Any, ...]


def grouped(cases: Iterable[Case]) -> Callable[[Invariant], Invariant]:
    """Turn an invariant of one case into a test of groups of cases that raises all failures of a group together.

    Further parameters of the invariant are fixtures, which the cases of a group share.
    """
    groups: dict[str, list[tuple[Any, ...]]] = {}
    for case in cases:
        groups.setdefault(case.group, []).append(case.arguments)
    count = len(next(iter(groups.values()))[0])

    def decorate(invariant: Invariant) -> Invariant:
        def test(each: list[tuple[Any, ...]], **fixtures: Any) -> None:
            failed = [error for arguments in each if (error := _failure(invariant, arguments, fixtures))]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(each)} cases", failed)

        test.__name__, test.__doc__ = invariant.__name__, invariant.__doc__
        # pytest reads the names of fixtures from the signature.
        fixture_parameters = [*signature(invariant).parameters.values()][count:]
        test.__signature__ = Signature([Parameter("each", Parameter.POSITIONAL_OR_KEYWORD), *fixture_parameters])  # type: ignore[attr-defined]
        parametrized: Invariant = pytest.mark.parametrize("each", groups.values(), ids=groups)(test)
        return parametrized

    return decorate


def _failure(invariant: Invariant, arguments: tuple[Any, ...], fixtures: Mapping[str, Any]) -> Exception | None:
    try:
        invariant(*arguments, **fixtures)
    except Exception as error:  # noqa: BLE001 - raised with those of the other cases
        error.add_note(f"in the case {', '.join(map(str, arguments))}")
        return error
    return None
