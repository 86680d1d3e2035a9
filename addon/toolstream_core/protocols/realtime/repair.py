"""Repairs Realtime responses as Responses streams that end with `response.done`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.realtime.reader import DONE
from toolstream_core.protocols.responses.repair.events import EventForm
from toolstream_core.protocols.responses.repair.stage import ResponsesRepair
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls

if TYPE_CHECKING:
    from toolstream_core.stages.repair.repairer import RepairerMaker

FORM: Final = EventForm(DONE, only_end=DONE, repeats_response=False, names_calls=True)

REPAIRS: Final[tuple[RepairerMaker, ...]] = (partial(ResponsesRepair, form=FORM),)
AT_END: Final[RepairerMaker] = IncompleteCalls
