"""mitmproxy's content views of LLM responses, their requests, and the messages of their WebSockets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, override

from mitmproxy import contentviews, http

from toolstream_core.proxy.ui.facts import Facts, cannot_show
from toolstream_core.proxy.ui.known import Known, SocketPart
from toolstream_core.proxy.ui.text import event_line, event_lines, response_lines, returned_lines, wrapped
from toolstream_core.redact import redacted
from toolstream_core.saved.flow import secrets_of

FIRST: Final = 2.0
"""Wins `auto`: mitmproxy's own views have 1 at most."""
SECOND: Final = 1.5
"""Wins `auto` if toolstream's other view has no priority."""
LAST: Final = 0.05
"""Can be selected, and never wins."""
NEVER: Final = -1.0


class View(contentviews.Contentview):
    """A view that never raises: after an internal error, and for other bodies, it shows the text of the body."""

    def __init__(self, known: Known) -> None:
        """`known` has the displayed responses."""
        self._known = known

    @property
    @override
    def syntax_highlight(self) -> contentviews.SyntaxHighlight:
        return "yaml"

    @override
    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        flow = metadata.flow
        if not isinstance(flow, http.HTTPFlow):
            return _plain(data, ())
        try:
            if (lines := self._lines(flow, metadata)) is not None:
                return "".join(f"{line}\n" for line in lines)
        except Exception as error:  # noqa: BLE001 - after any error, the body is shown
            cannot_show(flow.id, error)
        return _plain(data, secrets_of(flow.request))

    @override
    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        flow = metadata.flow
        if not isinstance(flow, http.HTTPFlow):
            return NEVER
        try:
            return self._priority(flow, metadata)
        except Exception as error:  # noqa: BLE001 - mitmproxy's own views are there
            cannot_show(flow.id, error)
            return NEVER

    def _lines(self, flow: http.HTTPFlow, metadata: contentviews.Metadata) -> Iterable[str] | None:
        """The displayed lines; `None` if there is no LLM response."""
        raise NotImplementedError

    def _priority(self, flow: http.HTTPFlow, metadata: contentviews.Metadata) -> float:
        raise NotImplementedError

    def _response(self, flow: http.HTTPFlow, metadata: contentviews.Metadata) -> Facts | None:
        """The displayed response, if any."""
        shown = metadata.http_message is not None and metadata.http_message is flow.response
        return self._known.facts(flow) if shown else None

    def _parts(self, flow: http.HTTPFlow, metadata: contentviews.Metadata) -> Sequence[SocketPart]:
        """The response that a displayed message of a WebSocket belongs to."""
        message = metadata.websocket_message
        return self._known.parts(flow, message) if message is not None and flow.websocket is not None else ()


class ToolCalls(View):
    """How a client interpreted a response, and its calls; for a request, the returned calls."""

    @property
    @override
    def name(self) -> str:
        return "Tool calls"

    @override
    def _lines(self, flow: http.HTTPFlow, metadata: contentviews.Metadata) -> Iterable[str] | None:
        facts = self._response(flow, metadata)
        if facts is not None:
            return wrapped(response_lines(facts, self._known.seen(flow.id)))
        if metadata.http_message is not None and metadata.http_message is flow.request:
            verdicts = self._known.answered_by(flow.id)
            return wrapped(returned_lines(verdicts)) if verdicts else None
        lines = [line for part in self._parts(flow, metadata) for line in self._part(part)]
        return wrapped(lines) if lines else None

    @override
    def _priority(self, flow: http.HTTPFlow, metadata: contentviews.Metadata) -> float:
        facts = self._response(flow, metadata)
        if facts is not None:
            has_calls = facts.record.calls or facts.record.findings
            return FIRST if facts.record.streamed and has_calls else LAST
        if metadata.http_message is not None and metadata.http_message is flow.request:
            verdicts = self._known.answered_by(flow.id)
            if any(not one.verdict.understood for one in verdicts):
                return FIRST
            return LAST if verdicts else NEVER
        return FIRST if any(self._tells(part) for part in self._parts(flow, metadata)) else NEVER

    def _tells(self, part: SocketPart) -> bool:
        if part.is_request:
            return any(not one.verdict.understood for one in self._known.answered_by(part.token))
        return part.is_last and bool(part.facts.record.calls or part.facts.record.findings)

    def _part(self, part: SocketPart) -> Iterable[str]:
        if part.is_request:
            return returned_lines(self._known.answered_by(part.token))
        return response_lines(part.facts, self._known.seen(part.token)) if part.is_last else ()


class Events(View):
    """The events of a response, each on a line."""

    @override
    def _lines(self, flow: http.HTTPFlow, metadata: contentviews.Metadata) -> Iterable[str] | None:
        facts = self._response(flow, metadata)
        if facts is not None:
            return event_lines(facts, self._diverges(flow.id))
        lines = [event_line(part.facts, part.event) for part in self._parts(flow, metadata) if part.event is not None]
        return lines or None

    @override
    def _priority(self, flow: http.HTTPFlow, metadata: contentviews.Metadata) -> float:
        facts = self._response(flow, metadata)
        if facts is not None:
            return SECOND if facts.record.streamed else LAST
        return SECOND if any(part.event is not None for part in self._parts(flow, metadata)) else NEVER

    def _diverges(self, token: str) -> int | None:
        judged = self._known.seen(token).judged
        return None if judged is None or judged.verdict.understood else judged.explained.event


def _plain(data: bytes, secrets: tuple[str, ...]) -> str:
    return redacted(data.decode("utf-8", "backslashreplace"), secrets)
