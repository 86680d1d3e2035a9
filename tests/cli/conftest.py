"""Fixtures of the tests of commands. Knows pytest."""

from __future__ import annotations

import pytest

from tests.cli.inspected import Inspect


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]) -> Inspect:
    """Run `toolstream inspect` in this process."""
    return Inspect(capsys)
