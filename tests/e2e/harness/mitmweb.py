"""A real mitmweb and its HTTP API, and a client that loses arguments."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final, Self

import httpx2

from tests.e2e.harness import samples
from tests.e2e.harness.mitmdump import Mitmdump
from tests.e2e.harness.samples import NAME
from tests.e2e.harness.script import Answer, Send

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.upstream import Upstream
    from tests.e2e.harness.versions import Version

PASSWORD: Final = "token"
TOKEN: Final = "ab" * 16
"""What a page shows that it may change something: the same as a cookie and as a header."""
SECRET: Final = "sk-verysecretvalue123456789012345678"


class Web:
    """mitmweb and its HTTP API."""

    def __init__(self, version: Version, confdir: Path, **options: str) -> None:
        """Not started yet."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        web = {"web_port": str(port), "web_open_browser": "false", "web_password": PASSWORD}
        self.proxy = Mitmdump({**web, **options}, confdir=confdir)
        self.proxy.program = version.program.with_name("mitmweb")
        cookies = {"_xsrf": TOKEN, "_mitmproxy_xsrf": TOKEN}  # the names of older and newer versions
        self.address = f"http://127.0.0.1:{port}/?token={PASSWORD}"
        """Where a browser finds it."""
        self._http = httpx2.Client(base_url=f"http://127.0.0.1:{port}", params={"token": PASSWORD}, cookies=cookies)

    def __enter__(self) -> Self:
        """Start it."""
        self.proxy.start()
        self.proxy.wait_for("Web server listening")
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop it."""
        self._http.close()
        self.proxy.stop()

    def flows(self) -> list[dict[str, Any]]:
        """The list of flows."""
        found: list[dict[str, Any]] = self._http.get("/flows").raise_for_status().json()
        return found

    def shown(self, flow: dict[str, Any], message: str, view: str = "auto") -> dict[str, Any]:
        """A message in a content view."""
        path = f"/flows/{flow['id']}/{message}/content/{view}.json"
        found: dict[str, Any] = self._http.get(path).raise_for_status().json()
        return found

    def body(self, flow: dict[str, Any]) -> bytes:
        """The body of a response as it is shown."""
        return self._http.get(f"/flows/{flow['id']}/response/content.data").raise_for_status().content

    def saved(self) -> bytes:
        """The flow file that *Save* gives."""
        return self._http.get("/flows/dump").raise_for_status().content

    def open(self, file: Path) -> None:
        """Load a flow file in place of the list of flows, as *File > Open* does."""
        self._http.post(
            "/flows/dump", files={"file": file.read_bytes()}, headers={"X-XSRFToken": TOKEN}
        ).raise_for_status()

    def command(self, name: str, *arguments: str) -> dict[str, Any]:
        """What a command of the command bar gives."""
        said = self._http.post(f"/commands/{name}", json={"arguments": [*arguments]}, headers={"X-XSRFToken": TOKEN})
        found: dict[str, Any] = said.raise_for_status().json()
        return found


def request_for(upstream: Upstream, sample: Sample, *messages: dict[str, Any]) -> dict[str, Any]:
    """The URL, headers and body of a request for a response."""
    headers = upstream.plan(Answer(tuple(map(Send, sample.pieces)), content_type=sample.content_type)).headers
    return {
        "url": f"{upstream.url}{sample.path}",
        "json": {**sample.request, "messages": [{"role": "user", "content": "weather"}, *messages]},
        "headers": {**headers, "authorization": f"Bearer {SECRET}"},
    }


def ask(web: Web, upstream: Upstream, sample: Sample, *messages: dict[str, Any]) -> bytes:
    """Ask for a response through the proxy; what the client got."""
    with httpx2.Client(proxy=web.proxy.url) as http:
        return http.post(**request_for(upstream, sample, *messages)).content


def without_arguments(sample: Sample) -> list[dict[str, Any]]:
    """What a client returns that lost the arguments."""
    function = {"name": NAME, "arguments": "{}"}
    return [
        {"role": "assistant", "tool_calls": [{"id": sample.call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": sample.call_id, "content": "rain"},
    ]


def turns() -> tuple[Sample, Sample]:
    """A response that a client misreads, and the one to its next request."""
    first, second = (samples.openai_chat(f"mitmweb {turn}", "Lugano") for turn in "ab")
    return first, second


def misread(web: Web, upstream: Upstream) -> Sample:
    """Let a client lose the arguments of a call, and wait for the verdict; the response that it misread."""
    sample, after = turns()
    assert ask(web, upstream, sample) == b"".join(sample.pieces)
    ask(web, upstream, after, *without_arguments(sample))
    web.proxy.wait_for("verdict returned-without-arguments")
    return sample
