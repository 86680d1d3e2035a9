"""The live view of a mitmdump and of `toolstream run`: it shows events while the response arrives."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.processes import toolstream
from tests.e2e.harness import samples
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.script import Gate, Response, Send, Wait
from tests.e2e.live_client import ADDRESS, AGENT, FLOW, viewed

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e


def updates(url: str, token: str) -> Generator[dict[str, Any]]:
    """The patches that a viewer receives."""
    headers = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{url}updates", headers=headers)  # noqa: S310 - our own server
    with urllib.request.urlopen(request) as response:  # noqa: S310
        for line in response:
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))


def test_a_response_is_shown_while_it_arrives(proxies: Proxies, secure: Upstream) -> None:
    """The view has the first events while upstream still waits, and the log has the address once."""
    sample, gate = samples.openai_chat("call_live", "Bern"), Gate()
    first, *rest = sample.chunks
    plan = secure.plan(Response((Send(first), Wait(gate), *map(Send, rest))))
    with proxies.make({"toolstream_view": "0"}) as proxy:
        found = ADDRESS.search(proxy.wait_for(ADDRESS.pattern))
        assert found is not None
        with client("h2", route(proxy, secure)) as connection:
            reply = connection.request(sample.path, sample.body, plan.headers)
            patches = updates(found[1], found[2])
            begun = next(one for one in patches if "begin" in one)
            assert begun["begin"]["state"] == "live"
            assert begun["begin"]["events"]
            gate.open()
            reply.rest()
            complete = next(one for one in patches if one.get("begin", {}).get("state") == "complete")
            assert [call["id"] for call in complete["begin"]["calls"]] == ["call_live"]
            patches.close()
    assert sum(found[2] in line for line in proxy.output) == 1


def test_run_writes_the_view(tmp_path: Path) -> None:
    """`run --view -o` returns the command's exit code and writes a private page with the verdict."""
    agent, out = tmp_path / "agent.py", tmp_path / "page.html"
    agent.write_text(AGENT)
    words = ("run", str(FLOW), "--speed", "0", "--view", "-o", str(out), "--", sys.executable, str(agent))
    ran = subprocess.run(toolstream(*words), capture_output=True, text=True, check=False)
    assert ran.returncode == 5, ran.stderr
    assert "split-call" in out.read_text()
    assert out.stat().st_mode & 0o777 == 0o600
    assert len(ADDRESS.findall(ran.stderr)) == 1


def test_run_keeps_the_view_for_viewers(tmp_path: Path) -> None:
    """After the command has ended, `run` serves the view until Ctrl-C."""
    with viewed(tmp_path) as address:
        url, _, token = address.partition("#token=")
        patches = []
        for patch in updates(url, token):
            patches.append(patch)
            if patch.get("ended"):
                break
    assert "split-call" in [one["begin"]["verdict"]["verdict"] for one in patches if "begin" in one]


def test_output_needs_the_view(tmp_path: Path) -> None:
    """`run -o` without `--view` is a usage error."""
    words = ("run", "-o", str(tmp_path / "page.html"), "--", sys.executable, "-c", "pass")
    ran = subprocess.run(toolstream(*words), capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "-o writes the live view, and needs --view" in ran.stderr
