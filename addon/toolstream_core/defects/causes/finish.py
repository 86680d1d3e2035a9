"""How defects of the end of a call and of the response are injected."""

from __future__ import annotations

from typing import Final

from toolstream_core.defects import finish
from toolstream_core.defects.causes.argument_text import without_end
from toolstream_core.defects.causes.rule import (
    BLOCKS,
    COMPLETE,
    DELTA,
    DELTAS,
    END,
    EVERY,
    FINISH,
    FRAGMENTS,
    ITEMS,
    START,
    STOP,
    STREAMED_ITEM,
    Injection,
    On,
    inject,
    it,
    late,
    new,
    on,
    per_call,
    per_stream,
    start,
)
from toolstream_core.defects.causes.what import What
from toolstream_core.defects.causes.words import (
    TEXT,
    acted,
    complete_reason,
    completes,
    continues,
    has,
    has_calls,
    not_acted,
    several_calls,
    text,
)
from toolstream_core.defects.defect import ANTHROPIC, BEDROCK, CHAT, COHERE

_CUT: Final = it(arguments=text(without_end))

CALLS: Final[tuple[Injection, ...]] = (
    inject(finish.CUT_OFF_CALL, per_call(on(TEXT & completes, _CUT)), *DELTAS),
    inject(finish.UNCLOSED_CALL, per_call(on(STOP))),
    inject(finish.REPEATED_STOP, per_call(on(STOP, it, it))),
    inject(finish.REPEATED_START, per_call(on(DELTA, start, it, once=True)), *BLOCKS),
    inject(finish.REPEATED_START, per_call(on(START, it, it)), *ITEMS),
    inject(finish.OVERLAPPING_BLOCKS, per_call(on(STOP, late))),
    inject(finish.MISSING_CALLS, per_stream(on(FRAGMENTS))),
    inject(finish.UNSTREAMED_CALLS, per_stream(on(STREAMED_ITEM)), *ITEMS),
    inject(finish.EMPTY_OUTPUT, per_stream(on(FINISH & has_calls & has("response"), it(output=[])))),
)
RESPONSE: Final[tuple[Injection, ...]] = (
    inject(finish.TRUNCATED_STREAM, per_stream(on(TEXT & completes, _CUT, over=True)), *DELTAS, *ITEMS),
    inject(finish.IN_BAND_ERROR, per_stream(on(TEXT & completes, _CUT, new(What.ERROR), over=True)), *BLOCKS, *ITEMS),
    inject(
        finish.IN_BAND_ERROR,
        per_stream(on(On(EVERY.kinds - END.kinds) & acted), on(TEXT & completes, _CUT, new(What.ERROR))),
        CHAT,
    ),
    inject(finish.IN_BAND_ERROR, per_call(on(START, new(What.ERROR), over=True)), *COMPLETE),
    inject(finish.MISSING_DONE, per_stream(on(END)), ANTHROPIC, CHAT),
    inject(finish.MISSING_DONE, per_stream(on(END & has_calls, over=True)), COHERE),
    inject(finish.MISSING_FINISH, per_stream(on(FINISH & has_calls)), *BLOCKS, *ITEMS),
    inject(finish.MISSING_FINISH, per_stream(on(FINISH & has_calls, it(reason=None))), CHAT),
    inject(finish.WRONG_FINISH, per_stream(on(FINISH & has_calls, it(reason=complete_reason))), *BLOCKS),
    inject(
        finish.WRONG_FINISH,
        per_stream(on(FINISH & has_calls & (lambda at: at.get("reason") == "tool_calls"), it(reason=complete_reason))),
        CHAT,
    ),
    inject(finish.FOREIGN_FINISH, per_stream(on(FINISH & has_calls, it(reason="tool_calls"))), *BLOCKS),
    inject(finish.FOREIGN_FINISH, per_stream(on(FINISH & has_calls, it(reason="tool_use"))), CHAT),
    inject(
        finish.FOREIGN_FINISH,
        per_stream(
            on(FINISH & has_calls & (lambda at: at.get("type") == "response.done"), it(type="response.completed")),
            on(FINISH & has_calls, it(type="response.done")),
        ),
        *ITEMS,
    ),
    inject(finish.REPEATED_FINISH, per_stream(on(FINISH & has_calls, it, it)), COHERE),
    inject(finish.REPEATED_FINISH, per_stream(on(FINISH & has_calls, it, new(What.FINISH, reason="stop"))), CHAT),
    inject(
        finish.EARLY_FINISH,
        per_stream(
            on(START & not_acted & several_calls, new(What.FINISH), it),
            on(TEXT & not_acted & continues, new(What.FINISH), it),
            on(FINISH & acted),
        ),
        BEDROCK,
        COHERE,
    ),
)
ENDING: Final = (*CALLS, *RESPONSE)
