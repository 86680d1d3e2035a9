"""What may not be late, on a machine that is: it is asked for again, a few times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPTS = 10
"""How often something is asked for that only a busy machine makes late."""


def soon[Arrived](ask: Callable[[], Arrived], is_soon: Callable[[Arrived], bool]) -> Arrived:
    """The first answer that is not late: some are on a busy machine, all are where the proxy is to blame."""
    for _ in range(ATTEMPTS):
        if is_soon(arrived := ask()):
            return arrived
    pytest.fail(f"late {ATTEMPTS} times out of {ATTEMPTS}")
