"""Retries a measurement that a busy machine can delay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPTS = 10
"""The number of attempts."""


def soon[Result](attempt: Callable[[], Result], is_soon: Callable[[Result], bool]) -> Result:
    """The first result that is in time. If all are late, the proxy is the cause, not the machine."""
    for _ in range(ATTEMPTS):
        if is_soon(result := attempt()):
            return result
    pytest.fail(f"late {ATTEMPTS} times out of {ATTEMPTS}")
