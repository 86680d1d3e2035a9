"""Gemini generateContent, over SSE or as a streamed JSON array."""

from typing import Final

from toolstream_core.protocols.gemini.api import GeminiApi
from toolstream_core.protocols.gemini.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.gemini.resolver import GeminiCalls
from toolstream_core.protocols.protocol import CallForm, WireProtocol

GEMINI: Final = WireProtocol(
    name="gemini",
    package=__name__,
    calls=GeminiCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    call_form=CallForm.WHOLE,
    pointers=(
        *("/candidates/*/content/parts", "/candidates/*/finishReason", "/promptFeedback", "/error"),
        *("/response/candidates/*/content/parts", "/response/candidates/*/finishReason"),
    ),
    api=GeminiApi(),
    ends_with_finish=True,
    reads_comments=False,
    call_keys=(),
)
