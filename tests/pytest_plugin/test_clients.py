"""A project's tests with the plugin and the official clients: what passes, and what failing tests tell."""

from __future__ import annotations

import pytest

from tests.pytest_plugin.running import project, run

pytestmark = pytest.mark.e2e

FLOWS = ("openai-chat-*", "openai-responses-parallel", "anthropic-parallel", "gemini-parallel", "ollama-parallel")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One run of all of the project's tests."""
    folder = project(tmp_path_factory.mktemp("project"), *FLOWS, agents="agents", test_clients="inner_clients")
    before = {"OPENAI_BASE_URL": "http://before.example", "NO_PROXY": "before.example"}
    return run(folder, "-rA", "test_clients.py", "-W", "error::DeprecationWarning:test_clients", **before)


def outcome(told: str, name: str) -> str:
    """How the inner test of this name ended."""
    ends = [line.split()[0] for line in told.splitlines() if f"test_clients.py::{name}" in line.partition(" - ")[0]]
    assert ends, told
    return " ".join(ends)


@pytest.mark.parametrize("agent", ["chat", "responses", "messages_api", "gemini", "ollama_chat"])
def test_each_client_is_answered_and_understood(told: str, agent: str) -> None:
    """By base URL or through the proxy, streamed and whole."""
    assert outcome(told, f"test_clients[{agent}]") == "PASSED", told


@pytest.mark.parametrize(
    "name",
    [
        "test_async[asyncio]",
        "test_faults[None]",
        "test_faults[glm-5]",
        "test_faults[cut:at=in-arguments]",
        "test_a_repair_is_switched_on_and_off",
        "test_the_marker_alone_is_enough",
        "test_a_child_process",
        "test_the_environment_is_put_back",
    ],
)
def test_what_passes(told: str, name: str) -> None:
    """Each inner test says what it is about."""
    assert outcome(told, name) == "PASSED", told


def test_a_misunderstanding_is_shown_side_by_side(told: str) -> None:
    """What was sent, what came back, at which events, and how to see it outside pytest."""
    assert outcome(told, "test_fails_lost_arguments") == "FAILED"
    failure = told.partition("_ test_fails_lost_arguments _")[2].partition("_ test_fails_silent _")[0]
    for wanted in (
        "the client misread the response",
        "returned-without-arguments: response 0 from flows/openai-chat-single.flow#0 (openai-chat)",
        'get_weather id=\'call_4ksakq2vlkgILn6mEyWUwfiB\' {"city":"Lisbon","unit":"celsius"} events ',
        "get_weather id='call_4ksakq2vlkgILn6mEyWUwfiB' {} → sunny",
        "toolstream serve flows/openai-chat-single.flow --fault glm-5 --speed 0 --port 8765",
        "export OPENAI_BASE_URL=http://127.0.0.1:8765/v1 OPENAI_API_KEY=toolstream-offline",
        "toolstream run flows/openai-chat-single.flow --fault glm-5 --speed 0 -- COMMAND",
    ):
        assert wanted in failure, told


def test_a_client_that_never_asks_again(told: str) -> None:
    """Is not understood to have understood."""
    assert outcome(told, "test_fails_silent") == "FAILED"
    assert "no later request" in told.partition("_ test_fails_silent _")[2]


def test_a_client_that_was_made_before_the_test(told: str) -> None:
    """It asks its own provider: the assertion and the report say why nothing reached toolstream."""
    hint = "no request to an LLM reached toolstream. A client that was made at import"
    asserted = told.partition("_ test_fails_no_request _")[2].partition("_ test_")[0]
    assert f"AssertionError: {hint}" in asserted, told
    assert "misread" not in asserted
    raised = told.partition("_ test_fails_unreached _")[2].partition("_ test_")[0]
    assert f"\n{hint}" in raised, told


def test_nothing_answers_without_flows(told: str) -> None:
    """The client gets an error that says so, the report says what to do."""
    assert outcome(told, "test_fails_without_flows") == "FAILED"
    failure = told.partition("_ test_fails_without_flows _")[2]
    assert "toolstream: no saved flow matches POST 127.0.0.1/v1/chat/completions" in failure
    assert "@pytest.mark.toolstream('flows/test_fails_without_flows.flow')" in failure


def test_a_flow_that_there_is_not(told: str) -> None:
    """An error at the test's setup that names the places that were looked at."""
    assert outcome(told, "test_errors_without_the_file") == "ERROR"
    error = told.partition("ERROR at setup of test_errors_without_the_file")[2].partition("=== FAILURES")[0]
    assert "marker toolstream: no such file: 'flows/no-such.flow'" in error
    assert "provider.py" not in error
