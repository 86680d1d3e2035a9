"""`toolstream inspect` reads the flow files of mitmdump, in every protocol, with and without bodies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import MAKERS, Sample, openai_chat
from tests.e2e.harness.script import Break, Response, Send
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.script import Step
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e


def saving(proxies: Proxies, path: Path, **options: str) -> Mitmdump:
    """A mitmdump that saves flows."""
    return proxies.make({"save_stream_file": str(path), **options})


def send(proxy: Mitmdump, upstream: Upstream, sample: Sample) -> None:
    """Request a streamed response, and read it to its end."""
    steps = tuple(Send(chunk) for chunk in sample.chunks)
    plan = upstream.plan(Response(steps, content_type=sample.content_type, coding="gzip"))
    headers = {**plan.headers, "authorization": f"Bearer key-of-{sample.call_id}"}
    with client("h1", route(proxy, upstream)) as connection:
        connection.request(sample.path, sample.body, headers).rest()


def inspected(capsys: pytest.CaptureFixture[str], path: Path, code: int) -> tuple[list[dict[str, Any]], str]:
    """The streams that `inspect` finds, and its standard error."""
    assert main(["inspect", "--format", "json", str(path)]) == code
    out, err = capsys.readouterr()
    return json.loads(out)["streams"], err


def test_saved_bodies_are_read(
    proxies: Proxies, plain: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `store_streamed_bodies`, `inspect` reads the calls of each protocol."""
    path = tmp_path / "session.flow"
    samples = [make(f"saved-{name}", "Bern") for name, make in MAKERS.items()]
    with saving(proxies, path, store_streamed_bodies="true") as proxy:
        for sample in samples:
            send(proxy, plain, sample)
    streams, err = inspected(capsys, path, 0)
    assert err == ""
    assert [stream["source"] for stream in streams] == [f"{path}#{number}" for number in range(len(samples))]
    for stream, sample in zip(streams, samples, strict=True):
        [call] = stream["calls"]
        assert (stream["dialect"], call["name"]) == (sample.protocol, "get_weather")
        assert json.loads(call["arguments"]) == sample.arguments


def test_missing_bodies_are_reported_with_the_option(
    proxies: Proxies, plain: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If mitmdump saved no bodies, which is its default, `inspect` names the option that saves them."""
    path = tmp_path / "session.flow"
    with saving(proxies, path) as proxy:
        send(proxy, plain, openai_chat("unsaved", "Bern"))
    streams, err = inspected(capsys, path, 2)
    assert streams == []
    assert f"{path}#0" in err
    assert "--set store_streamed_bodies=true" in err


def test_a_truncated_stream_without_a_body_is_reported(
    proxies: Proxies, plain: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mitmproxy saves no body of a truncated stream, and `inspect` reports the cause."""
    path = tmp_path / "session.flow"
    sample = openai_chat("broken", "Bern")
    steps: list[Step] = [*map(Send, sample.chunks[:3]), Break.CLOSE]
    with saving(proxies, path, store_streamed_bodies="true") as proxy:
        plan = plain.plan(Response(tuple(steps)))
        with client("h1", route(proxy, plain)) as connection, pytest.raises(BrokenOffError):
            connection.request(sample.path, sample.body, plan.headers).rest()
    streams, err = inspected(capsys, path, 2)
    assert streams == []
    assert "because the connection closed early" in err
