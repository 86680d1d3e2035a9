"""Advice for equal responses is tried once, and is what it would be for each of them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.sessions import CALLS, exchange, returned, two_calls, user, without_arguments
from tests.cli.inspected import save
from toolstream_core.clients.advice import advise
from toolstream_core.clients.received import ReceivedBytes
from toolstream_core.protocols.requests.conversation import conversation
from toolstream_core.report import judging
from toolstream_core.report.judging import Explaining
from toolstream_core.saved.files import responses

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from toolstream_core.clients.advice import Advice
    from toolstream_core.clients.model import ClientModel
    from toolstream_core.protocols.requests.conversation import EchoedCall

type Turn = tuple[ReceivedBytes, Sequence[EchoedCall]]


def turns(folder: Path, *requests: object) -> list[Turn]:
    """Responses whose client lost all arguments, each with other keys in its request."""
    messages, flows = user(), []
    for at, more in enumerate(requests):
        assert isinstance(more, dict)
        flows.append(exchange(messages, two_calls(id=""), at, **more))
        messages = [*messages, *returned(*without_arguments())]
    echoed = conversation({"messages": returned(*without_arguments())}).calls
    saved = responses(str(save(folder / "loop.flow", *flows)))
    return [(ReceivedBytes(one.facts, b"".join(one.chunks)), echoed) for one in saved]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[ReceivedBytes]:
    """The responses for which advice was tried."""
    seen: list[ReceivedBytes] = []

    def noted(
        model: ClientModel, response: ReceivedBytes, others: Sequence[ClientModel], choice: int
    ) -> list[Advice] | None:
        seen.append(response)
        return advise(model, response, others, choice)

    monkeypatch.setattr(judging, "advise", noted)
    return seen


def test_equal_responses(tmp_path: Path, tried: list[ReceivedBytes]) -> None:
    """The first response uses its ids for the first time, all others again: two are tried."""
    loop = turns(tmp_path, *[{}] * 6)
    together = Explaining()
    got = [together(*one).advice for one in loop]
    assert got[0]
    assert [one.body for one in tried] == [loop[0][0].body] * 2
    assert got == [Explaining()(*one).advice for one in loop]


def test_other_options_are_tried_again(tmp_path: Path, tried: list[ReceivedBytes]) -> None:
    """The tools of a request decide what repairs do."""
    loop = turns(tmp_path, {}, {}, {"tools": [{"type": "function", "function": {"name": CALLS[0][1]}}]})
    together = Explaining()
    for one in loop:
        together(*one)
    assert [one.exchange.request for one in tried] == [one.exchange.request for one, _ in loop]
