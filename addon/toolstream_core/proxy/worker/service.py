"""Orders and replies of the worker, one JSON object a line, over its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import IO, Any, Self, override

from mitmproxy import exceptions, options
from mitmproxy.addons import core, disable_h2c, next_layer, proxyserver, termlog, tlsconfig, upstream_auth
from mitmproxy.master import Master

from toolstream_core.model import Json
from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.gate import Gate
from toolstream_core.proxy.options import OURS
from toolstream_core.proxy.worker.network import Forward, Guard, Network
from toolstream_core.proxy.worker.records import Ledger, LogKeeper, Tally
from toolstream_core.proxy.worker.trust import Trust
from toolstream_core.redact import raised_at
from toolstream_core.report.verdict import as_flags


class Channel:
    """Reads orders in a thread, because standard input cannot be awaited everywhere; replies are written at once."""

    def __init__(self, orders: int, replies: IO[bytes]) -> None:
        """`orders` is a file descriptor; nothing is read before `listen`."""
        self._orders = orders
        self._replies = replies
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    @classmethod
    def of_this_process(cls) -> Self:
        """Use standard output for replies: all other output goes to standard error from here on."""
        replies = os.fdopen(os.dup(1), "wb", buffering=0)
        sys.stdout.flush()
        os.dup2(2, 1)
        return cls(0, replies)

    def listen(self) -> None:
        """Begin to read, for the event loop that runs now."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), daemon=True).start()

    async def order(self) -> dict[str, Any] | None:
        """The next order; `None` after the last."""
        return await self._queue.get()

    def reply(self, message: Json) -> None:
        """Write one reply. The reader may have gone."""
        try:
            self._replies.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except OSError:
            self._queue.put_nowait(None)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Without Python's buffers: a thread that waits in one of them is an error when Python ends."""
        held = b""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            while data := os.read(self._orders, 65536):
                *lines, held = (held + data).split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(self._queue.put_nowait, json.loads(line))
            loop.call_soon_threadsafe(self._queue.put_nowait, None)


HOST = "127.0.0.1"
SETTLING = 0.5
"""Seconds to wait for running responses before they are reported incomplete."""
EXPLAINING = 5.0
"""Seconds to wait for the explanations of verdicts at the end."""
_TURN = 0.005


def serve(channel: Channel) -> None:
    """Carry out orders until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the starting process decides what Ctrl-C ends
    asyncio.run(_serve(channel))


async def _serve(channel: Channel) -> None:
    channel.listen()
    first = await channel.order()
    if first is None:
        return
    try:
        service = Service(first)
        port = await service.start()
    except (exceptions.OptionsError, OSError, KeyError, ServiceError) as error:
        channel.reply({"error": _one_line(error)})
        return
    channel.reply({"port": port, "view": service.view_address})
    await service.work(channel)
    # The starting process may have been killed, and the folder contains a private key.
    shutil.rmtree(first["confdir"], ignore_errors=True)


class _LogHandler(termlog.TermLogHandler):
    @override
    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(SystemExit):
            super().emit(record)


class _Log(termlog.TermLog):
    """mitmproxy's log, which ends the process where it cannot be written. Here, traffic goes on."""

    def __init__(self) -> None:
        self.logger = _LogHandler()
        self.logger.install()


class ServiceError(RuntimeError):
    """The proxy cannot listen; the message is the reason."""


class Service:
    """A proxy that carries out orders."""

    def __init__(self, order: dict[str, Any]) -> None:
        """`order` has the values with which it starts.

        `port`, `set` (as of `--set`), `network`, `keep` (whether requests and responses are kept; else they are
        counted), `routes` (as of `Forward`).
        """
        self._keep = bool(order["keep"])
        self._network = Network(order["network"])
        self._wanted: list[str] = order["set"]
        base = options.Options(listen_host=HOST, listen_port=order["port"], confdir=order["confdir"])
        self._master = Master(base)
        self._server = proxyserver.Proxyserver()
        self._ours: list[object] = []
        self._guard = Guard(self._network)
        self._forward = Forward(order["routes"])
        self._port = 0
        self._ledger = Ledger()
        self._tally = Tally()
        self._trust = Trust()
        self._addon: ToolstreamAddon
        self._log = LogKeeper(self._ledger)
        self._orders: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "reset": self._reset,
            "configure": self._configure,
            "exchanges": self._report,
            "distrust": self._distrust,
            "finish": self._finish,
            "view": self._view,
            "accompany": self._accompany,
        }
        self._finished = False
        self._accompanied: int | None = None
        """The process that ends when the process that started this one ends."""

    async def start(self) -> int:
        """Listen; the port. Raises `OptionsError` for a wrong option, `ServiceError` if the port is taken."""
        self._master.addons.add(
            core.Core(),
            disable_h2c.DisableH2C(),
            self._server,
            next_layer.NextLayer(),
            tlsconfig.TlsConfig(),
            upstream_auth.UpstreamAuth(),
        )
        logging.getLogger().addHandler(self._log)
        self._master.addons.add(self._forward)
        self._add_ours()
        self._master.options.set(*self._wanted)
        if not await self._server.setup_servers():
            port = self._master.options.listen_port
            why = f"port {port} is in use; name another, or 0 for any free port" if port else self._ledger.log[-1]
            raise ServiceError(f"the proxy cannot listen on {HOST}: {why}")
        self._master.addons.add(_Log())
        self._master.options.update(termlog_verbosity="warn")
        await self._master.running()
        self._port = self._guard.port = self._forward.port = self._server.listen_addrs()[0][1]
        return self._port

    @property
    def view_address(self) -> str | None:
        """The address of the live view, if it is on."""
        return None if self._addon.served is None else self._addon.served.address

    async def work(self, channel: Channel) -> None:
        """Carry out orders one after the other; their end, or SIGTERM, ends the proxy."""
        stopped = asyncio.ensure_future(self._until_terminated())
        while True:
            waiting = asyncio.ensure_future(channel.order())
            await asyncio.wait({waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            order = waiting.result() if waiting.done() else None
            if order is None:
                self._end_accompanied(orphaned=waiting.done())
                break
            channel.reply(await self._carry_out(order))
        stopped.cancel()
        if not self._finished:
            await self._master.done()

    async def _carry_out(self, order: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"done": await self._orders[order["do"]](order)}
        except exceptions.OptionsError as error:
            return {"error": _one_line(error)}
        except Exception as error:  # noqa: BLE001 - the starting process gets it, and may continue
            return {"error": f"internal error: {raised_at(error)}"}

    async def _reset(self, order: dict[str, Any]) -> None:
        """Start over with other options: without connections, state and kept requests."""
        await self._close_clients()
        self._master.options.update(**{name: self._master.options.default(name) for name in OURS})
        for addon in [*reversed(self._ours), self._master.addons.get(Gate.name)]:
            self._master.addons.remove(addon)
        self._ledger = self._log.ledger = Ledger()
        self._network = Network(order["network"])
        self._add_ours(order["understood"])
        self._master.options.set(*order["set"])

    async def _configure(self, order: dict[str, Any]) -> None:
        self._master.options.set(*order["set"])

    async def _report(self, order: dict[str, Any]) -> dict[str, Any]:
        """The requests and responses, when no response is in flight, or after `SETTLING`."""
        await _settle(lambda: not self._ledger.waiting)
        missing = {one.reported.source: self._ledger.verdict(one.reported) for one in self._addon.verdicts.missing()}
        bodies = bool(order.get("bodies"))
        exchanges = [
            {"verdict": missing.get(flow), **one.as_json(bodies=bodies)} for flow, one in self._ledger.entries.items()
        ]
        return {"exchanges": exchanges, "log": self._ledger.log}

    async def _distrust(self, order: dict[str, Any]) -> dict[str, bool]:
        """The servers whose certificate clients rejected, when all clients have gone, or after a timeout."""
        del order
        await _settle(lambda: not self._server.connections)
        return self._trust.rejected

    async def _accompany(self, order: dict[str, Any]) -> None:
        self._accompanied = order["pid"]

    def _end_accompanied(self, *, orphaned: bool) -> None:
        """End the client process if its parent cannot do it any more."""
        if orphaned and self._accompanied is not None:
            with contextlib.suppress(OSError):
                os.kill(self._accompanied, signal.SIGTERM)

    async def _finish(self, order: dict[str, Any]) -> dict[str, Any]:
        """End the responses in flight, and report the counts."""
        del order
        await self._close_clients()
        self._addon.disconnected()
        await _settle(lambda: not self._addon.verdicts.waiting, EXPLAINING)
        self._finished = True
        await self._master.done()
        captured = [str(path) for path in self._addon.capture.written]
        return {**self._tally.as_json(), "distrust": self._trust.rejected, "captured": captured}

    async def _view(self, order: dict[str, Any]) -> str | None:
        """The client has ended: the page, or, once no viewer has been connected for so many seconds, nothing."""
        served = self._addon.served
        if served is None:
            return None
        served.view.end()
        if order["idle"] is None:
            return await asyncio.to_thread(served.view.finished_page)
        await served.unwatched(order["idle"])
        return None

    def _add_ours(self, understood: int = 0) -> None:
        counters = self._ledger if self._keep else self._tally
        addon = self._addon = ToolstreamAddon(
            counters.listeners,
            counters.judged,
            syntax=as_flags,
            ids_kept=self._keep,
            gated=True,
            understood=understood,
        )
        first: list[object] = [self._ledger] if self._keep else []
        last: list[object] = [self._ledger.last if self._keep else self._tally]
        self._guard = Guard(self._network)
        self._guard.port = self._port
        self._trust = Trust()
        self._ours = [*first, addon, self._guard, self._trust, *last]
        self._master.addons.add(*self._ours)
        addon.configure(set(self._master.options.keys()))
        addon.running()

    async def _close_clients(self) -> None:
        """End all connections of clients: nothing of an earlier test continues."""
        for handler in list(self._server.connections.values()):
            transport = handler.transports.get(handler.client)
            if transport is not None and transport.writer is not None:
                transport.writer.close()
        await _settle(lambda: not self._server.connections)

    async def _until_terminated(self) -> None:
        ended = asyncio.Event()
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        await ended.wait()


async def _settle(done: Callable[[], bool], seconds: float = SETTLING) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not done() and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110 - mitmproxy has no event for it
        await asyncio.sleep(_TURN)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
