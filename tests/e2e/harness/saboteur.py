"""A script for mitmdump: while a request is on that names a function of ours, that function fails."""

import importlib
import itertools
from typing import Any

from mitmproxy import http

HEADER = "x-sabotage"
_undo: list[tuple[Any, str, object]] = []


def failing(real: Any, number: str) -> Any:
    """What stands in a function's place: it fails each time, or only at one call of that number.

    Its message must not show: a real one could quote what passes.
    """
    calls = itertools.count(1)

    def fail(*arguments: object, **named: object) -> object:
        if number and next(calls) != int(number):
            return real(*arguments, **named)
        raise RuntimeError("planted for the test")

    return fail


def requestheaders(flow: http.HTTPFlow) -> None:
    """Undo what the last request broke, and break what this one names.

    `package.module:Class.method`, with `#3` at its third call alone.
    """
    if "toolstream_again" in flow.metadata:
        return  # a request that toolstream itself makes for the one that names it
    while _undo:
        setattr(*_undo.pop())
    place = flow.request.headers.pop(HEADER, "")
    if place:
        module, _, path = str(place).partition(":")
        path, _, number = path.partition("#")
        owner, _, name = path.partition(".")
        broken = getattr(importlib.import_module(module), owner)
        _undo.append((broken, name, getattr(broken, name)))
        setattr(broken, name, failing(getattr(broken, name), number))
