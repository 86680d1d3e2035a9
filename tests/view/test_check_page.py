"""The page loads nothing, runs only its own script, and takes all of the report for text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any, override

import pytest

from tests.browser.reports import HOSTILE, TURN, case, client, report, usual
from toolstream_core.view.assemble import check_page as page

LIMIT = 200_000
"""Bytes of the page without its data."""


class Elements(HTMLParser):
    """What a browser sees: the elements with their attributes, and the text of those that are not markup."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""
        self.feed(html)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag
        if tag in {"script", "style", "title"}:
            self.texts.setdefault(tag, []).append("")

    @override
    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    @override
    def handle_data(self, data: str) -> None:
        if self._open in self.texts:
            self.texts[self._open][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of each element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


def data_of(html: str) -> dict[str, Any]:
    """The reports that the page carries."""
    data: dict[str, Any] = json.loads(Elements(html).texts["script"][0])
    return data


def test_the_reports_come_back_as_they_were() -> None:
    """In one block of JSON; without an earlier run there is null."""
    assert data_of(page(usual())) == {"report": usual(), "other": None, "sessions": []}
    assert data_of(page(usual(), report())) == {"report": usual(), "other": report(), "sessions": []}


@pytest.mark.parametrize("hostile", [HOSTILE, "</SCRIPT >", "<!--<script>", "]]>", "\ud800", "\x00\r\n"])
def test_hostile_text_stays_text(hostile: str) -> None:
    """It adds no element, wherever it stands, and comes back whole."""
    turn = TURN | {"events": [hostile], "broken": hostile}
    named = case(hostile, hostile, hostile, title=hostile, message=hostile, output=hostile, rerun=hostile, turns=[turn])
    written = report(client(named, name=hostile, protocol=hostile, command=[hostile], repair=[hostile]))
    html = page(written, written)
    assert [tag for tag, _ in Elements(html).elements] == [tag for tag, _ in Elements(page(report())).elements]
    assert data_of(html) == {"report": written, "other": written, "sessions": []}
    block = html.split('id="data">')[1].split("</script>")[0]
    assert not re.search("[<>&\u2028\u2029]", block)
    assert block.encode("utf-8", "backslashreplace").decode() == block.replace("\ud800", r"\ud800")


def test_the_title_names_the_clients() -> None:
    """As text."""
    html = page(report(client(name="<b>one"), client(name="two")))
    assert "<title>toolstream check: &lt;b&gt;one, two</title>" in html


def test_the_policy_lets_its_own_style_and_script_run_and_nothing_load() -> None:
    """Hashes of exactly what stands there; every other source is forbidden."""
    html = page(usual())
    seen = Elements(html)
    (policy,) = [one["content"] for one in seen.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules == {
        "default-src": "'none'",
        "style-src": digest(seen.texts["style"][0]),
        "script-src": digest(seen.texts["script"][1]),
        "img-src": "data:",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_nothing_is_loaded_from_elsewhere() -> None:
    """No address but places in the page, no element that loads, no markup made of text."""
    html = page(usual())
    seen = Elements(html)
    addresses = {
        value for _, attributes in seen.elements for name in ("src", "href") if (value := attributes.get(name))
    }
    assert addresses == {"#events-list", "data:,"}
    assert not {"img", "iframe", "object", "embed", "base"} & {tag for tag, _ in seen.elements}
    code = "".join(seen.texts["script"][1:] + seen.texts["style"])
    assert set(re.findall(r"https?:[^\"]*", code)) == {"http://www.w3.org/2000/svg"}
    assert not re.findall(r"url\(|@import|XMLHttpRequest|new WebSocket|EventSource|sendBeacon", code)
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", code)


def test_the_parts_can_stand_in_html() -> None:
    """What ends a script or a style, or hides the end of one, occurs in none of them."""
    folder = Path(str(files("toolstream_core.view") / "page"))
    parts = [path for path in folder.rglob("*") if path.suffix in {".js", ".css"}]
    assert len(parts) > 10
    for part in parts:
        assert not re.search("</s|<!--|\r", part.read_text(encoding="utf-8"), re.IGNORECASE), part.name


def test_the_page_is_small() -> None:
    """A CI run keeps many of them."""
    assert len(page(report()).encode()) < LIMIT


def test_arguments_that_are_not_text_come_as_their_json() -> None:
    """JavaScript would change large integers; what the client wrote is to be seen."""
    back = {"id": None, "name": "f", "arguments": {"n": 12345678901234567890, "x": 1.0}}
    turn = TURN | {"request": {"calls": [back], "results": []}, "status": float("inf")}
    (found,) = data_of(page(report(client(case("a", turns=[turn])))))["report"]["clients"][0]["cases"][0]["turns"]
    assert found["request"]["calls"][0]["arguments"] == '{"n": 12345678901234567890, "x": 1.0}'
    assert found["status"] == "inf"


LABELLED = {"side-misread", "keys-on"}
"""Controls that stand in their label."""


def test_it_can_be_used_without_a_mouse_and_read_aloud() -> None:
    """Every control of the frame has a name; those that the script makes are checked in the browser."""
    seen = Elements(page(usual()))
    for tag in ("input", "select"):
        assert all(one.get("aria-label") or one["id"] in LABELLED for one in seen.all(tag))
    assert all(one.get("type") == "button" for one in seen.all("button"))
    assert seen.all("html") == [{"lang": "en"}]
