"""How defects of events and their fields are injected."""

from __future__ import annotations

from typing import Final

from toolstream_core.defects import framing
from toolstream_core.defects.causes.rule import (
    BLOCKS,
    DELTA,
    END,
    EVERY,
    FINISH,
    FRAGMENTS,
    HEAD,
    ITEMS,
    OTHER,
    START,
    STOP,
    TAIL,
    Injection,
    head,
    inject,
    it,
    new,
    on,
    per_call,
    per_stream,
)
from toolstream_core.defects.causes.what import What
from toolstream_core.defects.causes.words import TEXT, acted, changed, cut_data, has, has_calls
from toolstream_core.defects.defect import ANTHROPIC, BEDROCK, COHERE
from toolstream_core.model import ABSENT

FRAMING: Final[tuple[Injection, ...]] = (
    inject(framing.UNPARSABLE_DATA, per_stream(on(TEXT, it(data=cut_data), once=True)), *BLOCKS),
    inject(
        framing.UNPARSABLE_DATA,
        per_stream(
            on(
                EVERY & (lambda at: at.get("type") == "response.function_call_arguments.delta"),
                it(data=cut_data),
                once=True,
            )
        ),
        *ITEMS,
    ),
    inject(framing.MISSING_EVENT_NAME, per_stream(on(EVERY, it(line=""))), ANTHROPIC),
    inject(framing.MISSING_EVENT_NAME, per_stream(on(FRAGMENTS, it(line=""))), COHERE),
    inject(
        framing.SEQUENCE_NUMBERS,
        per_stream(on(EVERY & (lambda at: at.get("sequence_number") not in (0, ABSENT)), it(sequence_number=1))),
    ),
    inject(framing.NULL_USAGE, per_stream(on(FINISH, it(usage=None))), ANTHROPIC),
    inject(framing.NULL_USAGE, per_stream(on(FINISH & has_calls, it(usage=None))), COHERE),
    inject(framing.NULL_USAGE, per_stream(on(TAIL, it(usage=None))), BEDROCK),
    inject(framing.MISSING_INPUT, per_call(on(START & has("arguments"), it(arguments=ABSENT)))),
    inject(
        framing.FOREIGN_DELTA,
        per_call(on(DELTA, it, it(delta={"type": "text_delta", "text": "\n"}), once=True)),
        ANTHROPIC,
    ),
    inject(framing.FOREIGN_DELTA, per_call(on(DELTA, it, it(delta={"text": "\n"}), once=True)), BEDROCK),
    inject(framing.RESTARTED_STREAM, per_stream(on(STOP, it, head, once=True)), *BLOCKS),
    inject(
        framing.RESTARTED_STREAM,
        per_stream(on(EVERY & (lambda at: at.get("type") == "response.output_item.done"), it, head, once=True)),
        *ITEMS,
    ),
    inject(framing.DATA_AFTER_END, per_stream(on(END, it, new(What.OTHER, line="content-end"))), COHERE),
    inject(framing.TOOL_CALLS_OBJECT, per_call(on(START, it(entry=changed("entry", lambda entry: [entry])))), COHERE),
    inject(
        framing.MISSING_HEAD,
        per_stream(
            on(HEAD, it(type="response.in_progress")),
            on(OTHER & acted & (lambda at: at.get("type") == "response.in_progress"), once=True),
        ),
    ),
)
