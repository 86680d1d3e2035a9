"""How calls are injected as text."""

from __future__ import annotations

from typing import Final

from toolstream_core.defects import leak
from toolstream_core.defects.causes.markup import MARKUP
from toolstream_core.defects.causes.rule import DELTAS, FINISH, FRAGMENTS, Injection, inject, it, on, per_stream
from toolstream_core.defects.causes.words import complete_reason, has_calls, leaked

LEAK: Final[tuple[Injection, ...]] = (
    *(
        inject(
            defect,
            per_stream(on(FINISH & has_calls, leaked(defect.name), it(reason=complete_reason)), on(FRAGMENTS)),
            *DELTAS,
        )
        for defect in leak.LEAK
        if defect.name in MARKUP
    ),
    inject(
        leak.LEAKED_TWICE, per_stream(on(FINISH & has_calls, leaked(leak.LEAKED_HERMES.name, after=1), it)), *DELTAS
    ),
)
