"""Refuses every connection of this process except those to the fixture's proxy."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Generator
from typing import Any

import pytest

_INTERNET = (socket.AF_INET, socket.AF_INET6)


class BlockedConnectionError(RuntimeError):
    """A connection that `--toolstream-block-network` refuses; names the host and the test."""


class NetworkBlock:
    """A separate plugin, registered with the option: guards Python's sockets, and therefore asyncio's loops.

    The environment directs child processes to the proxy, which has no network then.
    """

    def __init__(self) -> None:
        self._port: int | None = None
        self._running = "no test"
        self._refused: list[str] = []
        self._patches = pytest.MonkeyPatch()

    def allow(self, port: int) -> None:
        self._port = port

    def forbid(self) -> None:
        self._port = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Guard the functions that connect or resolve names."""
        for name in ("connect", "connect_ex"):
            self._patch(socket.socket, name, self._connecting)
        self._patch(socket.socket, "sendto", self._sending)
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
            self._patch(socket, name, self._resolving)

    def pytest_unconfigure(self) -> None:
        self._patches.undo()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._running, self._refused = item.nodeid, []
        try:
            return (yield)
        finally:
            self._running = "no test"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Print a failing test's refused connections: clients often suppress errors."""
        report = yield
        if report.failed and self._refused:
            report.sections.append(("refused connections", "\n".join(dict.fromkeys(self._refused))))
        return report

    def _patch(self, owner: Any, name: str, guard: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self._patches.setattr(owner, name, guard(getattr(owner, name)))

    def _connecting(self, connect: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(sock: socket.socket, address: Any, /) -> Any:
            self._check(sock, address)
            return connect(sock, address)

        return guarded

    def _sending(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(sock: socket.socket, data: Any, *more: Any) -> Any:
            self._check(sock, more[-1])
            return send(sock, data, *more)

        return guarded

    def _resolving(self, resolve: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(host: Any, *more: Any, **named: Any) -> Any:
            name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
            if isinstance(name, str) and not _is_here(name):
                self._refuse(f"{name}:{more[0]}" if more and more[0] else name)
            return resolve(host, *more, **named)

        return guarded

    def _check(self, sock: socket.socket, address: Any) -> None:
        if sock.family not in _INTERNET:
            return
        host, port = address[:2]
        if not (_is_here(str(host)) and port == self._port):
            sock.close()  # the caller expects an OSError, and would forget it
            self._refuse(f"{host}:{port}")

    def _refuse(self, where: str) -> None:
        self._refused.append(where)
        raise BlockedConnectionError(
            f"--toolstream-block-network refuses the connection to {where}, in {self._running}; "
            "only the toolstream fixture's proxy is allowed"
        )


def _is_here(host: str) -> bool:
    """Whether a name or address can mean this machine; addresses are never resolved, and are judged by `connect`."""
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
