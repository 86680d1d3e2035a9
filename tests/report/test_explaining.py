"""Advice for equal responses is tried once, with the same result as for each response alone."""

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
    from toolstream_core.protocols.requests.conversation import ReturnedCall

type Turn = tuple[ReceivedBytes, Sequence[ReturnedCall]]


def turns(folder: Path, *requests: object) -> list[Turn]:
    """Responses whose client lost all arguments, each with other fields in its request."""
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
    responses: list[ReceivedBytes] = []

    def recorded(
        model: ClientModel, response: ReceivedBytes, others: Sequence[ClientModel], choice: int
    ) -> list[Advice] | None:
        responses.append(response)
        return advise(model, response, others, choice)

    monkeypatch.setattr(judging, "advise", recorded)
    return responses


def test_equal_responses(tmp_path: Path, tried: list[ReceivedBytes]) -> None:
    """Only the first response has new ids, so two responses are tried."""
    loop = turns(tmp_path, *[{}] * 6)
    together = Explaining()
    found = [together(*one).advice for one in loop]
    assert found[0]
    assert [one.body for one in tried] == [loop[0][0].body] * 2
    assert found == [Explaining()(*one).advice for one in loop]


def test_responses_to_other_tools_are_tried_again(tmp_path: Path, tried: list[ReceivedBytes]) -> None:
    """The tools of a request influence the repairs."""
    loop = turns(tmp_path, {}, {}, {"tools": [{"type": "function", "function": {"name": CALLS[0][1]}}]})
    together = Explaining()
    for one in loop:
        together(*one)
    assert [one.facts.request for one in tried] == [one.facts.request for one, _ in loop]
