"""Options: mitmdump does not start with a wrong value, and the filter restricts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.mitmdump import MitmdumpError
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import anthropic, openai_chat
from tests.e2e.harness.script import event_stream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("toolstream_log", "loud", r"off.*calls.*chunks"),
        ("toolstream_filter", "~nonsense (", r"toolstream_filter: .*~nonsense.*~d api\.openai\.com"),
        ("toolstream_jsonl", "{folder}/missing/lines.jsonl", r"toolstream_jsonl: .*an existing folder"),
        ("toolstream_jsonl", "{folder}", r"toolstream_jsonl: .*a file in an existing folder"),
        ("toolstream_provider", "{folder}/missing.flow", r"toolstream_provider: .*missing\.flow"),
        ("toolstream_lgo", "off", r"unknown option 'toolstream_lgo'; did you mean toolstream_log\?"),
        ("toolstream_repair", "empty-di", r"unknown defect 'empty-di'; did you mean empty-id"),
        ("toolstream_repair", "lost-arguments", r"lost-arguments cannot be repaired"),
        ("toolstream_shape", "tiny", r"unknown shape 'tiny'"),
        ("toolstream_shape", "for:nobody", r"unknown client 'for:nobody'.*for:aichat"),
        ("toolstream_fault", "empty-di", r"unknown fault 'empty-di'; did you mean empty-id"),
        ("toolstream_fault", "empty-id:", r"expected key=value pairs after the colon; keys are host.*times"),
        ("toolstream_fault", "empty-id:p=2", r"p must be a number from 0 to 1"),
        ("toolstream_fault", "empty-id:colour=red", r"empty-id has no key colour; keys are host.*times"),
        ("toolstream_seed", "high", r"toolstream_seed: .*integer"),
        ("toolstream_repair", "saef", r"Addon error: unknown defect 'saef'; did you mean safe\?"),
        ("toolstream_speed", "fast", r"toolstream_speed: 'fast'"),
    ],
)
def test_a_wrong_value_is_rejected(proxies: Proxies, tmp_path: Path, option: str, value: str, message: str) -> None:
    """Mitmdump exits with code 1 and a message that has the expected value."""
    proxy = proxies.make({option: value.format(folder=tmp_path)})
    with contextlib.ExitStack() as stack:
        stack.callback(proxy.stop)
        with pytest.raises(MitmdumpError, match=f"(?s)ended with code 1.*{message}") as raised:
            proxy.start()
        assert "Traceback" not in str(raised.value)


@pytest.mark.parametrize(
    "expression",
    ["~d 127.0.0.1 & ~u /v1/messages", "~bq claude-test", "!~u completions", "~hq x-kind:.wanted"],
)
def test_the_filter_restricts(proxies: Proxies, plain: Upstream, expression: str) -> None:
    """A flow that does not match the filter is forwarded unchanged and not reported."""
    tap = proxies.tap("filter")
    proxy = proxies.get(toolstream_filter=expression, toolstream_jsonl=str(tap.path))
    before = len(tap.lines)
    unwanted, wanted = openai_chat("not wanted", "Bern"), anthropic(f"wanted {expression}", "Bern")
    for sample, kind in ((unwanted, "other"), (wanted, "wanted")):
        plan = plain.plan(event_stream(sample.chunks))
        with client("h1", route(proxy, plain)) as connection:
            reply = connection.request(sample.path, sample.body, plan.headers | {"x-kind": kind})
            assert reply.rest() == b"".join(sample.chunks)
    end = tap.end_of(wanted.call_id)
    assert {line["flow"] for line in tap.lines[before:]} == {end["flow"]}
    assert not [line for line in proxy.output if "not wanted" in line]
