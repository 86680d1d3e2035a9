"""The page of a check loads nothing, runs only its own script, and escapes the report."""

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
"""Maximum size of the page without its data."""


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of scripts, styles and titles."""

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
        """The attributes of each element with this tag."""
        return [attributes for name, attributes in self.elements if name == tag]


def data_of(html: str) -> dict[str, Any]:
    """The reports in the page."""
    data: dict[str, Any] = json.loads(Elements(html).texts["script"][0])
    return data


def test_the_page_contains_the_reports() -> None:
    """They are in a block of JSON. Without an earlier run, `other` is null."""
    assert data_of(page(usual())) == {"report": usual(), "other": None, "sessions": []}
    assert data_of(page(usual(), report())) == {"report": usual(), "other": report(), "sessions": []}


@pytest.mark.parametrize("hostile", [HOSTILE, "</SCRIPT >", "<!--<script>", "]]>", "\ud800", "\x00\r\n"])
def test_hostile_text_stays_text(hostile: str) -> None:
    """It adds no element at any place, and is complete in the data."""
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
    """Their names are escaped."""
    html = page(report(client(name="<b>one"), client(name="two")))
    assert "<title>toolstream check: &lt;b&gt;one, two</title>" in html


def test_the_policy_allows_only_the_pages_own_style_and_script() -> None:
    """It has their hashes, and forbids every other source."""
    html = page(usual())
    elements = Elements(html)
    (policy,) = [one["content"] for one in elements.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules == {
        "default-src": "'none'",
        "style-src": digest(elements.texts["style"][0]),
        "script-src": digest(elements.texts["script"][1]),
        "img-src": "data:",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_nothing_is_loaded_from_elsewhere() -> None:
    """The page has no external address, no element that loads, and no markup made from text."""
    html = page(usual())
    elements = Elements(html)
    addresses = {
        value for _, attributes in elements.elements for name in ("src", "href") if (value := attributes.get(name))
    }
    assert addresses == {"#events-list", "data:,"}
    assert not {"img", "iframe", "object", "embed", "base"} & {tag for tag, _ in elements.elements}
    code = "".join(elements.texts["script"][1:] + elements.texts["style"])
    assert set(re.findall(r"https?:[^\"]*", code)) == {"http://www.w3.org/2000/svg"}
    assert not re.findall(r"url\(|@import|XMLHttpRequest|new WebSocket|EventSource|sendBeacon", code)
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", code)


def test_scripts_and_styles_can_be_embedded_in_html() -> None:
    """None contains the end of a script or style, or a comment."""
    folder = Path(str(files("toolstream_core.view") / "page"))
    parts = [path for path in folder.rglob("*") if path.suffix in {".js", ".css"}]
    assert len(parts) > 10
    for part in parts:
        assert not re.search("</s|<!--|\r", part.read_text(encoding="utf-8"), re.IGNORECASE), part.name


def test_the_page_is_small() -> None:
    """CI runs keep many pages."""
    assert len(page(report()).encode()) < LIMIT


def test_arguments_that_are_not_text_are_in_the_page_as_json() -> None:
    """JavaScript would change large integers."""
    returned = {"id": None, "name": "f", "arguments": {"n": 12345678901234567890, "x": 1.0}}
    turn = TURN | {"request": {"calls": [returned], "results": []}, "status": float("inf")}
    (found,) = data_of(page(report(client(case("a", turns=[turn])))))["report"]["clients"][0]["cases"][0]["turns"]
    assert found["request"]["calls"][0]["arguments"] == '{"n": 12345678901234567890, "x": 1.0}'
    assert found["status"] == "inf"


LABELLED = {"side-misread", "keys-on"}
"""Controls inside their label."""


def test_controls_are_accessible() -> None:
    """Every control of the frame has a name. Generated controls are tested in the browser."""
    elements = Elements(page(usual()))
    for tag in ("input", "select"):
        assert all(one.get("aria-label") or one["id"] in LABELLED for one in elements.all(tag))
    assert all(one.get("type") == "button" for one in elements.all("button"))
    assert elements.all("html") == [{"lang": "en"}]
