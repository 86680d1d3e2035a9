"""The fixture of the tests of mitmproxy's interfaces. Knows pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.proxy.ui.interfaces import Interface, interface

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def mitm() -> Iterator[Interface]:
    """Yield an interface of mitmproxy with toolstream."""
    with interface() as started:
        yield started
