"""The table of injections: how each defect is injected with the fields that protocols share."""

from __future__ import annotations

from typing import Final

from toolstream_core.defects import arguments, finish, framing, identity, leak
from toolstream_core.defects.defect import ANTHROPIC, BEDROCK, CHAT, COHERE, GEMINI, GEMINI_INTERACTIONS, RESPONSES
from toolstream_core.model import ABSENT
from toolstream_core.stages.inject.codec import What
from toolstream_core.stages.inject.markup import MARKUP, leaked
from toolstream_core.stages.inject.rule import (
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
    Cause,
    On,
    head,
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
from toolstream_core.stages.inject.words import (
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
    begins_parameter,
    changed,
    complete_arguments,
    complete_reason,
    completes,
    contains,
    continues,
    cut_data,
    earlier_id,
    enveloped,
    equals,
    first_call,
    has,
    has_calls,
    has_earlier_id,
    has_event_line,
    has_members,
    has_no_members,
    has_own_parameters,
    has_snapshots,
    has_text,
    in_envelope,
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
    without_beginning,
    without_end,
)

_ELSEWHERE: Final = {"index": unused_index, "item_id": lambda at: f"{at.get('item_id')}_again"}
_UNDER_ID: Final = it(id=lambda at: at.call.id or f"call_{at.call.position}")
_STATES: Final = (snapshot(0.3), snapshot(0.7), all_arguments)
_CUT: Final = it(arguments=text(without_end))

CAUSES: Final[tuple[Cause, ...]] = (
    # Events and their fields.
    per_stream(framing.UNPARSABLE_DATA, on(TEXT, it(data=cut_data), once=True), of=BLOCKS),
    per_stream(
        framing.UNPARSABLE_DATA,
        on(EVERY & equals("type", "response.function_call_arguments.delta"), it(data=cut_data), once=True),
        of=ITEMS,
    ),
    per_stream(framing.MISSING_EVENT_NAME, on(EVERY, it(line="")), of=ANTHROPIC),
    per_stream(framing.MISSING_EVENT_NAME, on(FRAGMENTS, it(line="")), of=(COHERE, GEMINI_INTERACTIONS)),
    per_stream(framing.MISSING_EVENT_TYPE, on(On(EVERY.kinds - ITEM.kinds) & has_event_line, it(type=ABSENT))),
    per_call(identity.MISSING_NAMESPACE, on((START | STOP | ITEM) & has("namespace"), it(namespace=ABSENT))),
    per_stream(
        framing.SEQUENCE_NUMBERS,
        on(EVERY & (lambda at: at.get("sequence_number") not in (0, ABSENT)), it(sequence_number=1)),
    ),
    per_stream(framing.NULL_USAGE, on(FINISH, it(usage=None)), of=ANTHROPIC),
    per_stream(framing.NULL_USAGE, on(FINISH & has_calls, it(usage=None)), of=COHERE),
    per_stream(framing.NULL_USAGE, on(TAIL, it(usage=None)), of=BEDROCK),
    per_call(framing.MISSING_INPUT, on(START & has("arguments"), it(arguments=ABSENT))),
    per_call(
        framing.FOREIGN_DELTA, on(DELTA, it, it(delta={"type": "text_delta", "text": "\n"}), once=True), of=ANTHROPIC
    ),
    per_call(framing.FOREIGN_DELTA, on(DELTA, it, it(delta={"text": "\n"}), once=True), of=BEDROCK),
    per_call(
        framing.FOREIGN_DELTA,
        on(DELTA, it, it(delta={"text": "\n", "type": "text"}), once=True),
        of=GEMINI_INTERACTIONS,
    ),
    per_stream(framing.RESTARTED_STREAM, on(STOP, it, head, once=True), of=BLOCKS),
    per_stream(
        framing.RESTARTED_STREAM, on(EVERY & equals("type", "response.output_item.done"), it, head, once=True), of=ITEMS
    ),
    per_stream(framing.DATA_AFTER_END, on(END, it, new(What.OTHER, line="content-end")), of=COHERE),
    per_call(framing.TOOL_CALLS_OBJECT, on(START, it(entry=changed("entry", lambda entry: [entry]))), of=COHERE),
    per_stream(
        framing.MISSING_HEAD,
        on(HEAD, it(type="response.in_progress")),
        on(OTHER & acted & equals("type", "response.in_progress"), once=True),
        of=RESPONSES,
    ),
    per_stream(framing.MISSING_HEAD, on(HEAD), of=ANTHROPIC),
    # Ids.
    per_call(identity.MISSING_ID, on(START, it(id="")), of=(ANTHROPIC, BEDROCK, GEMINI_INTERACTIONS)),
    per_call(identity.MISSING_ID, on(START, it(id=ABSENT)), of=COHERE),
    per_call(identity.MISSING_ID, on(FRAGMENTS, it(id=ABSENT)), of=CHAT),
    per_call(identity.MISSING_ID, on(OF_ITEM, it(id=ABSENT)), of=ITEMS),
    per_call(identity.EMPTY_ID, on(DELTA, it(id=""))),
    per_call(identity.NULL_IDENTITY, on(DELTA, it(id=None, type=None, name=None))),
    per_call(identity.REPEATED_ID, on(DELTA & known("id"), it(id=own("id")))),
    per_call(identity.CHANGING_ID, on(DELTA, it(id=lambda at: f"{at.call.id}_2")), of=COHERE),
    per_call(
        identity.CHANGING_ID, on(DELTA & has("arguments"), it(id=lambda at: f"{at.call.id}_{at.acted + 1}")), of=CHAT
    ),
    per_call(identity.CHANGING_CALL_ID, on(STOP, it(id=lambda at: f"{at.call.id}_2"))),
    per_call(
        identity.ROTATING_ITEM_ID,
        on(DELTA | WHOLE | STOP, it(item_id=lambda at: f"{at.get('item_id')}_{at.acted + 2}")),
    ),
    per_call(identity.DUPLICATE_ID, on(START & later_call, it(id=of_first("id"))), of=BLOCKS),
    per_call(identity.DUPLICATE_ID, on(FRAGMENTS & later_call & has("id"), it(id=of_first("id"))), of=CHAT),
    per_call(
        identity.DUPLICATE_ID,
        on(OF_ITEM & later_call & (lambda at: at.call.name != at.first.name) & has("id"), it(id=of_first("id"))),
        of=ITEMS,
    ),
    per_call(
        identity.LATE_ID,
        on(START & has("arguments"), it(id=ABSENT, arguments=""), new(What.DELTA, id=own("id"), arguments=text())),
        on(START, it(id=ABSENT)),
        on((DELTA | STOP) & bare_start & known("id"), it(id=own("id")), once=True),
    ),
    per_call(identity.REUSED_ID, on(START & has_earlier_id, it(id=earlier_id)), of=BLOCKS),
    per_call(identity.REUSED_ID, on(START & has("name") & has_earlier_id, it(id=earlier_id)), of=COMPLETE),
    per_call(identity.ODD_ID, on(START, it(id=lambda at: f"{at.call.id}{'x' * 400}")), of=DELTAS),
    per_call(identity.ODD_ID, on(OF_ITEM & has("id"), it(id=changed("id", appended("x" * 400)))), of=ITEMS),
    per_call(identity.ODD_ID, on(START & has("name"), it(id=lambda at: f"call {at.call.position}")), of=COMPLETE),
    # Names.
    per_call(
        identity.LATE_NAME,
        on(START & has("arguments"), it(name=ABSENT), new(What.DELTA, arguments="", name=own("name"))),
        on(START, it(name=ABSENT)),
        on((DELTA | STOP) & bare_start & known("name"), it(name=own("name")), once=True),
        of=(CHAT, COHERE),
    ),
    per_call(identity.LATE_NAME, on(START, it(name="")), of=ITEMS),
    per_call(identity.REPEATED_NAME, on(DELTA, it(name=own("name"))), of=COHERE),
    per_call(
        identity.REPEATED_NAME,
        on(DELTA & (lambda at: bool(at.text) or not completes(at)), it(name=own("name"))),
        of=CHAT,
    ),
    per_call(identity.EMPTY_NAME, on(DELTA & lacks("name"), it(name="")), of=CHAT),
    per_call(identity.EMPTY_NAME, on(STOP, it(name="")), of=ITEMS),
    per_call(
        identity.DECORATED_NAME,
        on((NAMED | DELTA) & has("name") & offered, it(name=lambda at: f"functions.{at.call.name}")),
    ),
    per_call(
        identity.UNKNOWN_TOOL, on((NAMED | DELTA) & has("name") & offered, it(name=lambda at: f"{at.call.name}_v2"))
    ),
    per_call(identity.MISSING_NAME, on(FRAGMENTS, it(name=ABSENT)), of=CHAT),
    per_call(identity.MISSING_NAME, on(NAMED & has("name"), it(name="")), of=(*BLOCKS, *ITEMS, *COMPLETE)),
    per_call(identity.MISSING_TYPE, on(FRAGMENTS, it(type=ABSENT))),
    # Indexes.
    per_call(identity.MISSING_INDEX, on(FRAGMENTS, it(index=ABSENT)), of=DELTAS),
    per_call(identity.MISSING_INDEX, on(STREAMED_ITEM, it(index=ABSENT)), of=ITEMS),
    per_call(identity.REUSED_INDEX, on(FRAGMENTS & later_call, it(index=of_first("index"))), of=DELTAS),
    per_call(identity.REUSED_INDEX, on(STREAMED_ITEM & later_call, it(index=of_first("index"))), of=ITEMS),
    per_call(identity.OFFSET_INDEX, on(FRAGMENTS, it(index=plus(1))), of=(ANTHROPIC, CHAT, GEMINI_INTERACTIONS)),
    per_call(identity.OFFSET_INDEX, on(FRAGMENTS, it(index=lambda at: at.call.position + 1)), of=COHERE),
    per_call(identity.ODD_INDEX, on(FRAGMENTS, it(index=changed("index", str)))),
    per_call(identity.CHANGING_INDEX, on(DELTA & later_call, it(index=of_first("index"))), of=COHERE),
    per_call(
        identity.CHANGING_INDEX, on(DELTA & has("arguments") & known("id"), it(index=plus(7), id=own("id"))), of=CHAT
    ),
    per_call(identity.CHANGING_INDEX, on(DELTA & known("item_id"), it(index=plus(7))), of=ITEMS),
    # Calls.
    per_call(
        identity.DOUBLED_CALL,
        on(
            STOP,
            it,
            start(index=unused_index),
            new(What.DELTA, index=unused_index, arguments=all_arguments),
            new(What.STOP, index=unused_index),
        ),
        of=BLOCKS,
    ),
    per_call(
        identity.DOUBLED_CALL,
        on(
            STOP,
            it,
            start(**_ELSEWHERE),
            new(What.DELTA, **_ELSEWHERE, arguments=all_arguments),
            new(What.WHOLE, **_ELSEWHERE, arguments=all_arguments),
            it(**_ELSEWHERE),
        ),
        of=ITEMS,
    ),
    per_call(
        identity.DOUBLED_CALL,
        on(FRAGMENTS & completes & known("id"), it, AGAIN(index=unused_index), once=True),
        of=CHAT,
    ),
    per_call(identity.DOUBLED_CALL, on(START & has("name") & has_members, _UNDER_ID, _UNDER_ID), of=GEMINI),
    per_call(identity.UNKNOWN_BLOCK, on(DELTA | STOP, it(index=unused_index))),
    per_call(identity.MISSING_START, on(START)),
    # Missing and empty arguments.
    per_call(
        arguments.EMPTY_ARGUMENTS,
        on(
            TEXT
            & (lambda at: at.text.strip() == "{}" and at.context.may_be_empty(at.call.name))
            & (lambda at: at.part.what is What.START or at.call.arguments.text().strip() == "{}"),
            it(arguments=""),
        ),
        of=CHAT,
    ),
    per_call(
        arguments.EMPTY_ARGUMENTS,
        on(DELTA & has_no_members),
        on(CLOSINGS & has_no_members, it(arguments="")),
        of=ITEMS,
    ),
    per_call(arguments.LOST_ARGUMENTS, on(TEXT, it(arguments="")), of=DELTAS),
    per_call(arguments.LOST_ARGUMENTS, on(DELTA), on(CLOSINGS, it(arguments="")), of=ITEMS),
    per_call(arguments.NULL_ARGUMENTS, on(START & lacks("arguments"), it(arguments=None)), of=(CHAT, COHERE)),
    per_call(arguments.NULL_ARGUMENTS, on(DELTA & equals("arguments", ""), it(arguments=None)), of=BEDROCK),
    # Arguments in another form.
    per_call(
        arguments.OBJECT_ARGUMENTS,
        on(TEXT & is_object, it(arguments=as_object)),
        on(START & has_text, it(arguments="")),
        on(TEXT),
        of=DELTAS,
    ),
    per_call(
        arguments.OBJECT_ARGUMENTS, on(CLOSINGS, it(arguments=lambda at: complete_arguments(at.call) or {})), of=ITEMS
    ),
    per_call(arguments.CUMULATIVE_ARGUMENTS, on(TEXT & continues, it(arguments=so_far))),
    per_call(
        arguments.SNAPSHOT_ARGUMENTS,
        on(START & has_text & has_snapshots, it(arguments=""), *(new(What.DELTA, arguments=one) for one in _STATES)),
        on(START & has_text & is_open, it(arguments="")),
        on(DELTA & has_text & has_snapshots, *(it(arguments=one) for one in _STATES)),
        on(DELTA & has_text & continues & completes, it(arguments=all_arguments)),
        on(DELTA & has_text & is_open),
    ),
    per_call(arguments.LOST_BEGINNING, on(TEXT & begins_parameter, it(arguments=text(without_beginning))), of=DELTAS),
    per_call(
        arguments.LOST_BEGINNING,
        on(DELTA & has_text & begins_parameter, it(arguments=text(without_beginning))),
        on(CLOSINGS & acted, it(arguments=lambda at: without_beginning(all_arguments(at)))),
        of=ITEMS,
    ),
    per_call(arguments.ENVELOPED_ARGUMENTS, on(TEXT & has_own_parameters, it(arguments=enveloped)), of=DELTAS),
    per_call(
        arguments.ENVELOPED_ARGUMENTS,
        on(DELTA & has_text & has_own_parameters, it(arguments=enveloped)),
        on(CLOSINGS & has_own_parameters, it(arguments=all_enveloped)),
        of=ITEMS,
    ),
    per_call(
        arguments.ENVELOPED_ARGUMENTS,
        on(START & has("arguments") & has_own_parameters, it(arguments=in_envelope)),
        of=COMPLETE,
    ),
    per_call(arguments.DOUBLE_ENCODED_ARGUMENTS, on(TEXT, it(arguments=quoted)), of=DELTAS),
    per_call(
        arguments.DOUBLE_ENCODED_ARGUMENTS,
        on(DELTA, it(arguments=quoted)),
        on(CLOSINGS, it(arguments=lambda at: as_json(all_arguments(at)))),
        of=ITEMS,
    ),
    per_call(
        arguments.DOUBLE_ENCODED_ARGUMENTS,
        on(START & (lambda at: isinstance(at.get("arguments"), dict)), it(arguments=changed("arguments", as_json))),
        of=COMPLETE,
    ),
    per_call(
        arguments.MISNAMED_ARGUMENTS,
        on(TEXT & is_object, it(arguments=ABSENT, parameters=as_object)),
        on(START & has_text, it(arguments="")),
        on(TEXT),
        of=CHAT,
    ),
    per_call(arguments.MISNAMED_ARGUMENTS, on(DELTA, it(arguments=ABSENT, parameters=text())), of=COHERE),
    per_call(
        arguments.SPLIT_SURROGATE,
        on(TEXT & astral, it(arguments=text(surrogate_part(0))), new(What.DELTA, arguments=text(surrogate_part(1)))),
        of=CHAT,
    ),
    per_call(
        arguments.SPLIT_SURROGATE,
        on(DELTA & astral, it(arguments=text(surrogate_part(0))), it(arguments=text(surrogate_part(1)))),
        of=(*BLOCKS, *ITEMS),
    ),
    # Arguments with other text.
    per_call(
        arguments.REPLAYED_ARGUMENTS,
        on(DELTA & has("arguments") & completes, it, it(arguments=all_arguments), once=True),
        of=(*BLOCKS, *ITEMS),
    ),
    per_call(arguments.REPLAYED_ARGUMENTS, on(TEXT & completes, it, AGAIN, once=True), of=CHAT),
    per_call(
        arguments.PLACEHOLDER_ARGUMENTS,
        on(DELTA & has("arguments") & takes_parameters, it(arguments="{}"), it, once=True),
        of=(*BLOCKS, *ITEMS),
    ),
    per_call(
        arguments.PLACEHOLDER_ARGUMENTS,
        on(
            START & takes_parameters & has("arguments") & (lambda at: at.text.strip() != "{}"),
            it(arguments="{}"),
            new(What.DELTA, arguments=text()),
        ),
        on(START & takes_parameters & lacks("arguments"), it(arguments="{}")),
        of=CHAT,
    ),
    per_call(
        arguments.INVALID_ARGUMENTS,
        on(TEXT & contains('"}'), it(arguments=text(line_feed_at_end)), once=True),
        of=BLOCKS,
    ),
    per_call(
        arguments.INVALID_ARGUMENTS,
        on(TEXT & not_acted & contains("\\n"), it(arguments=text(lambda fragment: fragment.replace("\\n", "\n", 1)))),
        on(TEXT & not_acted & contains('"}'), it(arguments=text(line_feed_at_end))),
        of=CHAT,
    ),
    per_call(arguments.INVALID_ARGUMENTS, on(OF_ITEM & contains('"}'), it(arguments=text(line_feed_at_end))), of=ITEMS),
    per_call(
        arguments.TRAILING_GARBAGE,
        on(TEXT & completes, it(arguments=text(appended("<|endof"))), it(arguments="text|>"), once=True),
        of=BLOCKS,
    ),
    per_call(
        arguments.TRAILING_GARBAGE,
        on(
            TEXT & completes,
            it(arguments=text(appended("<|tool"))),
            new(What.DELTA, arguments="_call_end|>"),
            once=True,
        ),
        of=CHAT,
    ),
    per_call(
        arguments.TRAILING_GARBAGE,
        on(DELTA & completes, it(arguments=text(appended("<|en"))), it(arguments="doftext|>")),
        on(CLOSINGS & has("arguments"), it(arguments=text(appended("<|endoftext|>")))),
        of=ITEMS,
    ),
    # Arguments at another event than the deltas.
    per_call(
        arguments.PREFILLED_ARGUMENTS,
        on(START),
        on(DELTA),
        on(STOP, start(arguments=as_object), it),
        of=(ANTHROPIC, BEDROCK, GEMINI_INTERACTIONS),
    ),
    per_call(
        arguments.PREFILLED_ARGUMENTS, on(START), on(DELTA), on(STOP, start(arguments=all_arguments), it), of=COHERE
    ),
    per_call(
        arguments.PREFILLED_ARGUMENTS,
        on(START),
        on(DELTA, keep),
        on(WHOLE | STOP, start(arguments=all_arguments), kept, it, once=True),
        of=ITEMS,
    ),
    per_call(
        arguments.MISSING_DELTAS,
        on(DELTA),
        on(STOP & (lambda at: not at.call.arguments.empty), it(arguments=all_arguments)),
        of=COHERE,
    ),
    per_call(arguments.MISSING_DELTAS, on(DELTA), of=ITEMS),
    per_call(
        arguments.SHORT_DELTAS,
        on(DELTA & completes & (lambda at: len(at.text) > 1), it(arguments=text(lambda fragment: fragment[:-1]))),
    ),
    per_call(arguments.SHORT_CLOSING, on(WHOLE | STOP, it(arguments=""))),
    per_stream(
        arguments.MERGED_CALLS,
        on(STOP & first_call, late),
        on(TEXT & later_call, new(What.DELTA, index=of_first("index"), arguments=text())),
        on(FRAGMENTS & later_call),
        of=DELTAS,
    ),
    # The end of a call.
    per_call(finish.CUT_OFF_CALL, on(TEXT & completes, _CUT), of=DELTAS),
    per_call(finish.UNCLOSED_CALL, on(STOP)),
    per_call(finish.REPEATED_STOP, on(STOP, it, it)),
    per_call(finish.REPEATED_START, on(DELTA, start, it, once=True), of=BLOCKS),
    per_call(finish.REPEATED_START, on(START, it, it), of=ITEMS),
    per_call(finish.OVERLAPPING_BLOCKS, on(STOP, late)),
    per_stream(finish.MISSING_CALLS, on(FRAGMENTS)),
    per_stream(finish.UNSTREAMED_CALLS, on(STREAMED_ITEM), of=ITEMS),
    per_stream(finish.EMPTY_OUTPUT, on(FINISH & has_calls & has("response"), it(output=[]))),
    # The end of the response.
    per_stream(finish.TRUNCATED_STREAM, on(TEXT & completes, _CUT, ends_stream=True), of=(*DELTAS, *ITEMS)),
    per_stream(
        finish.IN_BAND_ERROR, on(TEXT & completes, _CUT, new(What.ERROR), ends_stream=True), of=(*BLOCKS, *ITEMS)
    ),
    per_stream(
        finish.IN_BAND_ERROR,
        on(On(EVERY.kinds - END.kinds) & acted),
        on(TEXT & completes, _CUT, new(What.ERROR)),
        of=CHAT,
    ),
    per_call(finish.IN_BAND_ERROR, on(START, new(What.ERROR), ends_stream=True), of=COMPLETE),
    per_stream(finish.MISSING_DONE, on(END), of=(ANTHROPIC, CHAT, GEMINI_INTERACTIONS)),
    per_stream(finish.MISSING_DONE, on(END & has_calls, ends_stream=True), of=COHERE),
    per_stream(finish.MISSING_FINISH, on(FINISH & has_calls), of=(*BLOCKS, *ITEMS)),
    per_stream(finish.MISSING_FINISH, on(FINISH & has_calls, it(reason=None)), of=CHAT),
    per_stream(finish.WRONG_FINISH, on(FINISH & has_calls, it(reason=complete_reason)), of=BLOCKS),
    per_stream(
        finish.WRONG_FINISH,
        on(FINISH & has_calls & equals("reason", "tool_calls"), it(reason=complete_reason)),
        of=CHAT,
    ),
    per_stream(finish.FOREIGN_FINISH, on(FINISH & has_calls, it(reason="tool_calls")), of=BLOCKS),
    per_stream(finish.FOREIGN_FINISH, on(FINISH & has_calls, it(reason="tool_use")), of=CHAT),
    per_stream(
        finish.FOREIGN_FINISH,
        on(FINISH & has_calls & equals("type", "response.done"), it(type="response.completed")),
        on(FINISH & has_calls, it(type="response.done")),
        of=ITEMS,
    ),
    per_stream(finish.REPEATED_FINISH, on(FINISH & has_calls, it, it), of=COHERE),
    per_stream(finish.REPEATED_FINISH, on(FINISH & has_calls, it, new(What.FINISH, reason="stop")), of=CHAT),
    per_stream(
        finish.EARLY_FINISH,
        on(START & not_acted & several_calls, new(What.FINISH), it),
        on(TEXT & not_acted & continues, new(What.FINISH), it),
        on(FINISH & acted),
        of=(BEDROCK, COHERE),
    ),
    # Calls as text.
    *(
        per_stream(one, on(FINISH & has_calls, leaked(one), it(reason=complete_reason)), on(FRAGMENTS), of=DELTAS)
        for one in MARKUP
    ),
    per_stream(leak.LEAKED_TWICE, on(FINISH & has_calls, leaked(leak.LEAKED_HERMES, after=1), it), of=DELTAS),
)
"""Causes that need only the fields that protocols share. The others are in the protocol's `inject`."""
