"""Secrets in fragments of one text, with fragments of other texts under the same key in between."""

from __future__ import annotations

import itertools
import json
import random
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.redaction.test_random_secrets import SHAPED, split
from toolstream_core.redaction import redacted_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    type MakeEvent = Callable[[int, int, str], dict[str, Any]]

OTHERS: Final = (
    "export API_KEY is what nobody should say aloud here",
    "the weather in Bern is fine, and so on for long",
)


def gemini_live(voice: int, _: int, fragment: str) -> dict[str, Any]:
    """An event with what the model writes, says or hears."""
    originals = ("inputTranscription", "outputTranscription")
    field = (
        {originals[voice]: {"text": fragment}}
        if voice < len(originals)
        else {"modelTurn": {"parts": [{"text": fragment}]}}
    )
    return {"serverContent": field}


def realtime(voice: int, number: int, fragment: str) -> dict[str, Any]:
    """An event with what is heard, said or thought. Each has its own id."""
    kind = ("conversation.item.input_audio_transcription", "response.output_audio_transcript", "response.output_text")
    common = {"type": f"{kind[voice]}.delta", "event_id": f"event_{number:06}", "item_id": f"item_{voice}"}
    return {**common, "content_index": 0, "delta": fragment}


def shuffled_fields(voice: int, number: int, fragment: str) -> dict[str, Any]:
    """An event of a server that does not keep the order of fields."""
    fields = list(realtime(voice, number, fragment).items())
    return dict(random.Random(number).sample(fields, len(fields)))


def events(rng: random.Random, event: MakeEvent, texts: list[str]) -> Iterator[dict[str, Any]]:
    """The fragments of all texts in a random order that keeps the order of each text."""
    left = [split(rng, text) for text in texts]
    for number in itertools.count():
        if not any(left):
            return
        voice = rng.choice([voice for voice, rest in enumerate(left) if rest])
        yield event(voice, number, left[voice].pop(0))


@pytest.mark.parametrize("event", [gemini_live, realtime, shuffled_fields])
@pytest.mark.parametrize("seed", range(3))
def test_a_secret_among_other_voices(seed: int, event: MakeEvent) -> None:
    """Every kind is found with random cuts. The text after it may be overwritten too, as part of one longer text."""
    rng = random.Random(seed)
    for kind, make in SHAPED.items():
        secret = make(rng)
        originals = [f"the key is {secret}, use it", *OTHERS]
        body = "\n".join(json.dumps(one) for one in events(rng, event, originals)).encode()
        texts_left = ["", "", ""]
        for line in redacted_body(body).splitlines():
            received = json.loads(line)
            voice = next(voice for voice in range(3) if is_same_voice(received, event(voice, 0, "")))
            texts_left[voice] += text_of(received)
        assert texts_left[0][len("the key is ") :].startswith("*" * len(secret)), kind
        assert list(map(len, texts_left)) == list(map(len, originals))


def is_same_voice(event: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two events belong to the same text."""
    if "serverContent" in event:
        return bool(event["serverContent"].keys() == other["serverContent"].keys())
    return bool(event["item_id"] == other["item_id"])


def text_of(event: dict[str, Any]) -> str:
    """The fragment of an event."""
    if "delta" in event:
        return str(event["delta"])
    [field] = event["serverContent"].values()
    return str(field["text"] if "text" in field else field["parts"][0]["text"])
