"""A project's tests with the plugin and the official clients: passing tests and the output of failing tests."""

from __future__ import annotations

import pytest

from tests.pytest_plugin.running import project, run

pytestmark = pytest.mark.e2e

FLOWS = ("openai-chat-*", "openai-responses-parallel", "anthropic-parallel", "gemini-parallel", "ollama-parallel")


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the output of one run of all tests of the project."""
    folder = project(tmp_path_factory.mktemp("project"), *FLOWS, agents="agents", test_clients="inner_clients")
    before = {"OPENAI_BASE_URL": "http://before.example", "NO_PROXY": "before.example"}
    return run(folder, "-rA", "test_clients.py", "-W", "error::DeprecationWarning:test_clients", **before)


def outcome(output: str, name: str) -> str:
    """Return the outcome of the inner test with this name."""
    ends = [line.split()[0] for line in output.splitlines() if f"test_clients.py::{name}" in line.partition(" - ")[0]]
    assert ends, output
    return " ".join(ends)


@pytest.mark.parametrize("agent", ["chat", "responses", "messages_api", "gemini", "ollama_chat"])
def test_each_client_understands_its_response(output: str, agent: str) -> None:
    """Each client is used by base URL and through the proxy, streamed and unstreamed."""
    assert outcome(output, f"test_clients[{agent}]") == "PASSED", output


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
def test_passing_tests(output: str, name: str) -> None:
    """The name of each inner test says what it checks."""
    assert outcome(output, name) == "PASSED", output


def test_a_misread_response_is_shown_side_by_side(output: str) -> None:
    """The failure has the sent and returned calls, their events and commands that reproduce it."""
    assert outcome(output, "test_fails_lost_arguments") == "FAILED"
    failure = output.partition("_ test_fails_lost_arguments _")[2].partition("_ test_fails_silent _")[0]
    for expected in (
        "the client misread the response",
        "returned-without-arguments: response 0 from flows/openai-chat-single.flow#0 (openai-chat)",
        'get_weather id=\'call_4ksakq2vlkgILn6mEyWUwfiB\' {"city":"Lisbon","unit":"celsius"} events ',
        "get_weather id='call_4ksakq2vlkgILn6mEyWUwfiB' {} → sunny",
        "toolstream serve flows/openai-chat-single.flow --fault glm-5 --speed 0 --port 8765",
        "export OPENAI_BASE_URL=http://127.0.0.1:8765/v1 OPENAI_API_KEY=toolstream-offline",
        "toolstream run flows/openai-chat-single.flow --fault glm-5 --speed 0 -- COMMAND",
    ):
        assert expected in failure, output


def test_a_client_without_a_later_request(output: str) -> None:
    """The assertion fails, as nothing shows that the client understood the response."""
    assert outcome(output, "test_fails_silent") == "FAILED"
    assert "no later request" in output.partition("_ test_fails_silent _")[2]


def test_a_client_that_was_created_before_the_test(output: str) -> None:
    """The client uses its own provider, and the failure says why no request reached toolstream."""
    hint = "no request to an LLM reached toolstream. A client that was created at import"
    asserted = output.partition("_ test_fails_no_request _")[2].partition("_ test_")[0]
    assert f"AssertionError: {hint}" in asserted, output
    assert "misread" not in asserted
    raised = output.partition("_ test_fails_unreached _")[2].partition("_ test_")[0]
    assert f"\n{hint}" in raised, output


def test_a_test_without_flows(output: str) -> None:
    """The client gets an error, and the report names a fix."""
    assert outcome(output, "test_fails_without_flows") == "FAILED"
    failure = output.partition("_ test_fails_without_flows _")[2]
    assert "toolstream: no saved flow matches POST 127.0.0.1/v1/chat/completions" in failure
    assert "@pytest.mark.toolstream('flows/test_fails_without_flows.flow')" in failure


def test_a_missing_flow(output: str) -> None:
    """The setup error names the searched paths."""
    assert outcome(output, "test_errors_without_the_file") == "ERROR"
    error = output.partition("ERROR at setup of test_errors_without_the_file")[2].partition("=== FAILURES")[0]
    assert "marker toolstream: no such file: 'flows/no-such.flow'" in error
    assert "provider.py" not in error
