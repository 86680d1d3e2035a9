"""A headless Chromium, where there is one, told what to do through a pipe (Chrome DevTools Protocol)."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 30.0
"""Seconds for an answer, the start included."""
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1400,900",
    "--remote-debugging-pipe",
)


# The protocol's pipes are file descriptors 3 and 4.
_LAUNCH = """
import fcntl, os, sys
orders, answers = (fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3])
os.dup2(orders, 3)
os.dup2(answers, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One process and one tab."""

    def __init__(self, command: str, profile: Path) -> None:
        """Start it; what it keeps lies in the folder `profile`."""
        profile_argument = f"--user-data-dir={profile}"
        orders, self._write = os.pipe()
        self._read, answers = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, *map(str, (orders, answers)), command, *ARGUMENTS, profile_argument],
            pass_fds=(orders, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(orders)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        """What the tab reported: requests, exceptions, messages on its console."""

    def __enter__(self) -> Self:
        """Open the tab."""
        try:
            self._open_tab()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _open_tab(self) -> None:
        tab = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.ask(f"{domain}.enable")
        self.ask("Performance.enable", timeDomain="threadTicks")

    def __exit__(self, *raised: object) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._write)
        os.close(self._read)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The browser's reply to a command; what it reports meanwhile is kept in `events`."""
        self._number += 1
        order = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            order["sessionId"] = self._session
        os.write(self._write, json.dumps(order).encode() + b"\0")
        while (message := self._message()).get("id") != self._number:
            self.events.append(message)
        assert "error" not in message, message["error"]
        reply: dict[str, Any] = message["result"]
        return reply

    def _message(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser ended"
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def open(self, path: Path, place: str = "") -> None:
        """Show a file, anew also where it is the one that is shown."""
        self.ask("Page.navigate", url="about:blank")
        self.events.clear()
        self.ask("Page.navigate", url=f"{path.as_uri()}{place}")
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression in the page is true."""
        deadline = time.monotonic() + PATIENCE
        while self.run(expression) is not True:
            assert time.monotonic() < deadline, f"the page does not come to {expression}"

    def run(self, expression: str) -> Any:
        """The value of an expression in the page, as JSON."""
        reply = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def work(self) -> float:
        """Seconds of processor time that the page has taken since it was opened; others' load does not count."""
        metrics = self.ask("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    def texts(self, selector: str) -> list[str]:
        """The text of each element that can be seen, its white space made single spaces."""
        shown = f"[...document.querySelectorAll({json.dumps(selector)})].filter((one) => one.checkVisibility())"
        found: list[str] = self.run(f"{shown}.map((one) => one.innerText)")
        return [" ".join(text.split()) for text in found]

    def press(self, key: str, text: str = "", modifiers: int = 0) -> None:
        """A key, as a person presses it; `modifiers` are the protocol's (2 is Ctrl)."""
        common = {"key": key, "code": key, "modifiers": modifiers, "windowsVirtualKeyCode": _CODES.get(key, 0)}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Each character as a key."""
        for character in text:
            self.press(character, character)

    def picture(self) -> bytes:
        """What is shown, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])


_CODES = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
