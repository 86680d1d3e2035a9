"""The session view, and the results of `toolstream check`, as one HTML file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import PurePosixPath
from string import Template
from typing import Any, Final

_PACKAGE: Final = "toolstream_core.view.page"
_START: Final = "start.js"
"""The script of a folder that starts the page. The others only define functions, in any order."""
_RESULTS: Final = "results"
"""The folder of the further files for the page of `toolstream check`."""
_MARKUP: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def page(document: dict[str, Any], *, connect: str = "'none'") -> str:
    """The page of a document (`docs/view.schema.json`). `connect`: the addresses for its script (CSP `connect-src`)."""
    read = document["generated"]["files"]
    return _page(f"toolstream: {read[0] if read else 'session'}", document, connect=connect)


def check_page(
    report: dict[str, Any], other: dict[str, Any] | None = None, sessions: Sequence[dict[str, Any]] = ()
) -> str:
    """The page of a report of `toolstream check` (`docs/check.schema.json`); `other` is an earlier run to compare with.

    A case opens in the session view. `sessions` has, for each client, what documents of the session view share,
    and under `cases` the rest of each by the id of its case. Other cases are shown from the report alone.
    """
    names = ", ".join(str(client.get("name")) for client in report.get("clients", ()))
    reports = _complete_arguments({"report": report, "other": other})
    return _page(f"toolstream check: {names}", {**reports, "sessions": sessions}, part=_RESULTS)


def _page(title: str, data: Any, *, connect: str = "'none'", part: str = "") -> str:
    """Everything in `data` is foreign text: it is JSON without any character of markup in the file.

    The script of the page inserts it only as text.
    """
    style, script = _style(part), _script(part)
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    return Template(_text("page.html")).substitute(
        policy=policy, title=escape(title), style=style, script=script, data=document_text(data).translate(_MARKUP)
    )


def document_text(document: Any) -> str:
    """The document as JSON on one line."""
    return json.dumps(_exact(document), ensure_ascii=False, separators=(",", ":"))


@cache
def _text(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")


def _style(part: str) -> str:
    return _text("style.css") + (_text(f"{part}/style.css") if part else "")


@cache
def _script(part: str) -> str:
    names = [*_scripts(""), *(f"{part}/{name}" for name in _scripts(part) if part), str(PurePosixPath(part, _START))]
    return "(() => {\n" + "\n".join(['"use strict";', *map(_text, names)]) + "\n})();"


def _scripts(part: str) -> list[str]:
    """The scripts that define functions for the page."""
    folder = files(_PACKAGE) / part if part else files(_PACKAGE)
    return sorted(one.name for one in folder.iterdir() if one.name.endswith(".js") and one.name != _START)


def _hash(text: str) -> str:
    """A source of a content security policy: only this text may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _exact(value: Any) -> Any:
    """Numbers that JSON lacks, as text."""
    if isinstance(value, dict):
        return {str(key): _exact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _complete_arguments(value: Any) -> Any:
    """A report whose arguments are JSON text: JavaScript would change large integers."""
    if isinstance(value, dict):
        return {
            key: json.dumps(inner, ensure_ascii=False)
            if key == "arguments" and not isinstance(inner, str | None)
            else _complete_arguments(inner)
            for key, inner in value.items()
        }
    return [_complete_arguments(inner) for inner in value] if isinstance(value, list | tuple) else value
