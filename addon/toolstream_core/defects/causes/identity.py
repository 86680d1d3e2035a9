"""How defects of identity are injected."""

from __future__ import annotations

from typing import Final

from toolstream_core.defects import identity
from toolstream_core.defects.causes.rule import (
    BLOCKS,
    COMPLETE,
    DELTA,
    DELTAS,
    FRAGMENTS,
    ITEMS,
    NAMED,
    OF_ITEM,
    START,
    STOP,
    STREAMED_ITEM,
    WHOLE,
    Injection,
    inject,
    it,
    new,
    on,
    per_call,
    start,
)
from toolstream_core.defects.causes.what import What
from toolstream_core.defects.causes.words import (
    AGAIN,
    all_arguments,
    appended,
    bare_start,
    changed,
    completes,
    earlier_id,
    has,
    has_earlier_id,
    has_members,
    known,
    lacks,
    later_call,
    of_first,
    offered,
    own,
    plus,
    text,
    unused_index,
)
from toolstream_core.defects.defect import ANTHROPIC, BEDROCK, CHAT, COHERE, GEMINI
from toolstream_core.model import ABSENT

IDS: Final[tuple[Injection, ...]] = (
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
)
NAMES: Final[tuple[Injection, ...]] = (
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
    inject(identity.MISSING_NAME, per_call(on(FRAGMENTS, it(name=ABSENT))), CHAT),
    inject(identity.MISSING_NAME, per_call(on(NAMED & has("name"), it(name=""))), *BLOCKS, *ITEMS, *COMPLETE),
    inject(identity.MISSING_TYPE, per_call(on(FRAGMENTS, it(type=ABSENT)))),
)
INDEXES: Final[tuple[Injection, ...]] = (
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
)
_ELSEWHERE: Final = {"index": unused_index, "item_id": lambda at: f"{at.get('item_id')}_again"}
_UNDER_ID: Final = it(id=lambda at: at.call.id or f"call_{at.call.position}")
CALLS: Final[tuple[Injection, ...]] = (
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
)
IDENTITY: Final = (*IDS, *NAMES, *INDEXES, *CALLS)
