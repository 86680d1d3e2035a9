"""The live view's server accepts only its own host names, pages and token."""

from __future__ import annotations

import asyncio
import json
import logging
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from mitmproxy.exceptions import OptionsError

from tests.proxy.flows import CHUNK, llm_flow
from toolstream_core.proxy.live.server import ServedView
from toolstream_core.saved.flow import request_json

if TYPE_CHECKING:
    from collections.abc import Callable


def get(url: str, **headers: str) -> tuple[int, bytes]:
    """Return the status and the body of a response."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:  # noqa: S310 - the server of this test
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def with_server(work: Callable[[ServedView, str, str], None]) -> None:
    """Call a function in a thread with a server, its URL and its token."""

    async def run() -> None:
        view = ServedView("0")
        url, _, token = view.address.partition("#token=")
        await asyncio.to_thread(work, view, url, token)
        view.stop()

    asyncio.run(run())


def test_responses_need_the_token(caplog: pytest.LogCaptureFixture) -> None:
    """The page without responses needs no token; all responses do, and the token is not logged."""
    caplog.set_level(logging.DEBUG)

    def work(view: ServedView, url: str, token: str) -> None:
        status, page = get(url)
        assert (status, token.encode() in page) == (200, False)
        assert get(f"{url}document")[0] == 401
        assert get(f"{url}updates", Authorization="Bearer wrong")[0] == 401
        flow = llm_flow()
        view.view.begin(flow, request_json(flow.request)).take_upstream(0.0, CHUNK)
        status, body = get(f"{url}document", Authorization=f"Bearer {token}")
        assert (status, len(json.loads(body)["responses"])) == (200, 1)
        assert token not in caplog.text

    with_server(work)


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}],
    ids=["rebound", "foreign", "null"],
)
def test_other_host_names_and_origins_are_rejected(headers: dict[str, str]) -> None:
    """They are rejected with the token, too."""

    def work(view: ServedView, url: str, token: str) -> None:
        del view
        for path in ("", "document", "updates"):
            assert get(f"{url}{path}", Authorization=f"Bearer {token}", **headers)[0] == 403

    with_server(work)


def test_updates_are_streamed() -> None:
    """Patches are sent as SSE, and a viewer that disconnects is noticed."""

    async def run() -> None:
        view = ServedView("0")
        url, _, token = view.address.partition("#token=")
        request = urllib.request.Request(f"{url}updates", headers={"Authorization": f"Bearer {token}"})  # noqa: S310
        response = await asyncio.to_thread(urllib.request.urlopen, request)
        flow = llm_flow()
        view.view.begin(flow, request_json(flow.request)).take_upstream(0.0, CHUNK)
        patches: list[dict[str, object]] = []
        while not any("begin" in patch for patch in patches):
            line = await asyncio.to_thread(response.readline)
            if line.startswith(b"data: "):
                patches.append(json.loads(line.removeprefix(b"data: ")))
        response.close()
        async with asyncio.timeout(20):
            await view.unwatched(0.01)
        view.stop()

    asyncio.run(run())


@pytest.mark.parametrize("text", ["here", "70000", "-1", "1.5"])
def test_an_invalid_port_is_rejected(text: str) -> None:
    """The error says what was expected."""
    with pytest.raises(OptionsError, match=r"is not a port\. Expected a number, or 0 for any free port"):
        ServedView(text)


def test_a_port_in_use_is_rejected() -> None:
    """The error says that the port is not available."""

    def work(view: ServedView, url: str, token: str) -> None:
        del view, token
        with pytest.raises(OptionsError, match="is not available"):
            asyncio.run(_second(url))

    async def _second(url: str) -> None:
        ServedView(url.rpartition(":")[2].strip("/"))

    with_server(work)
