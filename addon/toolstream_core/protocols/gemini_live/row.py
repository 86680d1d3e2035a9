"""The row of Gemini Live in the registry of protocols."""

import re
from typing import Final

from toolstream_core.protocols.call_form import CallForm
from toolstream_core.protocols.gemini_live.reader import answer, quiet, read, recognise
from toolstream_core.protocols.gemini_live.request import GeminiLiveRequests
from toolstream_core.protocols.gemini_live.resolver import GeminiLiveCalls
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.wire.form import Form

GEMINI_LIVE: Final = WireProtocol(
    name="gemini-live",
    package=__package__,
    paths=re.compile(r"[./]BidiGenerateContent(?:Constrained)?/?$"),
    calls=GeminiLiveCalls,
    recognise=recognise,
    read=read,
    answer=answer,
    quiet=quiet,
    pointers=(
        "/toolCall",
        "/toolCallCancellation",
        "/serverContent/modelTurn",
        "/serverContent/outputTranscription",
        "/serverContent/turnComplete",
        "/serverContent/generationComplete",
        "/serverContent/interrupted",
        "/error",
    ),
    requests=GeminiLiveRequests(),
    form=Form.LINES,
    call_form=CallForm.WHOLE,
    over_http=False,
    read_only=True,
    call_keys=(),
)
