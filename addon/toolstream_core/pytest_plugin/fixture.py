"""The marker and the fixture `toolstream`, and the proxy that serves them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolstream_core.errors import ToolstreamError
from toolstream_core.protocols.registry import PROTOCOLS, named
from toolstream_core.pytest_plugin.flow_items import USED
from toolstream_core.saved import demo
from toolstream_core.synthetic.responses import PREFIX, parse_calls
from toolstream_core.testing import ProxySession, ProxySessionError, Setup
from toolstream_core.testing.environment import REMOVED, provider_variables
from toolstream_core.testing.exchanges import FoundDefect, ProxiedExchange, SentCall, SentRequest, to_llms
from toolstream_core.testing.understanding import incomplete_calls, misunderstood, sources, unanswered


class Environment:
    """Sets variables; `restore` resets each that has the value that was set here."""

    def __init__(self, variables: Mapping[str, str], removed: Iterable[str]) -> None:
        self._variables = dict(variables)
        self._removed = tuple(removed)
        self._before: dict[str, str | None] = {}
        self._opener: Any = None

    def set(self) -> None:
        names = (*self._variables, *self._removed)
        self._before = {name: os.environ.get(name) for name in names}
        os.environ.update(self._variables)
        for name in self._removed:
            os.environ.pop(name, None)
        self._opener = _swap_opener(None)

    def restore(self, *, everything: bool = True) -> None:
        """Restore the earlier values; without `everything`, only of variables with the value that was set here."""
        for name, value in self._before.items():
            if not everything and os.environ.get(name) != self._variables.get(name):
                continue
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if everything:
            _swap_opener(self._opener)


def _swap_opener(opener: Any) -> Any:
    """Give `urlopen` another opener, and return the previous one: it keeps the proxies that it found at its first use.

    Python has a function to set it, but none to get it.
    """
    module = sys.modules.get("urllib.request")
    if module is None:
        return None
    before = vars(module).get("_opener")
    module.install_opener(opener)
    return before


_CHANGES = ("fault", "repair", "shape")
_OTHERS = {"speed": (int, float), "strict": (bool,), "seed": (int,), "provider_repeats": (int,)}

type Words = str | Iterable[str | None] | None
"""One word, several, or none; `None` among them is ignored, for use as a parameter."""


def setup_of(item: pytest.Item) -> Setup:
    """The options of all markers of a test; for the same option, the marker nearest to the test counts."""
    values: dict[str, Any] = {}
    for mark in item.iter_markers("toolstream"):
        responses = _responses(mark.args, item) if mark.args and not {"flows", "calls"} & {*values} else {}
        values = {**_checked(mark.kwargs), **responses, **values}
    return Setup(**values)


def words(*given: Words) -> tuple[str, ...]:
    """The words without `None`."""
    listed = [(one,) if one is None or isinstance(one, str) else tuple(one) for one in given]
    return tuple(word for one in listed for word in one if word is not None)


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    known = {*_CHANGES, *_OTHERS}
    for name, value in values.items():
        if name not in known:
            raise pytest.UsageError(
                f"marker toolstream: unknown argument {name!r}; expected {', '.join(sorted(known))}"
            )
        if name in _OTHERS and not isinstance(value, _OTHERS[name]):
            raise pytest.UsageError(f"marker toolstream: {name}={value!r} must be a {_OTHERS[name][0].__name__}")
    return {name: words(value) if name in _CHANGES else value for name, value in values.items()}


def _responses(given: Iterable[str | Path], item: pytest.Item) -> dict[str, Any]:
    """The source of responses: calls, written as `calls:…`, or saved flows."""
    calls = [one for one in given if isinstance(one, str) and one.startswith(PREFIX)]
    flows = tuple(_found(one, item) for one in given if one not in calls)
    if calls and flows:
        raise pytest.UsageError(f"marker toolstream: give either calls: or flows, not {calls[0]!r} and {flows[0]}")
    try:
        parse_calls(calls)
    except ToolstreamError as error:
        raise pytest.UsageError(f"marker toolstream: {error}") from error
    return {"calls": tuple(filter(None, (one.removeprefix(PREFIX) for one in calls)))} if calls else {"flows": flows}


def _found(given: str | Path, item: pytest.Item) -> Path:
    """The path itself, or in the folder of the test's file, or in the root."""
    if demo.is_demo(given):
        if unknown := demo.unknown(given):
            raise pytest.UsageError(f"the marker toolstream: {unknown}")
        return Path(given)
    wanted = Path(given).expanduser()
    tried = [folder / wanted for folder in (item.path.parent, item.config.rootpath)]
    for path in tried:
        if path.exists():
            return path
    places = " and ".join(str(path) for path in dict.fromkeys(tried))
    raise pytest.UsageError(f"marker toolstream: no such file: {str(given)!r}; tried {places}")


class Toolstream:
    """A provider made of saved flows, for one test.

    Its clients need no network and no key: base URLs, proxy and certificate are in the environment.
    """

    def __init__(self, proxy: ProxySession, setup: Setup, network: str, root: Path) -> None:
        """`setup` is from the test's markers; paths are shown relative to `root`."""
        self._proxy = proxy
        self.setup = replace(setup, network=network)
        """The current settings of the proxy."""
        self.root = root
        try:
            proxy.reset(self.setup)
        except ProxySessionError as error:
            raise pytest.UsageError(f"toolstream: {error}") from None
        self.env = proxy.environment()
        """The environment variables that are set for this test."""

    def fault(self, *specs: Words) -> None:
        """From now on, inject these faults and no others: `NAME[:key=value,…]`; `None` for none."""
        self._change(fault=words(*specs))

    def repair(self, *defects: Words) -> None:
        """From now on, repair these defects and no others: names, codes, families, or `safe`."""
        self._change(repair=words(*defects))

    def shape(self, *shapes: Words) -> None:
        """From now on, encode responses in these valid forms: shapes, or `for:CLIENT`."""
        self._change(shape=words(*shapes))

    @property
    def proxy_url(self) -> str:
        """The URL of the proxy."""
        return self._proxy.proxy_url

    @property
    def ca_file(self) -> Path:
        """The certificate authority, as PEM, for clients that need it as a parameter."""
        return self._proxy.ca_file

    def base_url(self, protocol: str) -> str:
        """The base URL for clients of a protocol; `protocol` is its name in reports."""
        return self._proxy.base_url(protocol)

    @property
    def exchanges(self) -> list[ProxiedExchange]:
        """All requests of this test so far with their responses, including those to other servers than LLMs."""
        return self._proxy.exchanges()

    @property
    def requests(self) -> list[SentRequest]:
        """The requests to LLMs, in order: `json`, `protocol`, `model`, and `calls` and `results` from the history."""
        return [one.request for one in to_llms(self.exchanges)]

    @property
    def calls(self) -> list[SentCall]:
        """The intended calls of all responses, in order."""
        return [call for one in self.exchanges for call in one.calls]

    @property
    def findings(self) -> list[FoundDefect]:
        """The findings of all responses, including those from this test's faults."""
        return [finding for one in self.exchanges for finding in one.findings]

    @property
    def log(self) -> list[str]:
        """The lines that toolstream logged."""
        return self._proxy.log()

    def assert_understood(self) -> None:
        """Fails unless the client's next request contains every intended call with its result."""
        __tracebackhide__ = True
        self._fail_with("the client misread the response", misunderstood(self.exchanges, self.distrust()))

    def assert_no_incomplete_call(self) -> None:
        """Fails if the client returned an incomplete call, or a result for one."""
        __tracebackhide__ = True
        self._fail_with("the client returned an incomplete call", incomplete_calls(self.exchanges, self.distrust()))

    assert_no_half_call = assert_no_incomplete_call
    """The former name, for one version."""

    def _fail_with(self, what: str, lines: list[str]) -> None:
        __tracebackhide__ = True
        if lines:
            head = [what] if unanswered(self.exchanges) is None else []
            raise AssertionError("\n".join([*head, *lines]))

    def distrust(self) -> dict[str, bool]:
        """The servers whose certificate clients rejected, if no request to an LLM arrived; `False`: they may have."""
        return {} if self.requests else self._proxy.distrust()

    def _change(self, **changes: tuple[str, ...]) -> None:
        setup = replace(self.setup, **changes)  # type: ignore[arg-type]  # only fault, repair and shape come here
        try:
            self._proxy.configure(setup)
        except ProxySessionError as error:
            raise ValueError(str(error)) from None
        self.setup = setup


_PORT = 8765


def reproduction(item: pytest.Item, current: Toolstream) -> str:
    """The commands, then the proxy's report on the responses."""
    relative = replace(current.setup, flows=tuple(map(_relative, current.setup.flows)))
    arguments = shlex.join(relative.arguments())
    spoken = [named(one.protocol) for one in current.requests if one.protocol] or [PROTOCOLS[0]]
    variables = provider_variables(f"http://127.0.0.1:{_PORT}")
    where = [name for one in spoken for name in (one.api.base_url_variables[0], one.api.key_variables[0])]
    names = dict.fromkeys(name for name in where if name in variables)
    lines = [reason] if not current.exchanges and (reason := unanswered([], current.distrust())) else []
    if current.setup.flows:
        lines += [
            "To reproduce this outside pytest:",
            f"  toolstream serve {arguments} --port {_PORT}",
            f"  export {' '.join(f'{name}={variables[name]}' for name in names)}",
            "or with the command of your client:",
            f"  toolstream run {arguments} -- COMMAND",
        ]
    else:
        example = f"flows/{item.name.partition('[')[0]}.flow"
        lines += [f"This test has no saved flows; give some, as in @pytest.mark.toolstream({example!r})"]
    responded = [f"request {one.request.number} {one.comment}" for one in current.exchanges if one.comment]
    log_lines = [*responded, *current.log]
    return "\n".join([*lines, *(["The proxy reported:", *(f"  {line}" for line in log_lines)] if log_lines else [])])


def _relative(path: Path) -> Path:
    """A path relative to pytest's start folder, if it is inside."""
    here = os.path.relpath(path.resolve())
    return path.resolve() if here.startswith(os.pardir) else Path(here)


class Provider:
    """A separate plugin, registered if a test uses the fixture."""

    def __init__(self, config: pytest.Config) -> None:
        self.proxy = ProxySession()
        self._network = "none" if config.getoption("toolstream_block_network") else "loopback"
        self._block = config.pluginmanager.get_plugin("toolstream-network")
        self._environment: Environment | None = None
        self._current: Toolstream | None = None

    def provide(self, item: pytest.Item) -> Iterator[Toolstream]:
        """The fixture of one test: resets the proxy, and sets the environment until the test is over."""
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
        """Restore the environment again after all fixtures: `monkeypatch` may have set ours again."""
        try:
            return (yield)
        finally:
            if self._environment is not None:
                self._environment.restore(everything=False)
            self._environment = self._current = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note which flows a test used; if it failed, print how to reproduce it."""
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
        self.proxy.stop()

    @staticmethod
    def _used(current: Toolstream) -> list[str]:
        named = {str(path.resolve()) for path in current.setup.flows if path.is_file()}
        return sorted(named | sources(current.exchanges))
