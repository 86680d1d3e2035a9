"""What was measured as one report that the page of `toolstream check` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from matrixlib.run import HALF_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matrixlib.clients import MatrixClient

_NAMES: Final = {"raw": "{}", "safe": "{}, repaired", "whole_calls": "{}, whole calls"}


def combined(streams: Iterable[tuple[MatrixClient, dict[str, Any]]]) -> dict[str, Any] | None:
    """All runs (`run.kept`) as one report, each way as a client of its own; `None` without any."""
    documents = [
        (client.name, how, found[how])
        for client, found in streams
        if found["about"]["not_run"] is None
        for how in HALF_CALLS
        if how in found
    ]
    if not documents:
        return None
    listed = [{**document["clients"][0], "name": _NAMES[how].format(name)} for name, how, document in documents]
    seconds = round(sum(document["seconds"] for _, _, document in documents), 1)
    return {**documents[0][2], "seconds": seconds, "clients": listed}
