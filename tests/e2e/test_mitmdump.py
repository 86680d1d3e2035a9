"""Starting and stopping a real mitmdump: port, authority, environment, output, errors, the end."""

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

TELL = """
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
    """What the script `report` printed."""
    told: dict[str, Any] = json.loads(proxy.wait_for(r"^facts \{").removeprefix("facts "))
    return told


def test_door_is_the_script_beside_the_package() -> None:
    """The addon's entry is found without importing it."""
    assert addon_script().name == "toolstream.py"
    assert (addon_script().parent / "toolstream_core" / "packaged.py").is_file()


@pytest.mark.parametrize("mode", ["regular", "reverse:http://127.0.0.1:9", "upstream:http://127.0.0.1:9"])
def test_listens_on_the_port_it_tells(mode: str) -> None:
    """Every mode's port is read right, its authority is on disk, and it ends well."""
    proxy = Mitmdump(mode=mode, scripts=())
    with proxy:
        assert proxy.url == f"http://127.0.0.1:{proxy.port}"
        assert proxy.ca.read_text().startswith("-----BEGIN CERTIFICATE-----")
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as client:
            assert client.getpeername() == ("127.0.0.1", proxy.port)
    assert proxy.stop() == 0
    assert not proxy.confdir.exists()


def test_given_confdir_is_used_and_kept(tmp_path: Path) -> None:
    """An authority that others trust already stays the same."""
    with Mitmdump(confdir=tmp_path, scripts=()) as first:
        authority = first.ca.read_bytes()
    with Mitmdump(confdir=tmp_path, scripts=()) as second:
        assert second.ca.read_bytes() == authority


class Given(NamedTuple):
    """What a mitmdump was given."""

    terminal: bool
    """Whether one was asked for."""
    told: dict[str, Any]


@pytest.fixture(scope="module", params=[True, False], ids=["terminal", "pipe"])
def given(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """One with a value of an option twice, and one with a variable; proxy variables are set where it is started."""
    script = tmp_path_factory.mktemp("script") / "tell.py"
    script.write_text(TELL)
    options = {"ignore_hosts": ["one", "two"]}
    proxy = Mitmdump(options, scripts=[script], env={"NO_COLOR": "1"}, terminal=request.param)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HTTPS_PROXY", "http_proxy", "no_proxy"):
            patch.setenv(name, "http://127.0.0.1:9")
        with proxy:
            yield Given(request.param, facts(proxy))
    assert proxy.stop() == 0


def test_proxy_variables_do_not_reach_it(given: Given) -> None:
    """What is set for the clients must not send mitmdump through itself; what is asked for is set."""
    environment = given.told["environment"]
    assert environment["NO_COLOR"] == "1"
    assert not {"HTTPS_PROXY", "http_proxy", "no_proxy"} & environment.keys()


def test_sequence_becomes_one_option_a_value(given: Given) -> None:
    """`--set` is said once for each value."""
    assert given.told["ignored"] == ["one", "two"]


def test_prints_to_a_terminal_only_when_asked(given: Given) -> None:
    """Colour depends on it."""
    assert given.told["terminal"] is given.terminal


def test_error_before_it_listens_carries_what_was_said() -> None:
    """A wrong option is told, not waited for."""
    with pytest.raises(MitmdumpError, match=r"(?s)ended with code 1.*unknown mode"):
        Mitmdump(mode="nonsense", scripts=()).start()


def test_error_in_a_script_carries_the_traceback(tmp_path: Path) -> None:
    """Mitmdump does not start with a script that cannot be loaded."""
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('this script is broken')\n")
    with pytest.raises(MitmdumpError, match=r"(?s)exited while starting.*ended with code 1.*this script is broken"):
        Mitmdump(scripts=[broken]).start()


def test_line_that_never_comes_is_an_error_with_the_output() -> None:
    """The end of the output ends the waiting."""
    with Mitmdump(scripts=()) as proxy:
        proxy.stop()
        with pytest.raises(MitmdumpError, match=r"(?s)never said.*ended with code 0.*listening"):
            proxy.wait_for("never said")


def test_before_it_starts_nothing_is_there(tmp_path: Path) -> None:
    """No process, no output, nothing to stop."""
    proxy = Mitmdump(confdir=tmp_path, scripts=())
    assert (proxy.pid, proxy.output, proxy.stop()) == (None, (), None)


def test_one_that_does_not_heed_the_signal_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last resort."""
    monkeypatch.setattr(mitmdump, "_STOP_SECONDS", 0.5)
    script = tmp_path / "deaf.py"
    script.write_text(DEAF)
    proxy = Mitmdump(scripts=[script]).start()
    proxy.wait_for("^deaf$")
    assert proxy.stop() == -9


def test_one_that_nobody_stops_ends_with_its_object(tmp_path: Path) -> None:
    """Whoever forgets it, or dies of an error before, leaves no process behind."""
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


def test_no_mitmdump_anywhere_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither beside this Python nor on the path."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MitmdumpError, match="no mitmdump"):
        mitmdump_path()


def test_waiting_sees_lines_that_come_later_and_only_after_the_mark() -> None:
    """A line that is printed while one waits wakes the waiter; lines before the mark do not count."""
    ours, theirs = os.pipe()
    output = Output(os.fdopen(ours))
    with os.fdopen(theirs, "w") as printer:
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
