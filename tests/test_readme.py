"""Every command of README and guides is run by a test."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import tomllib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import httpx
import pytest

from release import fixed
from tests.conftest import ROOT
from tests.e2e.harness.mitmdump import Mitmdump, mitmdump_path
from tests.e2e.harness.preloaded import CAN_FORK, Preloaded, PreloadedMitmdump
from toolstream_core.agents import recognise
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.proxy.options import OURS
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.e2e

README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = ("mitmproxy", "options", "shapes", "faults", "repair", "install")
PAGES = "\n".join([README, *((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in GUIDES)])
BYTES = 9_000
FIRST_LINES = 40
"""The README shows a failing client in these lines."""
SHOWN = re.findall(r"^\$ (toolstream .*)$", README, re.MULTILINE)
COMMANDS = list(
    dict.fromkeys(
        line.split("  #")[0].strip()
        for block in re.findall(r"```sh\n(.*?)```", PAGES, re.DOTALL)
        for line in block.splitlines()
        if line.strip()
    )
)
PROXIES = [command for command in COMMANDS if command.startswith("mitmdump ") and "--mode" not in command]
REVERSE = [command for command in COMMANDS if command.startswith("mitmdump ") and "--mode" in command]
INTERACTIVE = [command for command in COMMANDS if command.startswith(("mitmweb ", "mitmproxy "))]
"""These need a terminal or a browser; the tests of mitmdump cover loading the addon."""
VARIABLES = [command for command in COMMANDS if command.startswith("export ")]
INSTALLS = [command for command in COMMANDS if command.startswith("pip ")]
"""These install from the package index."""
SCRIPTS = [command for command in COMMANDS if command.startswith("scripts/")]
CAPTURES = [command for command in COMMANDS if " captures" in command]
"""The steps from a failing run to a test."""
RUNS = [command for command in COMMANDS if command.startswith("toolstream run ") and command not in CAPTURES]
DEMO = ["toolstream demo"]
"""tests/cli/test_demo.py runs it."""
_OWN_TESTS = {*CAPTURES, *RUNS, *DEMO}
TYPED = [command for command in COMMANDS if command.startswith("toolstream ") and command not in _OWN_TESTS]
SESSION = [command for command in TYPED if "session.flow" in command]
AGENT = re.findall(r"```python\n(# agent\.py\n.*?)```", README, re.DOTALL)[0]
TEST = re.findall(r"```python\n# test_agent\.py\n(.*?)```", README, re.DOTALL)[0]
EVENTS = 14
"""The number of events of the saved response that each command's proxy sends."""
CLIENT = """
import json, sys, urllib.request
import httpx
request = json.load(open(sys.argv[1]))
with httpx.stream("POST", "https://api.openai.com/v1/chat/completions", json=request) as response:
    print(response.status_code, response.read().decode().count("data:"))
"""


def test_the_readme_is_short() -> None:
    """The README is limited in length, and shows a verdict in its first lines."""
    assert len(README.encode()) <= BYTES
    assert any("verdict returned-without-arguments" in line for line in README.splitlines()[:FIRST_LINES])


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in GUIDES), "docs/alternatives.md"])
def test_links_are_valid(page: str) -> None:
    """Relative links lead to existing files and headings."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
        slugs = [re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings]
        assert not heading or heading in slugs, link


def test_every_command_is_run() -> None:
    """Every command of the pages is in one of the tested groups."""
    known = [*PROXIES, *REVERSE, *INTERACTIVE, *VARIABLES, *SCRIPTS, *TYPED, *RUNS, *CAPTURES, *INSTALLS, *DEMO]
    assert sorted(COMMANDS) == sorted(known)
    assert PROXIES
    assert REVERSE
    assert VARIABLES
    assert SESSION
    assert CAPTURES


@pytest.mark.parametrize("command", INSTALLS)
def test_the_package_declares_its_programs(command: str) -> None:
    """The package installs the program `toolstream`, and mitmproxy with its programs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert list(project["scripts"]) == ["toolstream"]
    assert [one for one in project["dependencies"] if one.startswith("mitmproxy")]
    assert command.endswith(" .")


class Folder(NamedTuple):
    """A folder in which the README's commands are run, with toolstream installed."""

    path: Path

    def run(self, command: str, *, fails: bool = False) -> str:
        """Run a command and return its output."""
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            shlex.split(command),
            cwd=self.path,
            env=os.environ | {"PATH": programs},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr


def test_from_a_failing_run_to_a_test(tmp_path: Path) -> None:
    """The README's steps work: run, workaround, check, failing test, fix, passing test."""
    folder = Folder(tmp_path)
    (tmp_path / "flows").symlink_to(ROOT / "flows")
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "test_agent.py").write_text(TEST, encoding="utf-8")
    failing, working, checked = SHOWN
    captured, viewed, extracted = CAPTURES
    assert "verdict returned-without-arguments" in (output := folder.run(failing))
    assert "agent: read_file(None)" in output
    assert "verdict ok" in (output := folder.run(working))
    assert "agent: read_file(README.md)" in output
    assert "returned without arguments: call 0 read_file" in folder.run(checked, fails=True)
    folder.run(captured)
    folder.run(viewed)
    assert "returned-without-arguments" in (tmp_path / "captures.html").read_text(encoding="utf-8")
    (tmp_path / "flows").unlink()
    folder.run(extracted)
    assert "1 failed" in folder.run("pytest -q -p no:cacheprovider test_agent.py", fails=True)
    (tmp_path / "agent.py").write_text(fixed(AGENT), encoding="utf-8")
    assert "1 passed" in folder.run("pytest -q -p no:cacheprovider test_agent.py")


@pytest.mark.parametrize("command", SCRIPTS)
def test_scripts_are_executable(command: str) -> None:
    """The scripts of the pages exist and are executable."""
    assert os.access(ROOT / command, os.X_OK)


def environment(proxy: Mitmdump | QuietMitmdump) -> dict[str, str]:
    """Return the variables of the README's `export` lines with the values for this proxy."""
    exported = dict(command.removeprefix("export ").split("=", 1) for command in VARIABLES)
    values = {"http://127.0.0.1:8080": proxy.url, "~/.mitmproxy/mitmproxy-ca-cert.pem": str(proxy.ca), "1": "1"}
    return {name: values[value] for name, value in exported.items()}


def request_call(proxy: Mitmdump | QuietMitmdump, folder: Path) -> str:
    """Run a client with these variables that requests a tool call, and return its output."""
    request_path = folder / "request.json"
    saved = load(ROOT / "flows" / "openai-chat-single.flow")[0]
    request_path.write_text(json.dumps(saved.request), encoding="utf-8")
    variables = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(request_path)],
        env=variables | environment(proxy),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


@pytest.fixture(scope="module")
def preloaded() -> Iterator[Preloaded]:
    """Return a process to fork mitmdumps from; tests/e2e/test_preloaded.py compares them with started ones."""
    with Preloaded() as started:
        yield started


def mitmdump(preloaded: Preloaded, arguments: Sequence[str]) -> Mitmdump:
    """Return a mitmdump with these arguments, not started yet."""
    if not CAN_FORK:
        return Mitmdump(arguments=arguments)
    made = PreloadedMitmdump(arguments=arguments)
    made.preloaded = preloaded
    return made


@pytest.mark.parametrize("command", [command for command in PROXIES if " -q " not in command])
def test_mitmdump_commands(command: str, preloaded: Preloaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mitmdump command of the pages works with a client that uses the README's variables."""
    words = shlex.split(command)
    assert words[:2] == ["mitmdump", "-s"]
    assert words[2] == "$(toolstream addon-path)"
    arguments = [
        word if word != "toolstream_provider=flows" else f"toolstream_provider={ROOT / 'flows'}" for word in words[3:]
    ]
    if not any("toolstream_provider" in word for word in arguments):
        arguments += ["--set", f"toolstream_provider={ROOT / 'flows'}"]
    monkeypatch.chdir(tmp_path)
    with mitmdump(preloaded, arguments) as proxy:
        output = request_call(proxy, tmp_path)
        assert output.startswith("200 ")
        if "toolstream_shape" in command:
            assert int(output.split()[1]) < EVENTS
        else:
            assert int(output.split()[1]) == EVENTS + 2 * ("glm-5" in command)
        proxy.wait_for("call 0 get_weather")
    if "-w" in words:
        assert SESSION
        for saved in SESSION:
            assert re.search(r"call 0 get_weather|1 stream, \d+ events? changed", run_toolstream(saved))


class QuietMitmdump(NamedTuple):
    """A mitmdump that does not print its address."""

    url: str
    ca: Path


def test_a_quiet_mitmdump_prints_only_toolstream_lines(tmp_path: Path) -> None:
    """With `-q`, mitmdump prints only the lines of toolstream."""
    (command,) = (command for command in PROXIES if " -q " in command)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("listen_host=127.0.0.1", f"listen_port={port}", f"confdir={tmp_path}", "toolstream_provider=flows")
    command = command.replace("$(toolstream addon-path)", "addon/toolstream.py")
    arguments = [*shlex.split(command)[1:], *chain.from_iterable(("--set", option) for option in options)]
    with (tmp_path / "output").open("w") as output:
        process = subprocess.Popen([mitmdump_path(), *arguments], stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
    try:
        until = time.monotonic() + 60
        while not listens(port) and time.monotonic() < until:
            time.sleep(0.1)
        proxy = QuietMitmdump(f"http://127.0.0.1:{port}", tmp_path / "mitmproxy-ca-cert.pem")
        assert request_call(proxy, tmp_path).startswith("200 ")
    finally:
        process.terminate()
        process.wait(60)
    lines = (tmp_path / "output").read_text().splitlines()
    assert [line for line in lines if not line.startswith(("#1 ", "replay api.openai.com "))] == []
    assert [line for line in lines if "call 0 get_weather" in line]


def listens(port: int) -> bool:
    """Return whether a process listens on this port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_codex_configuration() -> None:
    """The Codex configuration of the pages uses Responses over HTTP at a supported path."""
    (block,) = re.findall(r"```toml\n(.*?)```", PAGES, re.DOTALL)
    config = tomllib.loads(block)
    provider = config["model_providers"][config["model_provider"]]
    assert provider["wire_api"] == "responses"
    assert provider["supports_websockets"] is False
    assert any(protocol.claims(f"{urlsplit(provider['base_url']).path}/responses") for protocol in PROTOCOLS)


@pytest.mark.parametrize("command", [command for command in TYPED if command not in SESSION])
def test_toolstream_commands(command: str) -> None:
    """A toolstream command of the pages prints the expected output."""
    assert ("toolstream 0" if "version" in command else "cumulative-arguments") in run_toolstream(command)


@pytest.mark.parametrize("command", RUNS)
def test_toolstream_run_commands(command: str, tmp_path: Path) -> None:
    """A `toolstream run` command works with a client that uses only its environment, and saved responses."""
    words, client = (shlex.split(part) for part in command.split(" -- "))
    if client[0] != "python":
        assert recognise(client) is not None
    request = load(ROOT / "flows" / "openai-chat-single.flow")[0].request
    (tmp_path / "request.json").write_text(json.dumps(request), encoding="utf-8")
    (tmp_path / "agent.py").write_text(CLIENT, encoding="utf-8")
    flows = [str(ROOT / word) if word == "flows" else word for word in words[2:]]
    if "flows" not in words:
        flows.insert(0, str(ROOT / "flows"))
    done = with_agent(tmp_path, "run", "--speed", "0", *flows, agent="request.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"200 {5 if 'whole-calls' in command else EVENTS}\n"
    assert "1 request, 1 response, 1 call sent" in done.stderr


def with_agent(folder: Path, *words: str, agent: str) -> subprocess.CompletedProcess[str]:
    """Run a toolstream command that starts `agent.py` of a folder with one argument."""
    return subprocess.run(
        [sys.executable, "-m", "toolstream_core.cli.main", *words, "--", sys.executable, "agent.py", agent],
        env=os.environ | {"PYTHONPATH": str(ROOT / "addon")},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run_toolstream(command: str) -> str:
    """Run a toolstream command of this checkout and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "toolstream_core.cli.main", *shlex.split(command)[1:]],
        env=os.environ | {"PYTHONPATH": str(ROOT / "addon")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


def test_the_reverse_mode_command() -> None:
    """The reverse mode of the pages works for a client with a base URL."""
    (mode,) = {command.split(" --mode ")[1] for command in REVERSE}
    with Mitmdump({"toolstream_provider": str(ROOT / "flows")}, mode=mode) as proxy:
        request = load(ROOT / "flows" / "openai-chat-single.flow")[0].request
        with httpx.Client(trust_env=False) as client:
            response = client.post(f"{proxy.url}/v1/chat/completions", json=request)
        assert response.status_code == 200


def test_the_docs_list_all_options_and_protocols() -> None:
    """The docs contain the name of every option and protocol."""
    assert [name for name in OURS if f"`{name}`" not in PAGES] == []
    page = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    assert [protocol.name for protocol in PROTOCOLS if f"`{protocol.name}`" not in page] == []
