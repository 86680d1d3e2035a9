"""Messages around an answer that is rewritten."""

from __future__ import annotations

import pytest
from mitmproxy.test import tutils

from toolstream_core.defects.stage import MAX_IDS, Ids
from toolstream_core.proxy.changes import readable, restore, unlabel


def test_ids_are_put_back() -> None:
    """As JSON strings of the body, whatever they were; nothing else changes."""
    ids = Ids()
    made = [ids.make("call_", "a", ""), ids.make("call_", "b", 'x"1'), ids.make("toolu_", "c", None)]
    body = f'{{"a": "{made[0]}", "b":["{made[1]}"],"c":"{made[2]}", "d":"call_unknown_id"}}'
    request = tutils.treq(content=body.encode(), headers=((b"content-length", b"1"),))
    restore(request, ids)
    after = f'{{"a": "", "b":["x\\"1"],"c":"{made[2]}", "d":"call_unknown_id"}}'.encode()
    assert request.raw_content == after
    assert request.headers["content-length"] == str(len(after))


def test_made_up_ids_are_stable_and_not_kept_for_ever() -> None:
    """The oldest are forgotten first."""
    ids = Ids()
    assert ids.make("call_", "a", "x") == ids.make("call_", "a", "x")
    for number in range(MAX_IDS + 5):
        ids.make("call_", str(number), "")
    assert len(ids.sent) == MAX_IDS


@pytest.mark.parametrize(("coding", "known"), [("", True), ("gzip", True), ("gzip, br", True), ("x-own", False)])
def test_only_what_can_be_decoded_is_rewritten(coding: str, *, known: bool) -> None:
    """Then the headers that describe the coded bytes go."""
    response = tutils.tresp(headers=((b"content-encoding", coding.encode()), (b"content-length", b"7")))
    assert readable(response) is known
    unlabel(response)
    assert not {"content-encoding", "content-length"} & set(response.headers)
