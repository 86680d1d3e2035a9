"""A real mitmweb and its HTTP API, and a client that loses arguments."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final, Self

import httpx2

from tests.e2e.harness import samples
from tests.e2e.harness.mitmdump import Mitmdump
from tests.e2e.harness.samples import NAME
from tests.e2e.harness.script import Response, Send

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.upstream import Upstream
    from tests.e2e.harness.versions import Version

PASSWORD: Final = "token"
TOKEN: Final = "ab" * 16
"""The CSRF token: sent as a cookie and as a header."""
SECRET: Final = "sk-verysecretvalue123456789012345678"


class Web:
    """mitmweb and its HTTP API."""

    def __init__(self, version: Version, confdir: Path, **options: str) -> None:
        """Prepare it; `with` starts it."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        web = {"web_port": str(port), "web_open_browser": "false", "web_password": PASSWORD}
        self.proxy = Mitmdump({**web, **options}, confdir=confdir)
        self.proxy.program = version.program.with_name("mitmweb")
        cookies = {"_xsrf": TOKEN, "_mitmproxy_xsrf": TOKEN}  # the names of older and newer versions
        self.address = f"http://127.0.0.1:{port}/?token={PASSWORD}"
        """The URL for a browser."""
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
        """The flow list."""
        found: list[dict[str, Any]] = self._http.get("/flows").raise_for_status().json()
        return found

    def shown(self, flow: dict[str, Any], message: str, view: str = "auto") -> dict[str, Any]:
        """A message as a content view shows it."""
        path = f"/flows/{flow['id']}/{message}/content/{view}.json"
        found: dict[str, Any] = self._http.get(path).raise_for_status().json()
        return found

    def body(self, flow: dict[str, Any]) -> bytes:
        """The body of a response as mitmweb shows it."""
        return self._http.get(f"/flows/{flow['id']}/response/content.data").raise_for_status().content

    def saved(self) -> bytes:
        """The flow file that *Save* returns."""
        return self._http.get("/flows/dump").raise_for_status().content

    def open(self, file: Path) -> None:
        """Replace the flow list with a flow file, as *File > Open* does."""
        self._http.post(
            "/flows/dump", files={"file": file.read_bytes()}, headers={"X-XSRFToken": TOKEN}
        ).raise_for_status()

    def command(self, name: str, *arguments: str) -> dict[str, Any]:
        """Run a command of the command bar, and return its result."""
        reply = self._http.post(f"/commands/{name}", json={"arguments": [*arguments]}, headers={"X-XSRFToken": TOKEN})
        found: dict[str, Any] = reply.raise_for_status().json()
        return found


def request_for(upstream: Upstream, sample: Sample, *messages: dict[str, Any]) -> dict[str, Any]:
    """URL, headers and body of a request that gets the sample's stream."""
    headers = upstream.plan(Response(tuple(map(Send, sample.chunks)), content_type=sample.content_type)).headers
    return {
        "url": f"{upstream.url}{sample.path}",
        "json": {**sample.request, "messages": [{"role": "user", "content": "weather"}, *messages]},
        "headers": {**headers, "authorization": f"Bearer {SECRET}"},
    }


def send_request(web: Web, upstream: Upstream, sample: Sample, *messages: dict[str, Any]) -> bytes:
    """Send the sample's request through the proxy. Returns the response body that the client received."""
    with httpx2.Client(proxy=web.proxy.url) as http:
        return http.post(**request_for(upstream, sample, *messages)).content


def without_arguments(sample: Sample) -> list[dict[str, Any]]:
    """The messages of a client that lost the arguments of the sample's call."""
    function = {"name": NAME, "arguments": "{}"}
    return [
        {"role": "assistant", "tool_calls": [{"id": sample.call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": sample.call_id, "content": "rain"},
    ]


def turns() -> tuple[Sample, Sample]:
    """A response that the client misreads, and the response to its next request."""
    first, second = (samples.openai_chat(f"mitmweb {turn}", "Lugano") for turn in "ab")
    return first, second


def misread(web: Web, upstream: Upstream) -> Sample:
    """Let a client lose the arguments of a call, and wait for the verdict. Returns the misread response."""
    sample, after = turns()
    assert send_request(web, upstream, sample) == b"".join(sample.chunks)
    send_request(web, upstream, after, *without_arguments(sample))
    web.proxy.wait_for("verdict returned-without-arguments")
    return sample
