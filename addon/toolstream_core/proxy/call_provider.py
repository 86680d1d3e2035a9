"""Answers LLM requests with calls that are made for the tools on offer. Knows mitmproxy's flow."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from toolstream_core.fixtures import content_of
from toolstream_core.model import ABSENT
from toolstream_core.proxy.provider import ProviderError, json_response, respond
from toolstream_core.proxy.replies import models_named
from toolstream_core.synthetic.answers import MODEL, SyntheticProvider
from toolstream_core.synthetic.call_specs import CallSpecError, parse_calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mitmproxy import http

    from toolstream_core.model import Json

logger = logging.getLogger(__name__)


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
        for why in filter(None, (written.not_offered, _withheld(written.withheld))):
            if why not in self._told:
                self._told.add(why)
                logger.warning("toolstream answered with %s: %s", _counted(len(written.calls)), why)
        respond(flow, written)
        return True


def _withheld(tools: Sequence[str]) -> str:
    """Why no tool is called, and how to call one."""
    if not tools:
        return ""
    listed = ", ".join(tools)
    return f"none of the offered tools is known to be harmless ({listed}); name one to call it, as in calls:{tools[0]}"


def _counted(count: int) -> str:
    return "a text" if not count else "1 generated call" if count == 1 else f"{count} generated calls"
