"""The five reports behind this project: which client failed at which stream, why, and which option helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tests.e2e.clients import aichat, openclaw, pi_ai, ruby_llm, spring_ai
from toolstream_core.clients.model import STANDARD, Kept, Key

if TYPE_CHECKING:
    from tests.e2e.clients.conversation import Client
    from toolstream_core.clients.model import ClientModel


class Reported(NamedTuple):
    """A report of a client that failed."""

    key: str
    title: str
    source: str
    story: str
    """The reported failure."""
    flow: str
    """The name of the saved flow with the stream."""
    client: Client
    """The behaviour of the client, including its errors."""
    model: ClientModel | None
    """How it assembles fragments; `None` if the stream has none."""
    advice: str
    """The advice, as an option of mitmdump."""
    fault: str
    """The fault that injects the pattern into a stream."""

    @property
    def words(self) -> tuple[str, str]:
        """The advice as the option's name, `repair` or `shape`, and its value."""
        name, _, value = self.advice.removeprefix("--set toolstream_").partition("=")
        return name, value


REPORTS: Final = (
    Reported(
        key="S1",
        title="aichat and GLM-5: no id on continuations",
        source="https://github.com/sigoden/aichat",
        story="The stream is valid: only the first delta needs an id. aichat without its guard on the length of keys "
        "uses `ID/INDEX` as a call's key and treats an absent id as empty. The second delta therefore starts another "
        "call, and aichat runs the first call with `{}`. The tool fails, the model repeats the call, and the agent "
        "loops.",
        flow="glm-5",
        client=aichat.UNGUARDED,
        model=STANDARD.with_deviations([Key.INDEX_AND_ID, Kept.NAMED]),
        advice="--set toolstream_shape=whole-calls",
        fault="glm-5",
    ),
    Reported(
        key="S2",
        title="ruby_llm and Responses: the deltas have different ids",
        source="https://github.com/khasinski/ruby_llm-responses_api",
        story="`response.output_item.added` has `call_id` and the name. An arguments delta has neither, only an item "
        "id. ruby_llm starts a call for every id and replaces a call that has the same id. The name is lost, and only "
        "the last fragment of the arguments remains.",
        flow="ruby-llm-responses",
        client=ruby_llm.RESPONSES,
        model=STANDARD.with_deviations([Key.ID]),
        advice="--set toolstream_shape=self-contained-deltas",
        fault="responses-item-id",
    ),
    Reported(
        key="S3",
        title="OpenClaw: empty strings on continuations",
        source="https://github.com/openclaw/openclaw",
        story='Continuations have `"id": ""` and `"name": ""`. OpenClaw treated every delta as a call: one with the '
        "real id and no arguments, and two without a name and with one fragment of the arguments each.",
        flow="openclaw-empty-ids",
        client=openclaw.REPORTED,
        model=STANDARD.with_deviations([Key.ENTRY]),
        advice="--set toolstream_shape=whole-calls",
        fault="openclaw",
    ),
    Reported(
        key="S4",
        title='Spring AI and DeepSeek: `"id": ""`',
        source="https://github.com/spring-projects/spring-ai/issues/5806",
        story='Continuations have `"id": ""`. Spring AI 2.0.0-RC1 starts a call for every id, also an empty one. It '
        "therefore has calls without id and name.",
        flow="deepseek-empty-id",
        client=spring_ai.RC1,
        model=STANDARD.with_deviations([Key.PRESENT_ID]),
        advice="--set toolstream_shape=whole-calls",
        fault="deepseek",
    ),
    Reported(
        key="S5",
        title="Pi SDK and OpenRouter: no deltas of tool calls at all",
        source="https://github.com/OpenRouterTeam/ai-sdk-provider/issues/166",
        story='The text streams, the last event has `"finish_reason": "tool_calls"`, and no event contains a call. The '
        "client stops to run tools, with an empty list of calls. The same request with `stream: false` returns the "
        "calls.",
        flow="openrouter-no-deltas",
        client=pi_ai.REPORTED,
        model=None,
        advice="--set toolstream_repair=missing-calls",
        fault="openrouter-no-deltas",
    ),
)
