"""How to see a bug again: a server line with a request for it, and a test."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from toolstream_core.faults import parse_fault
from toolstream_core.protocols.requests import asked
from toolstream_core.transit.rows import keys_of
from toolstream_core.wire import json_access, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Json

PORT = 8642
_LONGEST = 4096
"""Bytes of a request that are printed; of a longer one, what is needed to be answered."""
_SHORT = 200
"""Characters of a setting or message in such a short request."""
_MESSAGES = ("messages", "input", "contents")


def fault_here(spec: str) -> str:
    """A fault as it acts again on the one answer that is served: without its targets among others, and chance.

    Raises `ToolstreamError`.
    """
    fault = parse_fault(spec, {spec.partition(":")[0]}, keys_of)
    return replace(fault, host=None, path=None, model=None, turn=None, p=1.0, times=None).spec


def server_lines(flow: str, path: str, request: Json, faults: Sequence[str] = ()) -> str:
    """Shell lines that serve a flow, under faults where there are any, and ask for it."""
    under = "".join(f" --fault {shlex.quote(spec)}" for spec in faults)
    url = shlex.quote(f"http://127.0.0.1:{PORT}{path}")
    return (
        f"toolstream serve {shlex.quote(flow)} --port {PORT}{under} &\n"
        f"curl --no-buffer --silent --retry 5 --retry-connrefused {url} \\\n"
        f"  -H 'content-type: application/json' --data-binary @- <<'JSON'\n"
        f"{numbers.dumps(asking(path, request), ascii_only=True)}\n"
        "JSON"
    )


def as_test(flow: str, path: str, request: Json, findings: list[str], faults: Sequence[str] = ()) -> str:
    """A test for `toolstream`'s pytest plugin that runs as it is, and says where a client goes."""
    body = numbers.dumps(asking(path, request), ascii_only=True)
    under = f", fault={list(faults)!r}" if faults else ""
    return (
        "import urllib.request\n\n"
        "import pytest\n\n"
        f"REQUEST = {body.encode()!r}\n\n\n"
        f"@pytest.mark.toolstream({flow!r}{under})\n"
        "def test_reproduction(toolstream):\n"
        "    # In the place of the next lines, your client: its base URL, key, proxy and certificate are set.\n"
        f"    url = toolstream.proxy_url + {path!r}\n"
        '    headers = {"content-type": "application/json"}\n'
        "    urllib.request.urlopen(urllib.request.Request(url, REQUEST, headers)).read()\n"
        f"    assert sorted({{finding.name for finding in toolstream.findings}}) == {findings!r}\n"
        "    # toolstream.assert_understood()  # once your client has sent its next request\n"
    )


def asking(path: str, request: Json) -> Json:
    """A request that is answered as `request` is: itself, or a short one where it is long."""
    if not isinstance(request, dict) or len(numbers.dumps(request)) <= _LONGEST:
        return request
    plain = {
        key: value for key, value in request.items() if isinstance(value, str | bool | int) and len(str(value)) < _SHORT
    }
    for key in _MESSAGES:
        if key in request:
            plain[key] = _last_words(request[key])
    wanted, asks = asked.read(path, request), asked.read(path, plain)
    return plain if asks is not None and wanted is not None and asks.dialect == wanted.dialect else request


def _last_words(messages: Json) -> Json:
    """What the user said last, cut."""
    if isinstance(messages, str):
        return messages[:_SHORT]
    said = [one for one in json_access.items(messages) if json_access.get(one, "role") == "user"]
    last = said[-1] if said else {"role": "user"}
    text = json_access.get(last, "content")
    if "parts" in last:
        return [{"role": "user", "parts": [{"text": "Go on."}]}]
    return [{"role": "user", "content": text[:_SHORT] if isinstance(text, str) else "Go on."}]
