"""The fixture `toolstream`: what a test says to the proxy, and asks of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from toolstream_core.pytest_plugin.marker import words
from toolstream_core.testing import ProxySessionError
from toolstream_core.testing.understanding import incomplete_calls, misunderstood, unanswered

if TYPE_CHECKING:
    from pathlib import Path

    from toolstream_core.pytest_plugin.marker import Words
    from toolstream_core.testing import ProxySession, Setup
    from toolstream_core.testing.exchanges import Exchange, SentCall, SentRequest
    from toolstream_core.testing.found import FoundDefect


class Toolstream:
    """A provider made of saved flows, for one test.

    Its clients need no network and no key: base URLs, proxy and certificate are in the environment.
    """

    def __init__(self, proxy: ProxySession, setup: Setup, network: str, root: Path) -> None:
        """`setup` is what the test's markers say; `root` is what paths are shown relative to."""
        self._proxy = proxy
        self.setup = replace(setup, network=network)
        """What the proxy does now."""
        self.root = root
        try:
            proxy.reset(self.setup)
        except ProxySessionError as error:
            raise pytest.UsageError(f"toolstream: {error}") from None
        self.env = proxy.environment()
        """The environment variables that are set for this test."""

    def fault(self, *specs: Words) -> None:
        """Cause these defects from here on, and no others: `NAME[:key=value,…]`. `None` is no fault."""
        self._change(fault=words(*specs))

    def repair(self, *defects: Words) -> None:
        """Repair these defects from here on, and no others: names, codes, families, or `safe`."""
        self._change(repair=words(*defects))

    def shape(self, *shapes: Words) -> None:
        """Say answers in these other lawful ways from here on: shapes, or `for:CLIENT`."""
        self._change(shape=words(*shapes))

    @property
    def proxy_url(self) -> str:
        """For clients that are given a proxy."""
        return self._proxy.proxy_url

    @property
    def ca_file(self) -> Path:
        """The certificate authority, as PEM, for clients that are given one."""
        return self._proxy.ca_file

    def base_url(self, protocol: str) -> str:
        """For clients that are given a base URL; `protocol` is the name of one, as reports say it."""
        return self._proxy.base_url(protocol)

    @property
    def exchanges(self) -> list[Exchange]:
        """All requests of this test so far with their answers, other requests than an LLM's too."""
        return self._proxy.exchanges()

    @property
    def requests(self) -> list[SentRequest]:
        """What clients asked LLMs, in order: `json`, `protocol`, `model`, and of the history `calls` and `results`."""
        return self._proxy.requests

    @property
    def calls(self) -> list[SentCall]:
        """The calls that clients were sent, in order, as the streams meant them."""
        return self._proxy.calls

    @property
    def findings(self) -> list[FoundDefect]:
        """What was wrong with the answers, faults of this test included."""
        return self._proxy.findings

    @property
    def log(self) -> list[str]:
        """What toolstream tells of the answers."""
        return self._proxy.log()

    def assert_understood(self) -> None:
        """Fails unless the client's next request contains every intended call with its result."""
        __tracebackhide__ = True
        self._fail_with("the client misread the response", misunderstood(self.exchanges))

    def assert_no_incomplete_call(self) -> None:
        """Fails if the client returned an incomplete call, or a result for one."""
        __tracebackhide__ = True
        self._fail_with("the client returned an incomplete call", incomplete_calls(self.exchanges))

    assert_no_half_call = assert_no_incomplete_call
    """The former name, for one version."""

    def _fail_with(self, what: str, lines: list[str]) -> None:
        __tracebackhide__ = True
        if lines:
            head = [what] if unanswered(self.exchanges) is None else []
            raise AssertionError("\n".join([*head, *lines]))

    def _change(self, **changes: tuple[str, ...]) -> None:
        setup = replace(self.setup, **changes)  # type: ignore[arg-type]  # only fault, repair and shape come here
        try:
            self._proxy.configure(setup)
        except ProxySessionError as error:
            raise ValueError(str(error)) from None
        self.setup = setup
