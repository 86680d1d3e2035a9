"""Answers LLM requests with calls that are made for the tools on offer. Knows mitmproxy's flow."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from mitmproxy import http

from toolstream_core.fixtures import Chunk, content_of
from toolstream_core.model import ABSENT
from toolstream_core.proxy.provided import note
from toolstream_core.proxy.provider import ProviderError, framed, json_response
from toolstream_core.proxy.replies import models_named
from toolstream_core.synthetic.answers import MODEL, SyntheticProvider
from toolstream_core.synthetic.call_specs import CallSpecError, parse_calls
from toolstream_core.wire.form import CONTENT_TYPES
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.model import Json
    from toolstream_core.synthetic.answers import Written

logger = logging.getLogger(__name__)
_EACH_MS: Final = 20
"""Milliseconds between two events, at speed 1."""


class CallProvider:
    """Answers in the providers' place."""

    def __init__(self, provider: SyntheticProvider) -> None:
        """`provider` says what; this says it in HTTP."""
        self._provider = provider
        self._models = {MODEL}
        self._told: set[str] = set()
        """What was said of tools that are not on offer; once for each set of tools."""

    @classmethod
    def load(cls, texts: Iterable[str], seed: int) -> CallProvider:
        """Read the calls that the user wrote. Raises `ProviderError`."""
        try:
            return cls(SyntheticProvider(parse_calls(texts), seed))
        except CallSpecError as error:
            raise ProviderError(str(error)) from error

    def recorded(self, flow: http.HTTPFlow) -> bool:
        """Nothing is saved."""
        del flow
        return False

    def example(self, path: str) -> Json:
        """Nothing is saved."""
        del path
        return ABSENT

    def answer(self, flow: http.HTTPFlow) -> bool:
        """Set the response of a request that is an LLM's; others are left alone and `False`."""
        request = flow.request
        if request.method == "GET":
            listed = models_named(request.path, lambda kind: sorted(self._models))  # noqa: ARG005 - all are alike
            if listed is not None:
                flow.response = json_response(200, listed)
            return listed is not None
        written = self._provider.answer(request.path, content_of(request)) if request.method == "POST" else None
        if written is None:
            return False
        if written.wanted.model:
            self._models.add(written.wanted.model)
        flow.comment = f"answered with {_counted(len(written.calls))}"
        if written.not_offered and written.not_offered not in self._told:
            self._told.add(written.not_offered)
            logger.warning("toolstream answered with %s: %s", _counted(len(written.calls)), written.not_offered)
        if written.events:
            _stream(flow, written)
        else:
            flow.response = json_response(200, written.whole)
        return True


def _stream(flow: http.HTTPFlow, written: Written) -> None:
    form = written.wanted.form
    events = written.events
    if form is not written.protocol.form:
        events = tuple(framed([parse(event.partition(b"data: ")[2]) for event in events], form))
    chunks = [Chunk(_EACH_MS * at, event) for at, event in enumerate(events)]
    flow.response = http.Response.make(200, b"".join(events), {"content-type": CONTENT_TYPES[form]})
    note(flow, chunks, None)


def _counted(count: int) -> str:
    return "a text" if not count else "1 made call" if count == 1 else f"{count} made calls"
