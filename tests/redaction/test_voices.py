"""Secrets that one of several texts says piece by piece, while others are said in between under the same key."""

from __future__ import annotations

import itertools
import json
import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.redaction.test_planted import SHAPED, pieces
from toolstream_core.redaction import redacted_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    type Say = Callable[[int, int, str], dict[str, Any]]

OTHERS: Final = (
    "export API_KEY is what nobody should say aloud here",
    "the weather in Bern is fine, and so on for long",
)


def gemini_live(voice: int, _: int, piece: str) -> dict[str, Any]:
    """What the model writes, what it says, and what it heard."""
    spoken = ("inputTranscription", "outputTranscription")
    what = {spoken[voice]: {"text": piece}} if voice < len(spoken) else {"modelTurn": {"parts": [{"text": piece}]}}
    return {"serverContent": what}


def realtime(voice: int, number: int, piece: str) -> dict[str, Any]:
    """What was heard, what is said and what is thought; each event has an id of its own."""
    kind = ("conversation.item.input_audio_transcription", "response.output_audio_transcript", "response.output_text")
    said = {"type": f"{kind[voice]}.delta", "event_id": f"event_{number:06}", "item_id": f"item_{voice}"}
    return {**said, "content_index": 0, "delta": piece}


def in_any_order(voice: int, number: int, piece: str) -> dict[str, Any]:
    """Written by a server that does not keep the order of fields."""
    fields = list(realtime(voice, number, piece).items())
    return dict(random.Random(number).sample(fields, len(fields)))


def events(rng: random.Random, say: Say, texts: list[str]) -> Iterator[dict[str, Any]]:
    """The texts' pieces, each text in its order, by chance."""
    left = [pieces(rng, text) for text in texts]
    for number in itertools.count():
        if not any(left):
            return
        voice = rng.choice([voice for voice, rest in enumerate(left) if rest])
        yield say(voice, number, left[voice].pop(0))


@pytest.mark.parametrize("say", [gemini_live, realtime, in_any_order])
@pytest.mark.parametrize("seed", range(3))
def test_a_secret_among_other_voices(seed: int, say: Say) -> None:
    """Every kind, cut by chance. A little more may go: it may also be one text, said under changing ids."""
    rng = random.Random(seed)
    for kind, make in SHAPED.items():
        secret = make(rng)
        spoken = [f"the key is {secret}, use it", *OTHERS]
        body = "\n".join(json.dumps(one) for one in events(rng, say, spoken)).encode()
        heard = ["", "", ""]
        for line in redacted_body(body).splitlines():
            event = json.loads(line)
            voice = next(voice for voice in range(3) if _is_of(event, say(voice, 0, "")))
            heard[voice] += _text_of(event)
        assert heard[0][len("the key is ") :].startswith("*" * len(secret)), kind
        assert list(map(len, heard)) == list(map(len, spoken))


def _is_of(event: dict[str, Any], other: dict[str, Any]) -> bool:
    if "serverContent" in event:
        return bool(event["serverContent"].keys() == other["serverContent"].keys())
    return bool(event["item_id"] == other["item_id"])


def _text_of(event: dict[str, Any]) -> str:
    if "delta" in event:
        return str(event["delta"])
    [what] = event["serverContent"].values()
    return str(what["text"] if "text" in what else what["parts"][0]["text"])
