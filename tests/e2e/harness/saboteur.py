"""A script for mitmdump: while a request is on that names a function of ours, that function fails."""

import importlib
from typing import Any, NoReturn

from mitmproxy import http

HEADER = "x-sabotage"
_undo: list[tuple[Any, str, object]] = []


def fail(*_: object, **__: object) -> NoReturn:
    """What stands in the function's place. Its message must not show: a real one could quote what passes."""
    raise RuntimeError("planted for the test")


def requestheaders(flow: http.HTTPFlow) -> None:
    """Mend what the last request broke, and break what this one names (`package.module:Class.method`)."""
    if "toolstream_again" in flow.metadata:
        return  # a request that toolstream itself makes for the one that names it
    while _undo:
        setattr(*_undo.pop())
    place = flow.request.headers.pop(HEADER, "")
    if place:
        module, _, path = str(place).partition(":")
        owner, _, name = path.partition(".")
        broken = getattr(importlib.import_module(module), owner)
        _undo.append((broken, name, getattr(broken, name)))
        setattr(broken, name, fail)
