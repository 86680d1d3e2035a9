"""Saved flows as test items: read, resolve, compare with what is expected."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.errors import ToolstreamError
from toolstream_core.pytest_plugin.flows import WRITTEN, Flows, said_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolstream_core.fixtures.expectation import Expectation


class FlowMismatch(Exception):  # noqa: N818 - what a test found, not an error
    """A flow that is not read as it is expected; the message is for people."""


class FlowFile(pytest.File):
    """A flow file; it has one test."""

    def collect(self) -> Iterator[FlowItem]:
        """The test of its expectation."""
        yield FlowItem.from_parent(self, name="expectation")


class FlowItem(pytest.Item):
    """Whether a flow is read as its `.expect.json` says."""

    def runtest(self) -> None:
        """Compare, or write what is expected where that is asked for. Raises `FlowMismatch`."""
        fixtures, expectation = _modules()
        try:
            found = expectation.expectation_of(fixtures.load(self.path))
        except ToolstreamError as error:
            raise FlowMismatch(str(error)) from None
        path = expectation.expect_path(self.path)
        here, flow = said_path(path, self.config), said_path(self.path, self.config)
        if not path.exists():
            if not self._writes("create", path, found):
                command = f"pytest --toolstream-update=create {flow}"
                raise FlowMismatch(f"{flow} has no expectation {here}.\nCreate it, then review it: {command}")
            return
        try:
            told = expectation.differences(expectation.read_expectation(path), found)
            newer = False
        except ToolstreamError as error:
            told, newer = [str(error)], "newer" in str(error)
        if told and (newer or not self._writes("fix", path, found)):
            hint = "" if newer else f"\nIf the new result is right: pytest --toolstream-update=fix {flow}"
            raise FlowMismatch(
                "\n".join([f"{flow} differs from its expectation {here}:", *(f"  {one}" for one in told)]) + hint
            )

    def _writes(self, mode: str, path: Path, found: Expectation) -> bool:
        flows = self.config.pluginmanager.get_plugin("toolstream-flows")
        if not isinstance(flows, Flows) or mode not in flows.modes:
            return False
        from toolstream_core.fixtures.atomic import write_atomic
        from toolstream_core.fixtures.expectation import dumps

        write_atomic(path, dumps(found).encode(), replace=True)
        what = {"create": "created", "fix": "fixed"}[mode]
        self.stash[WRITTEN] = [f"{what} {said_path(path, self.config)}"]
        return True

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What differs, without the way through this file."""
        if isinstance(excinfo.value, FlowMismatch):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """For the head of a failure."""
        return self.path, None, f"{said_path(self.path, self.config)}"


def _modules() -> tuple[Any, Any]:
    """What reads flows. mitmproxy comes with them, and what it warns of is not this test's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from toolstream_core import fixtures
        from toolstream_core.fixtures import expectation

    return fixtures, expectation
