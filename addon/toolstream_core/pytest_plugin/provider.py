"""One proxy for all tests of a process: each test's setup and environment, and what a failing test tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.pytest_plugin.environment import Environment
from toolstream_core.pytest_plugin.fixture import Toolstream
from toolstream_core.pytest_plugin.flows import USED
from toolstream_core.pytest_plugin.marker import setup_of
from toolstream_core.pytest_plugin.reproduction import reproduction
from toolstream_core.testing import ProxySession, ProxySessionError
from toolstream_core.testing.environment import REMOVED
from toolstream_core.testing.understanding import sources

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


class Provider:
    """A plugin of its own, registered where a test uses the fixture."""

    def __init__(self, config: pytest.Config) -> None:
        """The proxy starts when it is first used."""
        self.proxy = ProxySession()
        self._network = "none" if config.getoption("toolstream_block_network") else "loopback"
        self._block = config.pluginmanager.get_plugin("toolstream-network")
        self._environment: Environment | None = None
        self._current: Toolstream | None = None

    def provide(self, item: pytest.Item) -> Iterator[Toolstream]:
        """The fixture of one test: the proxy as if new, the environment until the test is over."""
        try:
            current = Toolstream(self.proxy, setup_of(item), self._network, item.config.rootpath)
        except pytest.UsageError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        if self._block is not None:
            self._block.allow(self.proxy.port)
        self._environment = Environment(current.env, REMOVED)
        self._environment.set()
        self._current = current
        try:
            yield current
        finally:
            self._environment.restore()
            if self._block is not None:
                self._block.forbid()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        """Put the environment back once more when all fixtures are gone: `monkeypatch` may have brought ours back."""
        try:
            return (yield)
        finally:
            if self._environment is not None:
                self._environment.restore(everything=False)
            self._environment = self._current = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note which flows a test used; where it failed, tell how to see it again."""
        report = yield
        current = self._current
        if current is None or report.when == "teardown":
            return report
        try:
            if report.when == "call":
                vars(report)[USED] = self._used(current)
            if report.failed:
                report.sections.append(("toolstream", reproduction(item, current)))
        except ProxySessionError as error:
            report.sections.append(("toolstream", str(error)))
        return report

    def pytest_unconfigure(self) -> None:
        """Stop the proxy."""
        self.proxy.stop()

    @staticmethod
    def _used(current: Toolstream) -> list[str]:
        named = {str(path.resolve()) for path in current.setup.flows if path.is_file()}
        return sorted(named | sources(current.exchanges))
