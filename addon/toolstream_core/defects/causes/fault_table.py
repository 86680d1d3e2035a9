"""The table of causes: how each defect is injected with the fields that protocols share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects import arguments, finish, framing, identity, leak
from toolstream_core.defects.causes.markup import MARKUP, leaked
from toolstream_core.defects.causes.rule import (
    BLOCKS,
    CLOSINGS,
    COMPLETE,
    DELTA,
    DELTAS,
    END,
    EVERY,
    FINISH,
    FRAGMENTS,
    HEAD,
    ITEM,
    ITEMS,
    NAMED,
    OF_ITEM,
    OTHER,
    START,
    STOP,
    STREAMED_ITEM,
    TAIL,
    WHOLE,
    Injection,
    On,
    head,
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
    acted,
    all_arguments,
    all_enveloped,
    appended,
    as_json,
    as_object,
    astral,
    bare_start,
    changed,
    complete_arguments,
    complete_reason,
    completes,
    contains,
    continues,
    cut_data,
    earlier_id,
    enveloped,
    first_call,
    has,
    has_calls,
    has_earlier_id,
    has_event_line,
    has_members,
    has_own_parameters,
    has_snapshots,
    has_text,
    is_object,
    is_open,
    known,
    lacks,
    later_call,
    line_feed_at_end,
    not_acted,
    of_first,
    offered,
    own,
    plus,
    quoted,
    several_calls,
    snapshot,
    so_far,
    surrogate_part,
    takes_parameters,
    text,
    unused_index,
    without_end,
)
from toolstream_core.defects.defect import ANTHROPIC, BEDROCK, CHAT, COHERE, GEMINI, RESPONSES
from toolstream_core.defects.table import LEAK
from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from toolstream_core.defects.causes.rule import Cause

_ELSEWHERE: Final = {"index": unused_index, "item_id": lambda at: f"{at.get('item_id')}_again"}
_UNDER_ID: Final = it(id=lambda at: at.call.id or f"call_{at.call.position}")
_STATES: Final = (snapshot(0.3), snapshot(0.7), all_arguments)
_CUT: Final = it(arguments=text(without_end))

INJECTIONS: Final[tuple[Injection, ...]] = (
    # Events and their fields.
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
        framing.MISSING_EVENT_TYPE,
        per_stream(on(On(EVERY.kinds - ITEM.kinds) & has_event_line, it(type=ABSENT))),
    ),
    inject(
        identity.MISSING_NAMESPACE,
        per_call(on((START | STOP | ITEM) & has("namespace"), it(namespace=ABSENT))),
    ),
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
        RESPONSES,
    ),
    inject(framing.MISSING_HEAD, per_stream(on(HEAD)), ANTHROPIC),
    # Ids.
    inject(identity.MISSING_ID, per_call(on(START, it(id=""))), ANTHROPIC, BEDROCK),
    inject(identity.MISSING_ID, per_call(on(START, it(id=ABSENT))), COHERE),
    inject(identity.MISSING_ID, per_call(on(FRAGMENTS, it(id=ABSENT))), CHAT),
    inject(identity.MISSING_ID, per_call(on(OF_ITEM, it(id=ABSENT))), *ITEMS),
    inject(identity.EMPTY_ID, per_call(on(DELTA, it(id="")))),
    inject(identity.NULL_IDENTITY, per_call(on(DELTA, it(id=None, type=None, name=None)))),
    inject(identity.REPEATED_ID, per_call(on(DELTA & known("id"), it(id=own("id"))))),
    inject(identity.CHANGING_ID, per_call(on(DELTA, it(id=lambda at: f"{at.call.id}_2"))), COHERE),
    inject(
        identity.CHANGING_ID,
        per_call(on(DELTA & has("arguments"), it(id=lambda at: f"{at.call.id}_{at.acted + 1}"))),
        CHAT,
    ),
    inject(identity.CHANGING_CALL_ID, per_call(on(STOP, it(id=lambda at: f"{at.call.id}_2")))),
    inject(
        identity.ROTATING_ITEM_ID,
        per_call(on(DELTA | WHOLE | STOP, it(item_id=lambda at: f"{at.get('item_id')}_{at.acted + 2}"))),
    ),
    inject(identity.DUPLICATE_ID, per_call(on(START & later_call, it(id=of_first("id")))), *BLOCKS),
    inject(identity.DUPLICATE_ID, per_call(on(FRAGMENTS & later_call & has("id"), it(id=of_first("id")))), CHAT),
    inject(
        identity.DUPLICATE_ID,
        per_call(
            on(OF_ITEM & later_call & (lambda at: at.call.name != at.first.name) & has("id"), it(id=of_first("id")))
        ),
        *ITEMS,
    ),
    inject(
        identity.LATE_ID,
        per_call(
            on(START & has("arguments"), it(id=ABSENT, arguments=""), new(What.DELTA, id=own("id"), arguments=text())),
            on(START, it(id=ABSENT)),
            on((DELTA | STOP) & bare_start & known("id"), it(id=own("id")), once=True),
        ),
    ),
    inject(identity.REUSED_ID, per_call(on(START & has_earlier_id, it(id=earlier_id))), *BLOCKS),
    inject(identity.REUSED_ID, per_call(on(START & has("name") & has_earlier_id, it(id=earlier_id))), *COMPLETE),
    inject(identity.ODD_ID, per_call(on(START, it(id=lambda at: f"{at.call.id}{'x' * 400}"))), *DELTAS),
    inject(identity.ODD_ID, per_call(on(OF_ITEM & has("id"), it(id=changed("id", appended("x" * 400))))), *ITEMS),
    inject(identity.ODD_ID, per_call(on(START & has("name"), it(id=lambda at: f"call {at.call.position}"))), *COMPLETE),
    # Names.
    inject(
        identity.LATE_NAME,
        per_call(
            on(START & has("arguments"), it(name=ABSENT), new(What.DELTA, arguments="", name=own("name"))),
            on(START, it(name=ABSENT)),
            on((DELTA | STOP) & bare_start & known("name"), it(name=own("name")), once=True),
        ),
        CHAT,
        COHERE,
    ),
    inject(identity.LATE_NAME, per_call(on(START, it(name=""))), *ITEMS),
    inject(identity.REPEATED_NAME, per_call(on(DELTA, it(name=own("name")))), COHERE),
    inject(
        identity.REPEATED_NAME,
        per_call(on(DELTA & (lambda at: bool(at.text) or not completes(at)), it(name=own("name")))),
        CHAT,
    ),
    inject(identity.EMPTY_NAME, per_call(on(DELTA & lacks("name"), it(name=""))), CHAT),
    inject(identity.EMPTY_NAME, per_call(on(STOP, it(name=""))), *ITEMS),
    inject(
        identity.DECORATED_NAME,
        per_call(on((NAMED | DELTA) & has("name") & offered, it(name=lambda at: f"functions.{at.call.name}"))),
    ),
    inject(
        identity.UNKNOWN_TOOL,
        per_call(on((NAMED | DELTA) & has("name") & offered, it(name=lambda at: f"{at.call.name}_v2"))),
    ),
    inject(identity.MISSING_NAME, per_call(on(FRAGMENTS, it(name=ABSENT))), CHAT),
    inject(identity.MISSING_NAME, per_call(on(NAMED & has("name"), it(name=""))), *BLOCKS, *ITEMS, *COMPLETE),
    inject(identity.MISSING_TYPE, per_call(on(FRAGMENTS, it(type=ABSENT)))),
    # Indexes.
    inject(identity.MISSING_INDEX, per_call(on(FRAGMENTS, it(index=ABSENT))), *DELTAS),
    inject(identity.MISSING_INDEX, per_call(on(STREAMED_ITEM, it(index=ABSENT))), *ITEMS),
    inject(identity.REUSED_INDEX, per_call(on(FRAGMENTS & later_call, it(index=of_first("index")))), *DELTAS),
    inject(identity.REUSED_INDEX, per_call(on(STREAMED_ITEM & later_call, it(index=of_first("index")))), *ITEMS),
    inject(identity.OFFSET_INDEX, per_call(on(FRAGMENTS, it(index=plus(1)))), ANTHROPIC, CHAT),
    inject(identity.OFFSET_INDEX, per_call(on(FRAGMENTS, it(index=lambda at: at.call.position + 1))), COHERE),
    inject(identity.ODD_INDEX, per_call(on(FRAGMENTS, it(index=changed("index", str))))),
    inject(identity.CHANGING_INDEX, per_call(on(DELTA & later_call, it(index=of_first("index")))), COHERE),
    inject(
        identity.CHANGING_INDEX,
        per_call(on(DELTA & has("arguments") & known("id"), it(index=plus(7), id=own("id")))),
        CHAT,
    ),
    # Calls.
    inject(
        identity.DOUBLED_CALL,
        per_call(
            on(
                STOP,
                it,
                start(index=unused_index),
                new(What.DELTA, index=unused_index, arguments=all_arguments),
                new(What.STOP, index=unused_index),
            )
        ),
        *BLOCKS,
    ),
    inject(
        identity.DOUBLED_CALL,
        per_call(
            on(
                STOP,
                it,
                start(**_ELSEWHERE),
                new(What.DELTA, **_ELSEWHERE, arguments=all_arguments),
                new(What.WHOLE, **_ELSEWHERE, arguments=all_arguments),
                it(**_ELSEWHERE),
            )
        ),
        *ITEMS,
    ),
    inject(
        identity.DOUBLED_CALL,
        per_call(
            on(
                FRAGMENTS & completes & known("id"),
                it,
                AGAIN(index=unused_index),
                once=True,
            )
        ),
        CHAT,
    ),
    inject(identity.DOUBLED_CALL, per_call(on(START & has("name") & has_members, _UNDER_ID, _UNDER_ID)), GEMINI),
    inject(identity.UNKNOWN_BLOCK, per_call(on(DELTA | STOP, it(index=unused_index)))),
    inject(identity.MISSING_START, per_call(on(START))),
    # Missing and empty arguments.
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
    # Arguments in another form.
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
    inject(arguments.ENVELOPED_ARGUMENTS, per_call(on(TEXT & has_own_parameters, it(arguments=enveloped))), *DELTAS),
    inject(
        arguments.ENVELOPED_ARGUMENTS,
        per_call(
            on(DELTA & has_text & has_own_parameters, it(arguments=enveloped)),
            on(CLOSINGS & has_own_parameters, it(arguments=all_enveloped)),
        ),
        *ITEMS,
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
    # Arguments with other text.
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
    # Arguments at another event than the deltas.
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
    # The end of a call.
    inject(finish.CUT_OFF_CALL, per_call(on(TEXT & completes, _CUT)), *DELTAS),
    inject(finish.UNCLOSED_CALL, per_call(on(STOP))),
    inject(finish.REPEATED_STOP, per_call(on(STOP, it, it))),
    inject(finish.REPEATED_START, per_call(on(DELTA, start, it, once=True)), *BLOCKS),
    inject(finish.REPEATED_START, per_call(on(START, it, it)), *ITEMS),
    inject(finish.OVERLAPPING_BLOCKS, per_call(on(STOP, late))),
    inject(finish.MISSING_CALLS, per_stream(on(FRAGMENTS))),
    inject(finish.UNSTREAMED_CALLS, per_stream(on(STREAMED_ITEM)), *ITEMS),
    inject(finish.EMPTY_OUTPUT, per_stream(on(FINISH & has_calls & has("response"), it(output=[])))),
    # The end of the response.
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
    # Calls as text.
    *(
        inject(
            defect,
            per_stream(on(FINISH & has_calls, leaked(defect.name), it(reason=complete_reason)), on(FRAGMENTS)),
            *DELTAS,
        )
        for defect in LEAK
        if defect.name in MARKUP
    ),
    inject(
        leak.LEAKED_TWICE, per_stream(on(FINISH & has_calls, leaked(leak.LEAKED_HERMES.name, after=1), it)), *DELTAS
    ),
)
"""Injections that need only the fields that protocols share. The others are in the protocol's `inject`."""


def causes_for(protocol: str) -> dict[str, Cause]:
    """The causes that hold for a protocol, by the defect's name."""
    return {one.defect.name: one.cause for one in INJECTIONS if protocol in one.protocols}
