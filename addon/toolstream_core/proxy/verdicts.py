"""Judges how clients interpreted live responses, by their next requests. Knows mitmproxy's flow."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from mitmproxy import http

from toolstream_core.clients.received import ReceivedBytes
from toolstream_core.delivery.sent_bytes import SentBytes
from toolstream_core.model import ABSENT, Call, Json, Record, StreamFacts
from toolstream_core.protocols.requests.conversation import without_history
from toolstream_core.proxy.backlog import Jobs
from toolstream_core.proxy.flow_facts import ForwardedResponse, forwarded_response
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.redact import redacted
from toolstream_core.report.judging import Explaining
from toolstream_core.report.verdict import UNEXPLAINED, Explained, ReportedVerdict
from toolstream_core.saved.flow import secrets_of, sent_in
from toolstream_core.stages.stream_checks import BY_CLIENT
from toolstream_core.verdict.conversations import Conversations, Judged

SILENT_AFTER: Final = 600.0
"""Seconds after which a response without a following request is reported; a tool may take long."""


EXPLAINED_AT_ONCE: Final = 8
"""Maximum number of verdicts that wait for an explanation, which takes seconds; others are reported without."""
EXPLAINED_BYTES: Final = 64 * 1024
"""Maximum bytes of a response whose verdict is explained."""
LAST_EXPLANATIONS: Final = 5.0
"""Seconds that the end of the proxy waits for explanations; a client often exits after its next request."""


class LiveVerdict(NamedTuple):
    """A verdict on a live response, and the response."""

    reported: ReportedVerdict
    response: ForwardedResponse

    def explained(self, why: Explained) -> LiveVerdict:
        """The verdict with an explanation."""
        return self._replace(reported=replace(self.reported, explained=why))


class Verdicts:
    """Pairs the requests and responses of one run of the proxy."""

    def __init__(
        self,
        on_verdict: Callable[[LiveVerdict], None],
        failed: Callable[[str, Exception], None],
        delivered: Callable[[LiveResponse, Sequence[Call]], None],
        *,
        ids_kept: bool = False,
        understood: int = 0,
    ) -> None:
        """`failed` gets internal errors, with the flow's id; `delivered` gets calls that a client got changed.

        `ids_kept`: as for `judge`, whose caller waits. `understood`: as for `Explainer`.
        """
        self._on_verdict = on_verdict
        self._failed = failed
        self._tell_delivered = delivered
        self._in_background = not ids_kept
        self._explaining = Explaining(understood)
        self._explainer = ThreadPoolExecutor(1, "toolstream-explains")
        self.unexplained: dict[Future[Explained], LiveVerdict] = {}
        """The verdicts that wait for an explanation."""
        self._conversations = Conversations[ForwardedResponse](self._report, ids_kept=ids_kept)
        self._jobs = Jobs()
        """Requests and responses that were not judged yet, in their order."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._secrets: tuple[str, ...] = ()
        self._request: Json = ABSENT
        """The body of the request that is judged now, and its secrets."""

    @property
    def waiting(self) -> bool:
        """Whether verdicts on earlier requests and responses are not reported yet."""
        return bool(self._jobs or self.unexplained)

    def on_request(self, flow: http.HTTPFlow, request: Json) -> None:
        """Receive a request with this body, before any change."""
        facts = StreamFacts(host=flow.request.pretty_host, path=flow.request.path, request=request)
        self._add(flow.id, self._requested(flow.id, facts, secrets_of(flow.request)))

    def responded(self, flow: http.HTTPFlow, live: LiveResponse) -> None:
        """Receive an ended response."""
        record, sent, head = live.record, live.sent, live.head
        if record is None or sent is None or head is None:
            self.unanswered(flow)
            return
        broken = flow.error.msg if flow.error else record.broken
        left = broken is not None and not record.ended and _is_gone(flow, broken)
        captured = None if flow.live else sent_in(flow)
        if captured is not None:
            sent = SentBytes(replace(sent.exchange, content_encoding=""))
            sent.take(captured)
        changed = live.differs or captured is not None
        self._add(flow.id, self._responded(live, sent, broken, changed=changed, left=left))

    def unanswered(self, flow: http.HTTPFlow) -> None:
        """Receive a request without an LLM response, or whose response ended before mitmproxy reported it."""
        self._add(flow.id, self._unanswered(flow.id))

    def _add(self, flow: str, job: Iterator[None]) -> None:
        """Do a job after the earlier ones, at once if the caller waits for verdicts."""
        self._jobs.add(self._safely(flow, job))
        if not self._in_background:
            self._jobs.finish()

    def _safely(self, flow: str, job: Iterator[None]) -> Iterator[None]:
        """After an error, the jobs of other flows continue; requests and responses are forwarded in any case."""
        try:
            yield from job
        except Exception as error:  # noqa: BLE001 - any error
            self._failed(flow, error)

    def _requested(self, token: str, facts: StreamFacts, secrets: tuple[str, ...]) -> Iterator[None]:
        self._secrets, self._request = secrets, facts.request
        try:
            self._conversations.llm_request(token, facts)
        finally:
            self._secrets, self._request = (), ABSENT
        yield

    def _unanswered(self, token: str) -> Iterator[None]:
        self._conversations.no_response(token)
        yield

    def _responded(
        self, live: LiveResponse, sent: SentBytes, broken: str | None, *, changed: bool, left: bool
    ) -> Iterator[None]:
        """Take a response. It is read again if it may differ from the intended calls, which takes a while."""
        flow, record, head = live.flow, live.record, live.head
        assert record is not None
        assert head is not None
        if changed:
            got = yield from sent.record(broken=broken)
            if got is not None:
                if _comparable(got) != _comparable(record):
                    self._tell_delivered(live, got.calls)
                record = got
        response = forwarded_response(flow, record, sent, head, broken, live.secrets)
        if response.calls and not left:
            self._begin_waiting(flow.id)
        self._conversations.response(flow.id, response, left=left)

    def missing(self) -> Iterator[LiveVerdict]:
        """The verdicts on responses that no request has followed so far."""
        self._jobs.finish()
        for judged in self._conversations.missing():
            yield _described(judged, partial(redacted, secrets=judged.response.secrets))

    def close(self) -> None:
        """Called after the last request."""
        self._jobs.finish()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._conversations.close()
        waiting, self.unexplained = self.unexplained, {}
        done, _ = wait(waiting, timeout=LAST_EXPLANATIONS)
        self._explainer.shutdown(wait=False, cancel_futures=True)
        for future, verdict in waiting.items():
            self._report_safely(verdict.explained(future.result()) if future in done else verdict)

    def _begin_waiting(self, flow: str) -> None:
        def expired() -> None:
            self._timers.pop(flow, None)
            self._conversations.silent(flow)

        with contextlib.suppress(RuntimeError):  # no loop runs
            self._timers[flow] = asyncio.get_running_loop().call_later(SILENT_AFTER, expired)

    def _report(self, judged: Judged[ForwardedResponse]) -> None:
        timer = self._timers.pop(judged.token, None)
        if timer is not None:
            timer.cancel()
        hide = partial(redacted, secrets=(*judged.response.secrets, *self._secrets))
        reported = _described(judged, hide)
        explain = partial(self._why, reported, without_history(self._request))
        loop = None
        with contextlib.suppress(RuntimeError):  # no loop runs
            loop = asyncio.get_running_loop() if self._in_background else None
        if loop is None:
            self._report_safely(reported.explained(explain()))
        elif len(self.unexplained) >= EXPLAINED_AT_ONCE or not _is_to_be_explained(reported):
            self._report_safely(reported)
        else:
            future = self._explainer.submit(explain)
            self.unexplained[future] = reported
            future.add_done_callback(partial(self._wake, loop))

    def _wake(self, loop: asyncio.AbstractEventLoop, future: Future[Explained]) -> None:
        """Continue in the proxy's thread, unless the proxy ends: its loop may be closed by then."""
        if future in self.unexplained:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._explained, future)

    def _explained(self, future: Future[Explained]) -> None:
        """Report a verdict with its explanation, unless it was reported without."""
        verdict = self.unexplained.pop(future, None)
        if verdict is not None:
            self._report_safely(verdict.explained(future.result()))

    def _report_safely(self, verdict: LiveVerdict) -> None:
        """Report a verdict; an error in it does not end the conversation."""
        try:
            self._on_verdict(verdict)
        except Exception as error:  # noqa: BLE001 - an error in one report does not affect others
            self._failed(verdict.reported.source, error)

    def _why(self, verdict: LiveVerdict, options: Json) -> Explained:
        """The explanation why the client misread it; this may take a while.

        `options`: its next request without messages, which has the same tools.
        """
        response = verdict.response
        if not _is_to_be_explained(verdict):
            return UNEXPLAINED
        try:
            exchange = replace(response.exchange, request=options)
            given = ReceivedBytes(exchange, response.body or b"", response.broken)
            return self._explaining(given, verdict.reported.verdict.sent, response.client)
        except Exception as error:  # noqa: BLE001 - the verdict is valid without it
            self._failed(verdict.reported.source, error)
            return UNEXPLAINED


def _described(judged: Judged[ForwardedResponse], hide: Callable[[str], str]) -> LiveVerdict:
    token, response, verdict, request = judged
    reported = ReportedVerdict(source=token, verdict=verdict, calls=response.calls, request=request, hide=hide)
    return LiveVerdict(reported, response)


def _is_to_be_explained(live_verdict: LiveVerdict) -> bool:
    body, verdict = live_verdict.response.body, live_verdict.reported.verdict
    kept = body is not None and len(body) <= EXPLAINED_BYTES
    return kept and verdict.may_be_explained


def _comparable(record: Record) -> list[tuple[object, ...]]:
    """The calls of a response that a client runs."""
    return [(call.choice, call.id, call.name, call.arguments, call.complete) for call in record.calls]


def _is_gone(flow: http.HTTPFlow, broken: str) -> bool:
    """Whether the client left by itself."""
    return bool(BY_CLIENT.search(broken)) or (flow.error is not None and not flow.client_conn.connected)
