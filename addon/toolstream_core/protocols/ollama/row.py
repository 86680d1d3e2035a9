"""The row of Ollama's native chat in the registry of protocols."""

import re
from typing import Final

from toolstream_core.protocols.call_form import CallForm
from toolstream_core.protocols.chat.resolver import OllamaCalls
from toolstream_core.protocols.ollama.reader import answer, quiet, read, recognise
from toolstream_core.protocols.ollama.request import OllamaRequests
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.wire.form import Form

OLLAMA: Final = WireProtocol(
    name="ollama",
    package=__package__,
    paths=re.compile(r"/api/chat/?$"),
    calls=OllamaCalls,
    recognise=recognise,
    read=read,
    answer=answer,
    quiet=quiet,
    call_form=CallForm.WHOLE,
    pointers=(
        "/message/content",
        "/message/thinking",
        "/message/tool_calls",
        "/response",
        "/done",
        "/done_reason",
        "/error",
    ),
    requests=OllamaRequests(),
    form=Form.LINES,
    ends_with_finish=True,
    call_keys=(),
)
