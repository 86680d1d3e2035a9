"""Ollama's native chat API."""

from typing import Final

from toolstream_core.protocols.ollama.api import OllamaApi
from toolstream_core.protocols.ollama.reader import quiet, read, read_response, recognise
from toolstream_core.protocols.ollama.resolver import OllamaCalls
from toolstream_core.protocols.protocol import CallForm, WireProtocol

_MESSAGE: Final = ("/message/content", "/message/thinking", "/message/tool_calls")

OLLAMA: Final = WireProtocol(
    name="ollama",
    package=__name__,
    calls=OllamaCalls,
    recognise=recognise,
    read=read,
    read_response=read_response,
    quiet=quiet,
    call_form=CallForm.WHOLE,
    pointers=(*_MESSAGE, "/response", "/done", "/done_reason", "/error"),
    api=OllamaApi(),
    ends_with_finish=True,
    call_keys=(),
)
