"""The page of a session is one file that loads nothing, and escapes text of providers and clients."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, override

from toolstream_core.cli.main import main
from toolstream_core.model import StreamFacts
from toolstream_core.saved.exchange import Exchange
from toolstream_core.view.assemble import page
from toolstream_core.view.document import ViewBuilder

if TYPE_CHECKING:
    import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
HOSTILE: Final = "</script><script>a</script><!--<script><img src=x onerror=a>\u2028\u2029&lt;\ud800\x00${data}$data"
"""Markup, ends of scripts, line separators of JavaScript, a lone surrogate, names of the template."""


class Elements(HTMLParser):
    """The elements of a page, and the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self._in = False
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._in = tag in {"script", "style"}
        if self._in:
            self.texts.append("")

    @override
    def handle_data(self, data: str) -> None:
        if self._in:
            self.texts[-1] += data

    @override
    def handle_endtag(self, tag: str) -> None:
        self._in = False


def chat(delta: dict[str, Any]) -> bytes:
    """A chunk of Chat Completions."""
    payload = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def hostile() -> dict[str, Any]:
    """The document of a response with hostile text everywhere."""
    function = {"name": HOSTILE, "arguments": json.dumps({HOSTILE: HOSTILE})}
    call = {"index": 0, "id": HOSTILE, "type": HOSTILE, "function": function}
    chunks = [
        chat({"content": HOSTILE}),
        chat({"tool_calls": [call]}),
        f"data: {HOSTILE}\n\n".encode("utf-8", "replace"),
    ]
    messages = [{"role": "user", "content": HOSTILE}]
    exchange = StreamFacts(
        source=f"{HOSTILE}#0",
        host=HOSTILE,
        path="/v1/chat/completions",
        content_type="text/event-stream",
        request={"model": HOSTILE, "messages": messages},
    )
    builder = ViewBuilder(raw=True)
    builder.take(Exchange(facts=exchange, chunks=chunks, broken=HOSTILE))
    return builder.document([HOSTILE])


def test_hostile_text_is_no_markup() -> None:
    """The page has the elements of an empty page, and the complete document."""
    document = hostile()
    html = page(document)
    found = Elements(html)
    assert found.names == Elements(page(ViewBuilder().document([]))).names
    assert json.loads(found.texts[1]) == json.loads(json.dumps(document))
    assert not set("<>&\u2028\u2029") & set(found.texts[1])
    html.encode("utf-8", "backslashreplace")


def test_only_the_pages_own_script_and_style_may_run() -> None:
    """The policy has their hashes, and nothing is loaded from elsewhere."""
    found = Elements(page(hostile()))
    style, _, script = found.texts
    policy = next(value for name, value in found.attributes if value.startswith("default-src"))
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in (style, script)
    ]
    assert policy == (
        f"default-src 'none'; style-src {hashes[0]}; script-src {hashes[1]}; img-src data:; connect-src 'none'; "
        "base-uri 'none'; form-action 'none'"
    )
    links = {value for name, value in found.attributes if name in {"src", "href"}}
    assert links == {"data:,", "#events-list"}
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", script)


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    """The file has mode 0600."""
    out = tmp_path / "page.html"
    assert main(["view", str(ROOT / "flows/glm-5.flow"), "-o", str(out)]) == 0
    assert out.stat().st_mode & 0o777 == 0o600
    assert json.loads(Elements(out.read_text()).texts[1])["form"] == "toolstream-view"


def test_standard_input(tmp_path: Path) -> None:
    """The program reads a flow file from a pipe, and the title mentions it."""
    out = tmp_path / "page.html"
    command = [sys.executable, "-m", "toolstream_core.cli.main", "view", "-", "-o", str(out)]
    flow = (ROOT / "flows/deepseek-empty-id.flow").read_bytes()
    done = subprocess.run(command, input=flow, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    text = out.read_text()
    assert "<title>toolstream: standard input</title>" in text
    document = json.loads(Elements(text).texts[1])
    assert [one["name"] for one in document["responses"][0]["findings"]] == ["empty-id"]
    assert [one["call"] for one in document["responses"][0]["findings"]] == [0]


def test_an_input_in_a_folder_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--force` does not allow it."""
    flow = tmp_path / "a.flow"
    flow.write_bytes((ROOT / "flows/glm-5.flow").read_bytes())
    assert main(["view", str(tmp_path), "-o", str(flow), "--force"]) == 2
    assert "is an input of this command" in capsys.readouterr().err
    assert flow.read_bytes() == (ROOT / "flows/glm-5.flow").read_bytes()
