"""The Gemini Live API, over a WebSocket."""

from typing import Final

from toolstream_core.calls.resolver import CompleteCalls
from toolstream_core.protocols.gemini_live.api import GeminiLiveApi
from toolstream_core.protocols.gemini_live.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.protocol import CallForm, WireProtocol

_CONTENT: Final = ("modelTurn", "outputTranscription", "turnComplete", "generationComplete", "interrupted")

GEMINI_LIVE: Final = WireProtocol(
    name="gemini-live",
    package=__name__,
    calls=CompleteCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    pointers=("/toolCall", "/toolCallCancellation", *(f"/serverContent/{key}" for key in _CONTENT), "/error"),
    api=GeminiLiveApi(),
    call_form=CallForm.WHOLE,
    over_http=False,
    read_only=True,
    call_keys=(),
)
