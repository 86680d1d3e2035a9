"""What the tests of commands share. Knows pytest."""

from __future__ import annotations

import pytest

from tests.cli.inspected import Inspect


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]) -> Inspect:
    """`toolstream inspect` in this process."""
    return Inspect(capsys)
