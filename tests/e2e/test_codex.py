"""The real Codex: with a configured WebSocket provider, and as `toolstream run` starts it. Skipped without Codex."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.processes import environment, toolstream
from tests.e2e.harness import repair_options
from tests.e2e.harness.socket_server import SocketPlan, SocketServer
from tests.e2e.test_sockets import messages_of
from tests.invariants.healthy import Healthy
from tests.invariants.test_invariants import injected
from tests.tables import SHAPES
from toolstream_core.packaged import addon_script
from toolstream_core.protocols.responses import responses
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies

CODEX = os.environ.get("TOOLSTREAM_CODEX") or shutil.which("codex")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(CODEX is None, reason="there is no codex: TOOLSTREAM_CODEX names one, or PATH has it"),
]

CALL = 'exec_command {"cmd": "echo said-by-the-tool"}'
DEFECTS = ("cumulative-arguments", "missing-index", "repeated-stop", "done-only-arguments")


def healthy(token: str, **content: Any) -> Healthy:
    """A healthy response for Codex."""
    response = HealthyResponse(model="gpt-5", request={}, token=token, **content)
    return Healthy("openai-responses", token, b"".join(responses.healthy_stream(response)))


SHELL = healthy("call", calls=(HealthyCall("exec_command", '{"cmd": "echo said-by-the-tool"}'),))
DONE = messages_of(healthy("text", text="All is done.").body)


def codex(folder: Path, *words: str) -> list[str]:
    """The command line of Codex for one prompt, without the user's configuration."""
    assert CODEX is not None
    where = ("--skip-git-repo-check", "--sandbox", "read-only", "--cd", str(folder), "--model", "gpt-5")
    return [CODEX, "exec", *where, *words, "Say hi."]


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with an empty `CODEX_HOME`."""
    (folder / "home").mkdir()
    own = environment(CODEX_HOME=str(folder / "home"), OPENAI_API_KEY="sk-test", NO_PROXY="*")
    devnull = subprocess.DEVNULL
    return subprocess.run(command, stdin=devnull, capture_output=True, text=True, env=own, timeout=90, check=False)


@pytest.fixture(scope="module")
def upstream() -> Iterator[SocketServer]:
    """An upstream for WebSockets without TLS: Codex trusts only the certificates of the system."""
    with SocketServer() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(proxies: Proxies, upstream: SocketServer) -> Iterator[Mitmdump]:
    """A proxy in reverse mode; each upgrade request sets its options."""
    scripts = (addon_script(), Path(repair_options.__file__))
    with proxies.make(
        {"toolstream_log": "off"}, mode=f"reverse:http://127.0.0.1:{upstream.port}", scripts=scripts
    ) as one:
        yield one


CASES = {
    "healthy": (SHELL.body, {}),
    "shaped": (SHELL.body, {"toolstream_shape": [*SHAPES["openai-responses"]]}),
    **{name: (injected(SHELL, name).body, {"toolstream_repair": ["safe"]}) for name in DEFECTS},
}


@pytest.mark.parametrize("case", CASES)
def test_codex_runs_a_call_over_its_websocket(
    proxy: Mitmdump, upstream: SocketServer, tmp_path: Path, case: str
) -> None:
    """Codex runs the call of a healthy, shaped or repaired response, and reads the response to its result."""
    body, options = CASES[case]
    wanted = {"toolstream_repair": [], "toolstream_shape": [], **options}
    plan = upstream.plan(SocketPlan([messages_of(body), DONE]))
    settings = {
        "name": '"own"',
        "base_url": f'"http://127.0.0.1:{proxy.port}{plan.path}/v1"',
        "env_key": '"OPENAI_API_KEY"',
        "wire_api": '"responses"',
        "supports_websockets": "true",
        "http_headers": f"{{{repair_options.HEADER}={json.dumps(json.dumps(wanted))}}}",
    }
    provider = ",".join(f"{name}={value}" for name, value in settings.items())
    words = ("-c", 'model_provider="own"', "-c", f"model_providers.own={{{provider}}}")
    done = run(codex(tmp_path, *words), tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "All is done."), done.stderr
    [result] = (one for message in plan.received for one in message["input"] if one["type"] == "function_call_output")
    assert "said-by-the-tool" in str(result["output"])


@pytest.mark.parametrize(("mode", "transport"), [("read", "WS"), ("refuse", "POST")])
def test_run_starts_codex(tmp_path: Path, mode: str, transport: str) -> None:
    """`toolstream run` starts Codex over a WebSocket or over HTTP, and an injected fault is repaired."""
    options = ("--websocket", mode, "--fault", "cumulative-arguments", "--repair", "safe")
    done = run(toolstream("run", f"calls:{CALL}", *options, "--", *codex(tmp_path)), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "said-by-the-tool" in done.stderr
    assert f"#1 {transport} 127.0.0.1/v1/responses gpt-5 openai-responses" in done.stderr
    assert "(cumulative-arguments)" in done.stderr
    assert "task is done" in done.stdout
