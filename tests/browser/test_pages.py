"""The HTML pages in a browser: interactions, accessibility, layout, and no requests.

The checks are the JavaScript files in this folder. `toolstream view` writes the pages.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Final

import pytest

from tests.browser.chromium import program
from tests.browser.reports import REPORTS
from tests.browser.sessions import write_session
from tests.e2e.harness.mitmweb import Web, request_for, send_request, turns, without_arguments
from tests.e2e.harness.upstream import Upstream
from tests.e2e.harness.versions import VERSIONS, Version
from tests.e2e.live_client import viewed
from toolstream_core.cli.main import main
from toolstream_core.view.assemble import check_page

HERE: Final = Path(__file__).parent
PACKAGES: Final = HERE.parents[1] / "requirements" / "browser"
NODE: Final = shutil.which("node")
CHROMIUM: Final = program()
PATIENCE: Final = 300
"""The time limit of a group of checks in seconds; a group takes about 15."""
WITHOUT_BROWSER: Final[dict[str, tuple[str, ...]]] = {
    "scripts": ("loop", "truncated", "repaired", "violating", "choices", "large"),
    "cases": (),
}
IN_BROWSER: Final = {
    "keys": ("loop",),
    "pointer": ("loop",),
    "panels": ("loop", "many"),
    "states": (
        "loop", "only-last", "healthy", "truncated", "repaired", "violating", "error", "choices", "unstreamed",
        "socket", "untimed", "few", "hostile",
    ),
    "live": ("loop",),
    "layout": ("loop", "healthy", "truncated", "repaired", "violating", "error", "unstreamed"),
    "large": ("large",),
    "results": tuple(REPORTS),
}  # fmt: skip
"""The sessions whose pages each group of checks opens."""

IN_CHROMIUM: Final = (
    pytest.mark.skipif(
        not (PACKAGES / "node_modules").is_dir(), reason="the packages of requirements/browser are not installed"
    ),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: install one or name one in TOOLSTREAM_CHROMIUM"),
)

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(NODE is None, reason="there is no Node.js")]


def write_page(name: str, folder: Path) -> None:
    """Write the page of a session or of a report of `toolstream check`."""
    page = folder / f"{name}.html"
    if name in REPORTS:
        page.write_text(check_page(*REPORTS[name]()), encoding="utf-8", errors="backslashreplace")
    else:
        assert main(["view", str(write_session(name, folder)), "-o", str(page)]) == 0


def run_checks(group: str, sessions: tuple[str, ...], folder: Path, view: str = "", **environment: str) -> None:
    """Write the pages and run the checks of a group; `view` is the address of a live view."""
    for name in sessions:
        write_page(name, folder)
    assert NODE is not None
    done = subprocess.run(
        [NODE, "--test", "--test-reporter=tap", str(HERE / f"{group}.mjs")],
        env={
            **os.environ,
            "TOOLSTREAM_PAGES": str(folder),
            "TOOLSTREAM_PAGE_SOURCE": str(files("toolstream_core.view") / "page"),
            "TOOLSTREAM_BROWSER": str(PACKAGES),
            "TOOLSTREAM_CHROMIUM": CHROMIUM or "",
            "TOOLSTREAM_VIEW": view,
            **environment,
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# pass 0\n" not in done.stdout


@pytest.mark.parametrize("group", WITHOUT_BROWSER)
def test_scripts_without_a_browser(group: str, tmp_path: Path) -> None:
    """The checks of the page's scripts pass without a DOM."""
    run_checks(group, WITHOUT_BROWSER[group], tmp_path)


@pytest.mark.parametrize("group", [pytest.param(group, marks=IN_CHROMIUM) for group in IN_BROWSER])
def test_page(group: str, tmp_path: Path) -> None:
    """The checks of the pages pass in Chromium."""
    run_checks(group, IN_BROWSER[group], tmp_path)


@pytest.mark.parametrize("group", [pytest.param("served", marks=IN_CHROMIUM)])
def test_served_page(group: str, tmp_path: Path) -> None:
    """The checks of the live page of `toolstream run --view` pass after the client has ended."""
    with viewed(tmp_path) as address:
        run_checks(group, (), tmp_path, address)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
@pytest.mark.parametrize("group", [pytest.param("mitmweb", marks=IN_CHROMIUM)])
def test_mitmweb(group: str, version: Version, tmp_path: Path) -> None:
    """The checks of mitmweb pass: content views, marks, bodies, and a verdict on an open response."""
    if version.unavailable:
        pytest.skip(version.unavailable)
    with Upstream() as upstream, Web(version, tmp_path) as web:
        sample, after = turns()
        send_request(web, upstream, sample)
        following = request_for(upstream, after, *without_arguments(sample))
        proxy = web.proxy.url
        run_checks(group, (), tmp_path, web.address, TOOLSTREAM_PROXY=proxy, TOOLSTREAM_NEXT=json.dumps(following))


def test_every_file_of_checks_runs() -> None:
    """Each JavaScript file of this folder is a group of checks."""
    groups = {path.stem for path in HERE.glob("*.mjs")} - {"harness"}
    assert groups == {*WITHOUT_BROWSER, *IN_BROWSER, "served", "mitmweb"}
