"""The session view as one HTML file that loads nothing."""

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

_PACKAGE: Final = "toolstream_core.view.page"
_START: Final = "main.js"
"""The script that starts the page. The others only define what it needs, in any order."""
_MARKUP: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def page(document: dict[str, Any], *, connect: str = "'none'") -> str:
    """The page of a document (`docs/view.schema.json`). `connect` is what its script may reach (CSP `connect-src`).

    Everything in the document is foreign text: it stands in the file as JSON without any character of markup, and the
    script of the page inserts it as text alone.
    """
    style, script = _text("style.css"), _script()
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    read = document["generated"]["files"]
    return Template(_text("page.html")).substitute(
        policy=policy,
        title=escape(f"toolstream: {read[0] if read else 'session'}"),
        style=style,
        script=script,
        data=document_text(document).translate(_MARKUP),
    )


def document_text(document: dict[str, Any]) -> str:
    """The document as JSON on one line."""
    return json.dumps(_exact(document), ensure_ascii=False, separators=(",", ":"))


@cache
def _text(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    names = sorted(one.name for one in files(_PACKAGE).iterdir() if one.name.endswith(".js") and one.name != _START)
    return "(() => {\n" + "\n".join(['"use strict";', *map(_text, [*names, _START])]) + "\n})();"


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
