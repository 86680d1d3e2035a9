"""The report of `toolstream check` as one HTML file that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, Final

SCRIPTS: Final = ("model.js", "table.js", "drawer.js", "main.js")
_PACKAGE: Final = "toolstream_core.report.check_page"
_MARKUP: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}


def page(report: dict[str, Any], other: dict[str, Any] | None = None) -> str:
    """The page of a report (`docs/check.schema.json`); with `other`, an earlier run, it says what changed since.

    Everything in the reports is taken for foreign text: it stands in the file as JSON without any markup character,
    and the script of the page inserts it as text alone.
    """
    style, script = _text("style.css"), "\n".join(['"use strict";', *map(_text, SCRIPTS)])
    names = ", ".join(str(client.get("name")) for client in report.get("clients", ()))
    return Template(_text("page.html")).substitute(
        policy=_policy(style, script),
        title=escape(f"toolstream check: {names}"),
        style=style,
        script=script,
        data=_data({"report": report, "other": other}),
    )


@cache
def _text(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """A content security policy under which this style and this script run, and nothing is loaded."""
    return (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(reports: dict[str, Any]) -> str:
    """JSON in ASCII that has no character with a meaning in HTML."""
    return json.dumps(_exact(reports), separators=(",", ":"), allow_nan=False).translate(_MARKUP)


def _exact(value: Any) -> Any:
    """Values as JavaScript holds them without a loss: arguments as JSON text, and numbers that JSON lacks as text."""
    if isinstance(value, dict):
        return {
            str(key): json.dumps(inner, ensure_ascii=False)
            if key == "arguments" and not isinstance(inner, str | None)
            else _exact(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_exact(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
