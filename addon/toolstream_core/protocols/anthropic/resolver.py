"""Which call an Anthropic content block belongs to: by its index, from its start to its stop."""

from __future__ import annotations

from typing import override

from toolstream_core.calls.json_text import has_nothing
from toolstream_core.calls.started_calls import StartedCalls
from toolstream_core.model import EventContent


class AnthropicCalls(StartedCalls):
    """A `content_block_start` opens a call, `content_block_stop` ends it; a stop has only an index."""

    _finished = False
    """Whether a stop reason has arrived."""

    @override
    def conclude(self, content: EventContent) -> None:
        self._finished = self._finished or any(finish.reason for finish in content.finishes)
        if content.end and not self._finished:
            for call in self._still_open.values():  # arguments are still missing
                call.cut = call.cut or (call.arguments.empty and has_nothing(call.start_input))
        super().conclude(content)
