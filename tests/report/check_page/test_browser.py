"""The page in a real browser: what it shows, its filters, keys and drawer, and that it asks nobody for anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.chromium import program
from tests.report.check_page.browser import Browser
from tests.report.check_page.reports import HOSTILE, TURN, case, client, large, report, usual
from toolstream_core.report.check_page import page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CHROMIUM = program()
FLUENT = 2.0
"""Seconds of processor time for a large report; it takes about a third."""
CTRL = 2
ROWS = "tbody tr[data-key]"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("chromium"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: install one or name one in TOOLSTREAM_CHROMIUM"),
]

type Show = Callable[..., Browser]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for all tests."""
    assert CHROMIUM is not None
    with Browser(CHROMIUM, tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Shows the page of a report. Afterwards: it asked nobody for anything, and nothing was raised in it."""

    def shown(written: dict[str, Any], other: dict[str, Any] | None = None, place: str = "") -> Browser:
        file = tmp_path / "page.html"
        file.write_text(page(written, other), encoding="utf-8")
        browser.open(file, place)
        return browser

    yield shown
    requests = [
        one["params"]["request"]["url"] for one in browser.events if one["method"] == "Network.requestWillBeSent"
    ]
    assert {url.split(":")[0] for url in requests} <= {"file", "data"}
    assert len([url for url in requests if url.startswith("file:")]) == 1
    bad = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
    assert [one["params"] for one in browser.events if one["method"] in bad] == []


def names(browser: Browser) -> list[str]:
    """The cases that are shown."""
    return browser.texts(f"{ROWS} .name")


def focused(browser: Browser) -> str:
    """The id of the cell that has the focus, else of the element."""
    found: str = browser.run("document.activeElement.dataset.id ?? document.activeElement.id")
    return found


def test_a_report_of_one_client(show: Show) -> None:
    """A list by kind with reasons; head and card count."""
    browser = show(usual())
    assert names(browser) == ["healthy", "empty-id", "cut-off", "bare", "stall", "drip", "broken"]
    assert browser.texts("tr.group") == [
        "Healthy responses", "Faults", "Shapes (valid encodings)", "Timing and connection faults", "Presets",
    ]  # fmt: skip
    assert browser.texts("td.what")[1] == "returned without arguments: call 0 came back as {}"
    assert browser.texts("#about") == [
        "7 cases · started 2026-01-02T03:04:05Z · took 61 s · seed 0 · toolstream 0.1.0 · mitmproxy 12.2.0"
    ]
    assert browser.texts(".client .result") == ["2 required cases failed. 1 case could not be run."]
    assert browser.texts(".reasons li") == ["returned an incomplete call 1", "returned without arguments 1"]
    assert browser.texts("#shown") == ["7 cases"]
    assert browser.run("document.querySelector('[data-id$=empty-id]').ariaLabel") == (
        "agent.py, empty-id, failed, returned without arguments, required"
    )


def test_filters(show: Show) -> None:
    """By grade, kind, need and text, by a reason's chip; cleared in one step."""
    browser = show(usual())
    browser.run("document.querySelector('#grades [data-grade=failed]').click()")
    assert names(browser) == ["empty-id", "cut-off"]
    assert browser.texts("#shown") == ["2 of 7 cases"]
    assert browser.run("document.querySelector('#grades [data-grade=failed]').ariaPressed") == "true"
    browser.press("/", "/")
    assert focused(browser) == "text"
    browser.type("incomplete")
    assert names(browser) == ["cut-off"]
    browser.run("document.getElementById('clear').click()")
    assert len(names(browser)) == 7
    choose(browser, "kind", "transit")
    assert names(browser) == ["stall", "drip"]
    choose(browser, "need", "required")
    assert names(browser) == []
    choose(browser, "kind", "")
    assert names(browser) == ["healthy", "empty-id", "cut-off", "bare", "broken"]
    browser.run("document.getElementById('clear').click()")
    browser.run("document.querySelector('.reasons button').click()")
    assert names(browser) == ["cut-off"]


def choose(browser: Browser, select: str, value: str) -> None:
    """An option of a select, as a person chooses it."""
    browser.run(
        f"(() => {{ const one = document.getElementById('{select}'); one.value = '{value}'; "
        "one.dispatchEvent(new Event('change')); })()"
    )


def test_the_worst_first(show: Show) -> None:
    """Required failures lead, by how bad they are."""
    browser = show(usual())
    choose(browser, "order", "worst")
    assert names(browser) == ["cut-off", "empty-id", "broken", "bare", "stall", "drip", "healthy"]


def test_keys(show: Show) -> None:
    """Arrows move among what is shown, Enter opens, n and p go on, Esc closes and comes back."""
    browser = show(usual())
    browser.run("document.querySelector('button.cell[tabindex=\"0\"]').focus()")
    assert focused(browser) == "openai-chat/healthy/healthy"
    browser.press("ArrowDown")
    assert focused(browser) == "openai-chat/fault/empty-id"
    browser.press("ArrowUp")
    browser.press("ArrowUp")
    browser.press("ArrowLeft")
    assert focused(browser) == "openai-chat/healthy/healthy"
    browser.press("End", modifiers=CTRL)
    assert focused(browser) == "openai-chat/preset/broken"
    browser.press("Home", modifiers=CTRL)
    browser.press("ArrowDown")
    browser.press("Enter", "\r")
    assert focused(browser) == "drawer"
    assert browser.texts("#drawer-title") == ["empty-id"]
    browser.press("n", "n")
    assert browser.texts("#drawer-title") == ["cut-off"]
    browser.press("p", "p")
    browser.press("p", "p")
    assert browser.texts("#drawer-title") == ["healthy"]
    browser.press("Escape")
    assert browser.texts("#drawer") == []
    assert focused(browser) == "openai-chat/healthy/healthy"
    assert browser.run("document.querySelectorAll('button.cell[tabindex=\"0\"]').length") == 1
    browser.press("?", "?")
    assert "Keys and marks" in browser.texts("#help")[0]
    browser.press("Escape")
    assert browser.texts("#help") == []


def test_the_drawer(show: Show) -> None:
    """The stream with its findings, the next request with what differs, why, and the command."""
    browser = show(usual(), place="#client=0&case=openai-chat%2Ffault%2Fempty-id")
    assert browser.texts(".drawer-head .quiet") == ["agent.py · openai-chat/fault/empty-id"]
    assert browser.texts("#drawer .grade") == ["✗ failed: returned without arguments"]
    assert len(browser.texts(".events > li")) == 5
    assert browser.texts('.events [data-event="1"] .finding') == ['warning empty-id TS102: id is "" after "call_1"']
    assert browser.texts(".events .call") == ["call 0"] * 3
    assert browser.texts(".events .parts pre") == [TURN["events"][1]]
    assert browser.texts(".differs td") == ['{"city":"Graz"}', "{}"]
    assert browser.texts(".tool-result") == ["result for call_1: no city"]
    assert (
        browser.texts(".why p")[0]
        == 'the client starts a new call for every id, also an empty one (first misreads event 1: "")'
    )
    assert browser.texts(".copyable code") == [
        "--repair empty-id",
        "toolstream check --only openai-chat/fault/empty-id -- python agent.py",
    ]
    browser.run("document.querySelector('.why .link').click()")
    assert browser.run("document.activeElement.dataset.event") == "1"


def test_the_command_is_copied(show: Show) -> None:
    """Where the page may not write to the clipboard, by way of a selection."""
    browser = show(usual(), place="#client=0&case=openai-chat%2Ffault%2Fempty-id")
    browser.run("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    browser.run("document.querySelector('.run .copy').click()")
    assert browser.run("window.copied") == "--repair empty-id"
    assert browser.texts(".run .copy")[0] == "Copied"
    browser.run("navigator.clipboard.writeText = () => Promise.reject(new Error())")
    browser.run("document.execCommand = () => { window.copied = document.activeElement.value; return true; }")
    browser.run("document.querySelectorAll('.run .copy')[1].click()")
    copied = browser.run("new Promise((done) => setTimeout(() => done(window.copied)))")
    assert copied == "toolstream check --only openai-chat/fault/empty-id -- python agent.py"
    assert browser.run("document.querySelectorAll('textarea').length") == 0


def test_several_clients(show: Show) -> None:
    """A column each; a cell that is not what the filter asks for steps back."""
    cases = [case("a"), case("b", "failed", "wrong id")]
    second = client(case("a", "failed", "crashed"), name="two", repair=["safe"])
    browser = show(report(client(*cases, name="one"), second))
    assert browser.texts("thead th") == ["Case", "one openai-chat", "two + repair safe openai-chat"]
    assert browser.texts("button.cell .words") == ["ok", "crashed", "wrong id"]
    browser.run("document.querySelector('#grades [data-grade=failed]').click()")
    assert browser.run("[...document.querySelectorAll('button.cell')].map((one) => one.classList.contains('dim'))") == [
        True, False, False,
    ]  # fmt: skip
    browser.run("document.querySelector('button.cell').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowDown")
    assert focused(browser) == "openai-chat/fault/a"
    assert browser.run("document.activeElement.dataset.at") == "1"


def test_two_runs(show: Show, tmp_path: Path) -> None:
    """What got better, worse, new and gone, also with the second run from a file that the reader chooses."""
    now = report(client(case("a"), case("b", "failed", "crashed"), case("c")))
    then = report(
        client(case("a", "failed", "lost a call", turns=[TURN]), case("b"), case("d")), client(name="gone.py")
    )
    browser = show(now, then)
    assert "1 worse" in browser.texts("#changes")[0]
    assert "gone.py missing in this run" in browser.texts("#changes")[0]
    marks = "[...document.querySelectorAll('.cell .change')].map((one) => one.dataset.change)"
    assert browser.run(marks) == ["better", "worse", "new", "gone"]
    assert browser.texts(".before") == ["before: lost a call", "before: ok"]
    choose(browser, "change", "better")
    assert names(browser) == ["a"]
    browser.run("document.querySelector('button.cell').click()")
    assert browser.texts("#drawer .events") == []
    browser.run("document.querySelector('#drawer .banner button').click()")
    assert len(browser.texts("#drawer .events > li")) == 5
    browser = show(now)
    assert browser.texts("#changes") == []
    choose_file(browser, tmp_path, json.dumps(then))
    assert browser.run(marks) == ["better", "worse", "new", "gone"]
    choose_file(browser, tmp_path, "no JSON")
    assert browser.texts("#notice") == ["This file is not JSON."]


def test_what_repair_saves(show: Show) -> None:
    """The earlier run is the same client without repair."""
    raw = report(client(case("a", "failed", "lost a call")))
    browser = show(report(client(case("a"), repair=["safe"])), raw)
    assert browser.texts("#changes b") == ["Changes with repair, compared to the run without it"]
    assert browser.texts("button.cell .change") == ["▲ better"]


def choose_file(browser: Browser, folder: Path, text: str) -> None:
    """A file of an earlier run, as a person chooses it; returns when the page has read it."""
    file = folder / "earlier.json"
    file.write_text(text)
    node = browser.ask("Runtime.evaluate", expression="document.getElementById('compare-file')")["result"]["objectId"]
    browser.ask("DOM.setFileInputFiles", files=[str(file)], objectId=node)
    browser.run("new Promise((done) => setTimeout(done, 100))")


def test_hostile_text_is_only_shown(show: Show) -> None:
    """Nothing of it runs, becomes an element, or turns the text around it."""
    turn = TURN | {
        "events": [HOSTILE],
        "broken": HOSTILE,
        "findings": [TURN["findings"][0] | {"message": HOSTILE, "event": 0}],
    }
    turn["request"] = {"calls": [{"id": HOSTILE, "name": HOSTILE, "arguments": HOSTILE}], "results": [{"id": HOSTILE}]}
    named = case(
        HOSTILE, "failed", HOSTILE, title=HOSTILE, message=HOSTILE, output=HOSTILE, rerun=HOSTILE, turns=[turn]
    )
    written = report(client(named, name=HOSTILE, protocol=HOSTILE, repair=[HOSTILE], command=[HOSTILE]))
    browser = show(written, written)
    browser.run("document.querySelector('button.cell').click()")
    assert browser.run("document.title").startswith("toolstream check")
    assert browser.run("document.querySelectorAll('img').length") == 0
    shown = [HOSTILE.replace("\u2028", "\\u2028").replace("\u202e", "\\u202e")]
    browser.wait_for("document.querySelector('.events pre') !== null")  # a busy browser fills it in later
    assert browser.texts(".events pre") == shown
    assert browser.texts("#drawer-title")[0].startswith("</script><img")


def test_a_large_report_opens_fluently(show: Show) -> None:
    """Five clients, 150 cases each."""
    browser = show(large(5, 150))
    opened = browser.work()
    assert 0 < opened < FLUENT
    assert len(names(browser)) == 150
    browser.press("/", "/")
    browser.type("row-14")
    assert browser.work() - opened < FLUENT
    assert len(names(browser)) == 11


def brightness(color: str) -> float:
    """Of `rgb(…)`, from 0 to 255."""
    return sum(map(int, color[4:-1].split(","))) / 3


def test_dark_and_light(show: Show) -> None:
    """As the reader's system has it, and the other at a click; printed on white, without controls."""
    browser = show(usual())
    color = "getComputedStyle(document.body).backgroundColor"
    scheme = "Emulation.setEmulatedMedia"
    browser.ask(scheme, features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = browser.run(color)
    browser.run("document.getElementById('theme').click()")
    light = browser.run(color)
    assert brightness(dark) < 60
    assert brightness(light) > 200
    browser.run("document.getElementById('theme').click()")
    browser.ask(scheme, media="print")
    assert browser.run(color) == "rgb(255, 255, 255)"
    assert browser.texts("#filters") == []
    assert len(names(browser)) == 7
    browser.ask(scheme, media="", features=[])
