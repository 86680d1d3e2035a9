"""What a client lacks of the arguments of a call. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from toolstream_core.defects.defect import Defect
    from toolstream_core.protocols.chat.repair.client_call import ClientCall


class Lack(NamedTuple):
    """What a client lacks of a call's arguments."""

    text: str
    defect: Defect | None = None
    """Why that is not the fragment that came."""
    stands: bool = False
    """Whether the fragment is forwarded unchanged all the same."""
    as_received: bool = False
    """Whether the client has exactly the received text once it has this."""
    contradicts: bool = False
    """Whether the client has other than the intended arguments: the fragment is forwarded unchanged."""


def lack(state: ClientCall, fragment: str, *, upto: int | None = None, over: bool = False) -> Lack:
    """What the client lacks of the arguments, of which `fragment` came last.

    `upto`: the number of characters up to the current event; waiting events send the rest.
    `over`: the provider sends no more of them.
    """
    if state.text.diverged:
        return Lack(fragment)
    intended = state.intended
    is_last = upto is None or upto == intended.meaning.received.size
    if is_last and state.is_in_step(fragment) and (intended.is_plain(fragment) if fragment else state.is_open):
        return Lack(fragment, as_received=True)
    text, defect, stands = intended.text(over=over)
    has = state.text.text
    if intended.meaning.cumulative is not None:
        return (
            Lack(text[len(has) :], defect)
            if text.startswith(has) and not intended.meaning.stale
            else Lack(fragment, defect, contradicts=True)
        )
    if not text.startswith(has):
        return Lack(fragment, defect, contradicts=True)
    raw = intended.arguments.text()
    if upto is not None:
        received = raw[: max(upto - intended.meaning.begin, 0)]
        text = received if text.startswith(received) else text
    more = text[len(has) :]
    return Lack(more, defect, stands, as_received=raw.startswith(text) and state.is_in_step(raw[state.text.size :]))


def has_all(state: ClientCall) -> bool:
    """Whether a client has all arguments of a complete call."""
    return (state.intended.is_complete_object or state.intended.silent) and not lack(state, "").text
