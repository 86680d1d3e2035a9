"""How defects of arguments are injected."""

from __future__ import annotations

from typing import Final

from toolstream_core.defects import arguments
from toolstream_core.defects.causes.argument_text import complete_arguments
from toolstream_core.defects.causes.rule import (
    BLOCKS,
    CLOSINGS,
    COMPLETE,
    DELTA,
    DELTAS,
    FRAGMENTS,
    ITEMS,
    OF_ITEM,
    START,
    STOP,
    WHOLE,
    Injection,
    inject,
    it,
    keep,
    kept,
    late,
    new,
    on,
    per_call,
    per_stream,
    start,
)
from toolstream_core.defects.causes.what import What
from toolstream_core.defects.causes.words import (
    AGAIN,
    TEXT,
    all_arguments,
    appended,
    as_json,
    as_object,
    astral,
    changed,
    completes,
    contains,
    continues,
    first_call,
    has,
    has_snapshots,
    has_text,
    is_object,
    is_open,
    lacks,
    later_call,
    line_feed_at_end,
    not_acted,
    of_first,
    quoted,
    snapshot,
    so_far,
    surrogate_part,
    takes_parameters,
    text,
)
from toolstream_core.defects.defect import ANTHROPIC, BEDROCK, CHAT, COHERE
from toolstream_core.model import ABSENT

_STATES: Final = (snapshot(0.3), snapshot(0.7), all_arguments)

ARGUMENTS: Final[tuple[Injection, ...]] = (
    # Missing and empty ones.
    inject(
        arguments.EMPTY_ARGUMENTS,
        per_call(
            on(
                TEXT
                & (lambda at: at.text.strip() == "{}" and at.context.may_be_empty(at.call.name))
                & (lambda at: at.part.what is What.START or at.call.arguments.text().strip() == "{}"),
                it(arguments=""),
            )
        ),
    ),
    inject(arguments.LOST_ARGUMENTS, per_call(on(TEXT, it(arguments=""))), *DELTAS),
    inject(arguments.LOST_ARGUMENTS, per_call(on(DELTA), on(CLOSINGS, it(arguments=""))), *ITEMS),
    inject(arguments.NULL_ARGUMENTS, per_call(on(START & lacks("arguments"), it(arguments=None))), CHAT, COHERE),
    inject(
        arguments.NULL_ARGUMENTS,
        per_call(on(DELTA & (lambda at: at.get("arguments") == ""), it(arguments=None))),
        BEDROCK,
    ),
    # In another form.
    inject(
        arguments.OBJECT_ARGUMENTS,
        per_call(on(TEXT & is_object, it(arguments=as_object)), on(START & has_text, it(arguments="")), on(TEXT)),
        *DELTAS,
    ),
    inject(
        arguments.OBJECT_ARGUMENTS,
        per_call(on(CLOSINGS, it(arguments=lambda at: complete_arguments(at.call) or {}))),
        *ITEMS,
    ),
    inject(arguments.CUMULATIVE_ARGUMENTS, per_call(on(TEXT & continues, it(arguments=so_far)))),
    inject(
        arguments.SNAPSHOT_ARGUMENTS,
        per_call(
            on(
                START & has_text & has_snapshots, it(arguments=""), *(new(What.DELTA, arguments=one) for one in _STATES)
            ),
            on(START & has_text & is_open, it(arguments="")),
            on(DELTA & has_text & has_snapshots, *(it(arguments=one) for one in _STATES)),
            on(DELTA & has_text & continues & completes, it(arguments=all_arguments)),
            on(DELTA & has_text & is_open),
        ),
    ),
    inject(arguments.DOUBLE_ENCODED_ARGUMENTS, per_call(on(TEXT, it(arguments=quoted))), *DELTAS),
    inject(
        arguments.DOUBLE_ENCODED_ARGUMENTS,
        per_call(on(DELTA, it(arguments=quoted)), on(CLOSINGS, it(arguments=lambda at: as_json(all_arguments(at))))),
        *ITEMS,
    ),
    inject(
        arguments.DOUBLE_ENCODED_ARGUMENTS,
        per_call(
            on(START & (lambda at: isinstance(at.get("arguments"), dict)), it(arguments=changed("arguments", as_json)))
        ),
        *COMPLETE,
    ),
    inject(
        arguments.MISNAMED_ARGUMENTS,
        per_call(
            on(TEXT & is_object, it(arguments=ABSENT, parameters=as_object)),
            on(START & has_text, it(arguments="")),
            on(TEXT),
        ),
        CHAT,
    ),
    inject(arguments.MISNAMED_ARGUMENTS, per_call(on(DELTA, it(arguments=ABSENT, parameters=text()))), COHERE),
    inject(
        arguments.SPLIT_SURROGATE,
        per_call(
            on(
                TEXT & astral,
                it(arguments=text(surrogate_part(0))),
                new(What.DELTA, arguments=text(surrogate_part(1))),
            )
        ),
        CHAT,
    ),
    inject(
        arguments.SPLIT_SURROGATE,
        per_call(on(DELTA & astral, it(arguments=text(surrogate_part(0))), it(arguments=text(surrogate_part(1))))),
        *BLOCKS,
        *ITEMS,
    ),
    # With text that is not theirs.
    inject(
        arguments.REPLAYED_ARGUMENTS,
        per_call(on(DELTA & has("arguments") & completes, it, it(arguments=all_arguments), once=True)),
        *BLOCKS,
        *ITEMS,
    ),
    inject(
        arguments.REPLAYED_ARGUMENTS,
        per_call(
            on(
                TEXT & completes,
                it,
                AGAIN,
                once=True,
            )
        ),
        CHAT,
    ),
    inject(
        arguments.PLACEHOLDER_ARGUMENTS,
        per_call(on(DELTA & has("arguments") & takes_parameters, it(arguments="{}"), it, once=True)),
        *BLOCKS,
        *ITEMS,
    ),
    inject(
        arguments.PLACEHOLDER_ARGUMENTS,
        per_call(
            on(
                START & takes_parameters & has("arguments") & (lambda at: at.text.strip() != "{}"),
                it(arguments="{}"),
                new(What.DELTA, arguments=text()),
            ),
            on(START & takes_parameters & lacks("arguments"), it(arguments="{}")),
        ),
        CHAT,
    ),
    inject(
        arguments.INVALID_ARGUMENTS,
        per_call(on(TEXT & contains('"}'), it(arguments=text(line_feed_at_end)), once=True)),
        *BLOCKS,
    ),
    inject(
        arguments.INVALID_ARGUMENTS,
        per_call(
            on(TEXT & not_acted & contains("\\n"), it(arguments=text(lambda said: said.replace("\\n", "\n", 1)))),
            on(TEXT & not_acted & contains('"}'), it(arguments=text(line_feed_at_end))),
        ),
        CHAT,
    ),
    inject(
        arguments.INVALID_ARGUMENTS,
        per_call(on(OF_ITEM & contains('"}'), it(arguments=text(line_feed_at_end)))),
        *ITEMS,
    ),
    inject(
        arguments.TRAILING_GARBAGE,
        per_call(on(TEXT & completes, it(arguments=text(appended("<|endof"))), it(arguments="text|>"), once=True)),
        *BLOCKS,
    ),
    inject(
        arguments.TRAILING_GARBAGE,
        per_call(
            on(
                TEXT & completes,
                it(arguments=text(appended("<|tool"))),
                new(What.DELTA, arguments="_call_end|>"),
                once=True,
            )
        ),
        CHAT,
    ),
    inject(
        arguments.TRAILING_GARBAGE,
        per_call(
            on(DELTA & completes, it(arguments=text(appended("<|en"))), it(arguments="doftext|>")),
            on(CLOSINGS & has("arguments"), it(arguments=text(appended("<|endoftext|>")))),
        ),
        *ITEMS,
    ),
    # At another event than the deltas.
    inject(
        arguments.PREFILLED_ARGUMENTS,
        per_call(on(START), on(DELTA), on(STOP, start(arguments=as_object), it)),
        ANTHROPIC,
        BEDROCK,
    ),
    inject(
        arguments.PREFILLED_ARGUMENTS,
        per_call(on(START), on(DELTA), on(STOP, start(arguments=all_arguments), it)),
        COHERE,
    ),
    inject(
        arguments.PREFILLED_ARGUMENTS,
        per_call(on(START), on(DELTA, keep), on(WHOLE | STOP, start(arguments=all_arguments), kept, it, once=True)),
        *ITEMS,
    ),
    inject(
        arguments.MISSING_DELTAS,
        per_call(on(DELTA), on(STOP & (lambda at: not at.call.arguments.empty), it(arguments=all_arguments))),
        COHERE,
    ),
    inject(arguments.MISSING_DELTAS, per_call(on(DELTA)), *ITEMS),
    inject(
        arguments.SHORT_DELTAS,
        per_call(on(DELTA & completes & (lambda at: len(at.text) > 1), it(arguments=text(lambda said: said[:-1])))),
    ),
    inject(arguments.SHORT_CLOSING, per_call(on(WHOLE | STOP, it(arguments="")))),
    inject(
        arguments.MERGED_CALLS,
        per_stream(
            on(STOP & first_call, late),
            on(TEXT & later_call, new(What.DELTA, index=of_first("index"), arguments=text())),
            on(FRAGMENTS & later_call),
        ),
        *DELTAS,
    ),
)
