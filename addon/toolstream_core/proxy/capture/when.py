"""Which flows are worth keeping. Knows mitmproxy's flow."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from mitmproxy import http

from toolstream_core.model import Severity
from toolstream_core.protocols.requests import asked
from toolstream_core.saved.flow import content_of
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from toolstream_core.proxy.capture.draft import Ending

_FAILED = 400
"""From this status on an answer is an error."""


class When(enum.StrEnum):
    """Which flows of LLMs are kept."""

    ALL = "all"
    FINDINGS = "findings"
    """Those with a finding of severity warning or error, and those of `ERRORS`."""
    ERRORS = "errors"
    """Those that broke, are or hold an error, or have a finding of severity error."""


def is_kept(ending: Ending, when: When) -> bool:
    """Whether a flow that is over is an LLM's, and wanted."""
    if ending.record is None and not _asks_llm(ending):
        return False
    return when is When.ALL or _failed(ending) or (when is When.FINDINGS and Severity.WARNING in _found(ending))


def _asks_llm(ending: Ending) -> bool:
    request = http.Request.from_state(ending.state["request"])
    if request.method != "POST":
        return False
    body = content_of(request)
    return asked.may_be_llm(request.path, body) and asked.read(request.path, parse(body)) is not None


def _failed(ending: Ending) -> bool:
    response, record = ending.state["response"], ending.record
    if ending.broken is not None or (response is not None and response["status_code"] >= _FAILED):
        return True
    return record is not None and (record.error is not None or Severity.ERROR in _found(ending))


def _found(ending: Ending) -> set[Severity]:
    return set() if ending.record is None else {finding.severity for finding in ending.record.findings}
