"""Selects the captured flows and their folder, and logs failures. Knows mitmproxy's flow and options."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from mitmproxy import http
from mitmproxy.exceptions import OptionsError
from mitmproxy.options import Options

from toolstream_core.proxy.capture.body import Store
from toolstream_core.proxy.capture.draft import Draft, When, is_kept
from toolstream_core.proxy.capture.folder import Folder, QuotaError
from toolstream_core.proxy.capture.recording import Recording, Saves
from toolstream_core.proxy.capture.recovery import recover
from toolstream_core.proxy.capture.worker import Worker
from toolstream_core.proxy.options import size_of
from toolstream_core.redact import raised_at
from toolstream_core.redaction import Redaction, TextMode, redaction_of

logger = logging.getLogger(__name__)


class Capture:
    """Writes flows as they end. Off until it is configured."""

    def __init__(self) -> None:
        """Capture nothing."""
        self._store: Store | None = None
        self._when = When.ALL
        self._worker, self._saves = Worker(), Saves()
        self._full = self._failing = False
        self.written: list[Path] = []
        """The files that were written, in order."""

    @property
    def on(self) -> bool:
        """Whether flows are captured."""
        return self._store is not None and not self._full

    def configure(self, options: Options) -> None:
        """Take the options. Raises `OptionsError`."""
        limit = size_of("toolstream_capture_max", options.toolstream_capture_max)
        redaction = _redaction(options.toolstream_capture_text, options.toolstream_capture_secret)
        self._when = When(options.toolstream_capture_when)
        self._full = self._failing = False
        self._store = None
        if options.toolstream_capture:
            folder = _folder(options.toolstream_capture, limit)
            for path in recover(folder):
                logger.warning(
                    "toolstream_capture: recovered a response that was cut off when the proxy was killed: %s", path
                )
            self._store = Store(folder, redaction, self._failed, self._wrote)

    def begin(self, flow: http.HTTPFlow) -> Recording | None:
        """Begin the capture of a flow; `None` if flows are not captured."""
        if self._store is None or self._full:
            return None
        draft = Draft(self._store, flow.id, flow.request)
        return Recording(flow, draft, self._worker, self._saves, lambda ending: is_kept(ending, self._when))

    def unanswered(self, flow: http.HTTPFlow) -> None:
        """Capture a request to an LLM without a response."""
        if flow.response is None and flow.error is not None and (recording := self.begin(flow)) is not None:
            recording.end(flow, None, flow.error.msg, differs=False)

    def close(self) -> None:
        """Wait until everything is written."""
        self._worker.close()

    def _wrote(self, path: Path) -> None:
        self._failing = False
        self.written.append(path)

    def _failed(self, flow_id: str, error: Exception) -> None:
        """Log an error; the same kind again only after another flow was written."""
        if isinstance(error, QuotaError):
            if not self._full:
                self._full = True
                logger.error(
                    "toolstream_capture: %s; no more flows are captured. "
                    "Delete some and restart, or raise toolstream_capture_max.",
                    error,
                )
        elif not (self._failing and isinstance(error, OSError)):
            self._failing = self._failing or isinstance(error, OSError)
            why = error.strerror if isinstance(error, OSError) else raised_at(error)
            logger.error("toolstream_capture: flow %s is not captured: %s. Traffic continues.", flow_id, why)


def _redaction(text: str, secrets: Sequence[str]) -> Redaction:
    try:
        return redaction_of(secrets, TextMode(text))
    except ValueError as error:
        raise OptionsError(f"toolstream_capture_secret: {error}") from error


def _folder(text: str, limit: int) -> Folder:
    path = Path(text).expanduser()
    try:
        folder = Folder(path, limit)
    except OSError as error:
        message = (
            f"toolstream_capture: {text!r} is not writable ({error.strerror}). "
            "Expected a writable folder, or a new path in a writable one."
        )
        raise OptionsError(message) from error
    if folder.made:
        logger.info("toolstream_capture: created the folder %s", path)
    return folder
