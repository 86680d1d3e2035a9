"""The harness's `Mitmdump`: port, certificate authority, environment, output, errors, exit."""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.e2e.harness import mitmdump
from tests.e2e.harness.mitmdump import Mitmdump, MitmdumpError, Output, mitmdump_path
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

FACTS = """
import json, os, signal, sys
from mitmproxy import ctx

def running():
    facts = {
        "environment": dict(os.environ),
        "ignored": list(ctx.options.ignore_hosts),
        "terminal": sys.stdout.isatty(),
    }
    print("facts " + json.dumps(facts))
"""
DEAF = """
import asyncio, signal

def running():
    asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("deaf")
"""


def facts(proxy: Mitmdump) -> dict[str, Any]:
    """The JSON that the script `FACTS` printed."""
    printed: dict[str, Any] = json.loads(proxy.wait_for(r"^facts \{").removeprefix("facts "))
    return printed


def test_the_addon_script_is_beside_the_package() -> None:
    """The addon script is found without an import."""
    assert addon_script().name == "toolstream.py"
    assert (addon_script().parent / "toolstream_core" / "packaged.py").is_file()


@pytest.mark.parametrize("mode", ["regular", "reverse:http://127.0.0.1:9", "upstream:http://127.0.0.1:9"])
def test_it_listens_on_the_printed_port(mode: str) -> None:
    """In each mode the port is read from the output, the authority is on disk, and the exit code is 0."""
    proxy = Mitmdump(mode=mode, scripts=())
    with proxy:
        assert proxy.url == f"http://127.0.0.1:{proxy.port}"
        assert proxy.ca.read_text().startswith("-----BEGIN CERTIFICATE-----")
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as client:
            assert client.getpeername() == ("127.0.0.1", proxy.port)
    assert proxy.stop() == 0
    assert not proxy.confdir.exists()


def test_a_given_confdir_is_kept(tmp_path: Path) -> None:
    """A given confdir keeps its certificate authority."""
    with Mitmdump(confdir=tmp_path, scripts=()) as first:
        authority = first.ca.read_bytes()
    with Mitmdump(confdir=tmp_path, scripts=()) as second:
        assert second.ca.read_bytes() == authority


class Started(NamedTuple):
    """A mitmdump with the script `FACTS`."""

    terminal: bool
    """Whether a terminal was requested."""
    facts: dict[str, Any]


@pytest.fixture(scope="module", params=[True, False], ids=["terminal", "pipe"])
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A mitmdump with a repeated option and a variable, started in an environment with proxy variables."""
    script = tmp_path_factory.mktemp("script") / "facts.py"
    script.write_text(FACTS)
    options = {"ignore_hosts": ["one", "two"]}
    proxy = Mitmdump(options, scripts=[script], env={"NO_COLOR": "1"}, terminal=request.param)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HTTPS_PROXY", "http_proxy", "no_proxy"):
            patch.setenv(name, "http://127.0.0.1:9")
        with proxy:
            yield Started(request.param, facts(proxy))
    assert proxy.stop() == 0


def test_proxy_variables_are_removed(started: Started) -> None:
    """Mitmdump does not inherit proxy variables, and gets the variables of the test."""
    environment = started.facts["environment"]
    assert environment["NO_COLOR"] == "1"
    assert not {"HTTPS_PROXY", "http_proxy", "no_proxy"} & environment.keys()


def test_a_sequence_becomes_one_option_for_each_value(started: Started) -> None:
    """Each value of a sequence gets its own `--set`."""
    assert started.facts["ignored"] == ["one", "two"]


def test_it_prints_to_a_terminal_only_on_request(started: Started) -> None:
    """Mitmdump prints to a pseudo-terminal only with `terminal`."""
    assert started.facts["terminal"] is started.terminal


def test_a_wrong_option_raises_with_the_output() -> None:
    """If mitmdump exits before it listens, `start` raises an error with its output."""
    with pytest.raises(MitmdumpError, match=r"(?s)ended with code 1.*unknown mode"):
        Mitmdump(mode="nonsense", scripts=()).start()


def test_a_broken_script_raises_with_the_traceback(tmp_path: Path) -> None:
    """If a script cannot be loaded, `start` raises an error with the traceback."""
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('this script is broken')\n")
    with pytest.raises(MitmdumpError, match=r"(?s)exited while starting.*ended with code 1.*this script is broken"):
        Mitmdump(scripts=[broken]).start()


def test_waiting_for_a_missing_line_raises_with_the_output() -> None:
    """`wait_for` raises an error with the output when mitmdump ends without the line."""
    with Mitmdump(scripts=()) as proxy:
        proxy.stop()
        with pytest.raises(MitmdumpError, match=r"(?s)never printed.*ended with code 0.*listening"):
            proxy.wait_for("never printed")


def test_before_the_start_there_is_no_process(tmp_path: Path) -> None:
    """Before `start` there is no process and no output, and `stop` does nothing."""
    proxy = Mitmdump(confdir=tmp_path, scripts=())
    assert (proxy.pid, proxy.output, proxy.stop()) == (None, (), None)


def test_a_process_that_ignores_the_signal_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`stop` kills a mitmdump that ignores SIGTERM."""
    monkeypatch.setattr(mitmdump, "_STOP_SECONDS", 0.5)
    script = tmp_path / "deaf.py"
    script.write_text(DEAF)
    proxy = Mitmdump(scripts=[script]).start()
    proxy.wait_for("^deaf$")
    assert proxy.stop() == -9


def test_an_unstopped_process_ends_with_its_object(tmp_path: Path) -> None:
    """A mitmdump that is not stopped ends when its object is collected."""
    proxy = Mitmdump(scripts=(), confdir=tmp_path).start()
    process, output = proxy._process, proxy._output
    assert process is not None
    assert output is not None
    assert process.poll() is None
    del proxy
    gc.collect()
    output.join(30)
    assert output.ended
    assert process.returncode == 0


def test_a_missing_mitmdump_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`mitmdump_path` raises if mitmdump is neither beside Python nor on the search path."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MitmdumpError, match="no mitmdump"):
        mitmdump_path()


def test_waiting_finds_later_lines_after_the_mark() -> None:
    """`wait_for` finds a line that is printed while it waits, and ignores lines before the mark."""
    reading, writing = os.pipe()
    output = Output(os.fdopen(reading))
    with os.fdopen(writing, "w") as printer:
        print("one", file=printer, flush=True)
        assert output.wait_for("one", 30) == "one"
        later = threading.Thread(target=lambda: print("one more", file=printer, flush=True))
        later.start()
        assert output.wait_for("one", 30, after=1) == "one more"
        later.join()
        assert output.wait_for(str.isdigit, 0) is None
    output.join(30)
    assert output.wait_for("two", 30) is None
    assert output.lines == ("one", "one more")
