"""The five reports that this project answers: who failed at which stream, why, and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tests.e2e.clients import aichat, openclaw, pi_ai, ruby_llm, spring_ai
from toolstream_core.clients.model import STANDARD, Kept, Key

if TYPE_CHECKING:
    from tests.e2e.clients.conversation import Client
    from toolstream_core.clients.model import ClientModel


class Reported(NamedTuple):
    """One report."""

    key: str
    title: str
    source: str
    story: str
    """What was reported."""
    flow: str
    """The saved flow that has the stream."""
    client: Client
    """What the client was seen to do, down to its errors."""
    model: ClientModel | None
    """How it puts the fragments together; `None` where the stream has none."""
    advice: str
    """What is advised, as an option of mitmdump."""
    fault: str
    """What causes the pattern in any stream."""

    @property
    def words(self) -> tuple[str, str]:
        """The advice as the name of an option, `repair` or `shape`, and its value."""
        name, _, value = self.advice.removeprefix("--set toolstream_").partition("=")
        return name, value


REPORTS: Final = (
    Reported(
        key="S1",
        title="aichat and GLM-5: no id on continuations",
        source="https://github.com/sigoden/aichat",
        story="The stream is lawful: the id belongs to the first delta only. aichat without its guard on the length of "
        "keys takes `ID/INDEX` as a call's key and an absent id as empty, so the second delta begins another call, and "
        "the first one is run with `{}`. The tool complains, the model asks again, and so on for ever.",
        flow="glm-5",
        client=aichat.UNGUARDED,
        model=STANDARD.having([Key.INDEX_AND_ID, Kept.NAMED]),
        advice="--set toolstream_shape=whole-calls",
        fault="glm-5",
    ),
    Reported(
        key="S2",
        title="ruby_llm and Responses: the deltas have an id of their own",
        source="https://github.com/khasinski/ruby_llm-responses_api",
        story="`response.output_item.added` says `call_id` and name; a delta of arguments says neither, and has an "
        "item id. ruby_llm takes every id for a call of its own, in the place of one with the same id: the name is "
        "lost, and only the last fragment of the arguments is left.",
        flow="ruby-llm-responses",
        client=ruby_llm.RESPONSES,
        model=STANDARD.having([Key.ID]),
        advice="--set toolstream_shape=self-contained-deltas",
        fault="responses-item-id",
    ),
    Reported(
        key="S3",
        title="OpenClaw: empty strings on continuations",
        source="https://github.com/openclaw/openclaw",
        story='Continuations have `"id": ""` and `"name": ""`. OpenClaw took every delta for a call: one with the real '
        "id and no arguments, two without a name and with a piece of the arguments each.",
        flow="openclaw-empty-ids",
        client=openclaw.REPORTED,
        model=STANDARD.having([Key.ENTRY]),
        advice="--set toolstream_shape=whole-calls",
        fault="openclaw",
    ),
    Reported(
        key="S4",
        title='Spring AI and DeepSeek: `"id": ""`',
        source="https://github.com/spring-projects/spring-ai/issues/5806",
        story='Continuations have `"id": ""`. Spring AI 2.0.0-RC1 begins a call wherever an id is present, also an '
        "empty one, and so has calls without id and name.",
        flow="deepseek-empty-id",
        client=spring_ai.RC1,
        model=STANDARD.having([Key.PRESENT_ID]),
        advice="--set toolstream_shape=whole-calls",
        fault="deepseek",
    ),
    Reported(
        key="S5",
        title="Pi SDK and OpenRouter: no deltas of tool calls at all",
        source="https://github.com/OpenRouterTeam/ai-sdk-provider/issues/166",
        story='The text streams, the last event says `"finish_reason": "tool_calls"`, and no event has a call. The '
        "client stops to run tools, with an empty list of calls. The same question without a stream is answered with "
        "the calls.",
        flow="openrouter-no-deltas",
        client=pi_ai.REPORTED,
        model=None,
        advice="--set toolstream_repair=missing-calls",
        fault="openrouter-no-deltas",
    ),
)
