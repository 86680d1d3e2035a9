"""A script for mitmdump: a request can name a function of toolstream, which then fails during that request."""

import importlib
import itertools
from typing import Any

from mitmproxy import http

HEADER = "x-sabotage"
_undo: list[tuple[Any, str, object]] = []


def failing(real: Any, number: str) -> Any:
    """The replacement of a function: it fails at each call, or only at the call of that number.

    Its message must not be logged: a real message could quote the traffic.
    """
    calls = itertools.count(1)

    def fail(*arguments: object, **named: object) -> object:
        if number and next(calls) != int(number):
            return real(*arguments, **named)
        raise RuntimeError("injected by the test")

    return fail


def requestheaders(flow: http.HTTPFlow) -> None:
    """Restore the function of the last request, and replace the function that this request names.

    The header is `package.module:Class.method`; with `#3` only the third call fails.
    """
    if "toolstream_again" in flow.metadata:
        return  # toolstream's own second request
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
