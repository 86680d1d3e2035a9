"""The arguments of one content block as the client is given them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.arguments import ENDLESS
from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import meaning
from toolstream_core.defects.arguments import LOST_ARGUMENTS, OBJECT_ARGUMENTS
from toolstream_core.model import ABSENT
from toolstream_core.stages.repair.arguments import ArgumentRepair
from toolstream_core.stages.repair.streamed_call import is_runnable
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json, Seen
    from toolstream_core.protocols.anthropic.repair.events import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.emitted import Emitted, Judge
    from toolstream_core.wire.frame import Frame


class ClientArguments:
    """Takes the deltas of one block in order; a block that is not a call has none."""

    late = False
    """Whether arguments came behind the block's stop."""
    given = False
    """Whether the client has been given anything of them."""
    prefilled: str | None = None
    """Arguments that the block's start said, and that are to come in a delta."""
    emitted: Emitted | None = None
    """What the client is to be given for the last delta; may still change while that waits."""
    left_out: tuple[Frame, Payload] | None = None
    """A start that came again behind half of them, and was not sent: clients would forget that half."""
    _type: Seen[Json] = ABSENT
    """The type of the delta that first brought arguments."""
    mistyped = False
    """Whether the last delta is of another type than those before it: what is kept of them goes before it."""
    _mixed = False
    """Whether any was: clients read only one of the two, so such deltas go on as they came."""
    _anew = False
    """Whether the block was started once more behind arguments, which do not count any longer."""
    _changed = False
    """Whether the client was given anything else than what came."""

    def __init__(
        self, context: Context, on: Callable[[Row], bool], judge: Judge, call: OpenCall | None, *, client_runs: bool
    ) -> None:
        """`on` says whether a row's repair is switched on; `client_runs`: the call is not the provider's own."""
        self._context = context
        self._on = on
        self._judge = judge
        self._call = call
        self._client_runs = client_runs
        self._room = ENDLESS if call is None else call.arguments.room
        self.repair = ArgumentRepair(on, self._room)

    def begin_anew(self) -> None:
        """The block's start is sent once more: clients forget the arguments that they had."""
        self._anew, self.given, self.prefilled = True, False, None
        self.repair = ArgumentRepair(self._on, self._room)

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of them; also where the block is not a call."""
        if self._call is None or self._anew:
            return self._call is None or self.repair.whole
        return self.repair.whole or self._call.whole(may_be_empty=self._context.may_be_empty(self._call.name))

    @property
    def came_whole(self) -> bool:
        """Whether the block's own deltas brought all of them."""
        return self.repair.whole

    @property
    def runnable(self) -> bool:
        """Whether they are whole, and an object; costs as much as they are long."""
        call = self._call
        if call is None or self.late or self._mixed or not self.whole or self.repair.spoilt:
            return False
        return is_runnable(call, self._context, changed=self._changed and self.repair.whole)

    @property
    def come(self) -> bool:
        """Whether they have come and are whole; also where the block is not a call."""
        return self.begun and self.whole

    @property
    def accepts_any(self) -> bool:
        """Whether fragments may be skipped, and taken later."""
        return self._client_runs and self.repair.decided and not self._mixed and self.left_out is None

    @property
    def inside_value(self) -> bool:
        """Whether plain text in the middle of a value needs no change."""
        return self._client_runs and self.repair.inside_value and not self._mixed and self.left_out is None

    @property
    def begun(self) -> bool:
        """Whether any have come; also where the block is not a call."""
        return self._call is None or not self._call.arguments.empty

    def settle(self) -> None:
        """Nothing follows that could change what waits."""
        self.repair.settle(self._judge)

    def mean(self, means: str, name: str) -> bool:
        """Whether the client was given them whole, and they mean this. `name` is the tool's.

        Not if any of them came late or in a type that not every client reads.
        """
        mistyped = self._mixed or self._type not in (ABSENT, "input_json_delta")
        if self._call is None or self.late or self._anew or mistyped:
            return False
        if not (self._call.arguments.empty or (self.repair.whole and not self.repair.spoilt)):
            return False
        if not self._call.whole(may_be_empty=self._context.may_be_empty(name)):
            return False
        arguments = self._call.arguments
        return (arguments.meaning if arguments.whole else meaning(self._call.meant()[0])) == means

    def in_delta(self, delta: Payload) -> Payload:
        """A delta with `partial_json` as the client is to get it; the same object where nothing in it changes."""
        given = delta["partial_json"]
        self.emitted, self.mistyped = None, False
        if given not in (None, ""):
            kind = delta.get("type")
            self._type = kind if self._type is ABSENT else self._type
            self.mistyped = kind != self._type
        if self.mistyped:
            self._mixed = True
            return delta
        text = given if isinstance(given, str) else self._as_text(given)
        if text is None:
            return delta
        emitted = self.take(text)
        if emitted == given:
            return delta
        self._changed = True
        return {**delta, "partial_json": emitted}

    def _as_text(self, given: Json) -> str | None:
        """The JSON text of an object that stands where text belongs, if that is to be repaired."""
        if given is None:
            return None
        repair = self._judge(OBJECT_ARGUMENTS, f"partial_json is no text, but {type(given).__name__}")
        return encoded(given).decode() if repair and isinstance(given, dict) else None

    def take(self, text: str) -> str:
        """What the client is to be given for the next fragment, unless that still waits."""
        may_wait = self._call is not None and self._call.name not in self._context.parameterless
        self.emitted = self.repair.take(text, self._judge, may_wait=may_wait)
        self.given = self.given or bool(self.emitted.text.strip(WHITE))
        self._changed = self._changed or self.emitted.text != text
        return self.emitted.text

    def on_skipped(self, text: str, last: str) -> None:
        """Take fragments that were skipped; as `ArgumentRepair.on_skipped`."""
        passed = self.repair.on_skipped(text, last)
        self.given = self.given or bool(passed)

    def new_delta(self, text: str) -> Payload:
        """A new delta with this text, of the type of the others."""
        kind = "input_json_delta" if self._type is ABSENT else self._type
        return {"partial_json": text} if kind is None else {"type": kind, "partial_json": text}

    def rest(self) -> list[str]:
        """What is still to be given before the block's stop."""
        if not self._client_runs or self._call is None:
            return []
        rest = self.repair.rest()
        if rest:
            return [rest]
        if self.given:
            return []
        if self.prefilled is not None:
            return [self.prefilled]
        nothing = self._call.arguments.empty and self._call.start_input is None
        if nothing and not self._context.may_be_empty(self._call.name):
            self._judge(LOST_ARGUMENTS, f"{self._call.name} has required parameters and got no arguments")
        return []

    def kept(self) -> list[str]:
        """What was kept back where no stop of the block comes."""
        rest = self.repair.rest() if self._client_runs else ""
        if not (self.given or rest) and self.prefilled is not None:
            self.given = True
            return [self.prefilled]
        return [rest] if rest else []
