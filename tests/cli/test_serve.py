"""`toolstream serve` as a user starts it."""

from __future__ import annotations

import re
import signal
import subprocess
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.cli.processes import FLOW, environment, toolstream
from toolstream_core.cli.main import main, parsed
from toolstream_core.cli.serve import setup_of
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e


def test_serve_answers_until_ctrl_c(tmp_path: Path) -> None:
    """It prints its address and the log, responds from the flows, and exits with 0."""
    command = toolstream("serve", FLOW, "--speed", "0", "--fault", "empty-id")
    with (tmp_path / "out").open("w+b") as out:
        served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, env=environment())
        assert served.stdout is not None
        lines = iter(served.stdout.readline, b"Ctrl-C ends.\n")
        head = b"".join(lines).decode()
        found = re.search(r"export OPENAI_BASE_URL=(\S+)", head)
        assert found is not None
        assert re.search(r"anthropic +http://127", head)
        with httpx2.Client(trust_env=False) as client:
            response = client.post(f"{found[1]}/chat/completions", json=load(FLOW)[0].request)
        assert b"get_weather" in response.content
        served.send_signal(signal.SIGINT)
        output, _ = served.communicate(timeout=60)
        assert served.returncode == 0
        assert b"call 0 get_weather" in output
        assert b"empty-id" in output
        out.seek(0)
        assert out.read() == b""


def test_calls_are_accepted_instead_of_flows() -> None:
    """The text of the calls is not changed like a path."""
    args = parsed(["serve", 'calls:read {"path":"a//b"}; now', str(FLOW)])
    setup = setup_of(args, network="none", log="off")
    assert setup.calls == ('read {"path":"a//b"}; now',)
    assert setup.flows == (FLOW,)


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["serve", "no-such.flow"], 2, "no such file or directory: no-such.flow"),
        (["serve", str(FLOW), "--speed", "-1"], 2, "--speed"),
        (["serve", "calls:get_weather {"], 2, "Expected get_weather"),
    ],
)
def test_usage_errors(words: list[str], code: int, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line with the expected form."""
    assert main(words) == code
    assert expected in capsys.readouterr().err
