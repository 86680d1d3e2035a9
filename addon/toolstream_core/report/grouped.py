"""Answers of which the same is to be said, taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence


def together[Told: Hashable](told: Mapping[int, Told]) -> dict[Told, list[int]]:
    """The numbers of the answers of which the same is to be said."""
    numbers: dict[Told, list[int]] = {}
    for number, one in told.items():
        numbers.setdefault(one, []).append(number)
    return numbers


def numbered(numbers: Sequence[int]) -> str:
    """Answers by their numbers: `response 2`, `responses 0, 1 and 2`."""
    *most, last = map(str, numbers)
    return f"responses {', '.join(most)} and {last}" if most else f"response {last}"
