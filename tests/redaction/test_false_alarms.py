"""Text without secrets is not redacted: sources of installed Python packages, and texts of agents."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import sysconfig
import uuid
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolstream_core.redact import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGES: Final = 4000
ALARMS: Final = 4
"""Most changes allowed in these messages: examples in packages may contain a key (17 in 117,740)."""
LONGEST: Final = 1500
SOURCES: Final = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib"))
ENDINGS: Final = frozenset({".py", ".md", ".txt", ".rst", ".js", ".pyi", ".toml", ".h"})


def messages() -> Iterator[str]:
    """Parts of files, in a pseudo-random order that does not depend on the installation."""
    paths = [(path.relative_to(root).as_posix(), path) for root in SOURCES for path in root.rglob("*")]
    for name, path in sorted(paths, key=lambda pair: zlib.crc32(pair[0].encode())):
        if path.suffix not in ENDINGS or "test" in name or path.stat().st_size > 1 << 20:
            continue
        text = path.read_text("utf-8", "replace")
        yield from (part[:LONGEST] for part in re.split(r"\n(?:\s*\n)+", text)[:20] if len(part) > 40)


def test_sources_stay() -> None:
    """They are unchanged byte for byte, except for a few examples with a key."""
    parts = [text for _, text in zip(range(MESSAGES), messages(), strict=False)]
    assert len(parts) == MESSAGES
    found = [text for text in parts if redacted(text) != text]
    assert len(found) <= ALARMS, found


ALPHABETS: Final = {"x": string.hexdigits[:16], "w": string.ascii_letters + string.digits, "d": string.digits}
TEMPLATES: Final = (Path(__file__).parent / "harmless.jsonl").read_text("utf-8").splitlines()


def expanded(template: str, source: random.Random) -> str:
    """The template with random values: `<x40>` is 40 hexadecimal digits, `<b64>` base64 of 64 bytes, `<u>` a UUID."""

    def random_value(found: re.Match[str]) -> str:
        if found[1] == "u":
            return str(uuid.UUID(int=source.getrandbits(128), version=4))
        if found[1] == "b":
            return base64.b64encode(source.randbytes(int(found[2]))).decode()
        return "".join(source.choices(ALPHABETS[found[1]], k=int(found[2])))

    return re.sub(r"<([xwdub])([0-9]*)>", random_value, template)


def test_texts_of_agents_stay() -> None:
    """Ids, hashes, images, placeholders and names are not redacted, with any random digits."""
    source = random.Random(3)
    templates = [json.loads(line)["text"] for line in TEMPLATES]
    texts = [expanded(template, source) for _ in range(100) for template in templates]
    assert [text for text in texts if redacted(text) != text] == []
