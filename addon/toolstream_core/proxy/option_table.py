"""The addon's options as a table: mitmproxy declares them, commands take flags from them. Knows no mitmproxy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEVELS: Final = ("off", "calls", "chunks")
SOCKET_MODES: Final = ("read", "refuse", "pass")
"""What may be done with WebSockets."""
REPEATS: Final = 8
"""Equal requests that one saved response answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonOption:
    """One option: a bool, an int, a string, or, with a tuple as its default, a list of strings."""

    name: str
    """Begins with `toolstream_`."""
    default: bool | int | str | tuple[str, ...]
    help: str
    metavar: str = ""
    """What stands for its value in the help of commands."""
    choices: tuple[str, ...] = ()
    word: str = ""
    """The flag without dashes, where that is not the option's own name."""

    @property
    def flag(self) -> str:
        """The flag of commands, such as `--capture-when`."""
        return f"--{self.word or self.name.removeprefix('toolstream_').replace('_', '-')}"

    @property
    def many(self) -> bool:
        """Whether it can be given several times."""
        return isinstance(self.default, tuple)


LOG: Final = AddonOption(
    name="toolstream_log",
    default="chunks",
    help="What toolstream prints: nothing, the resolved calls of each answer, or every chunk too.",
    choices=LEVELS,
    word="level",
)
PROVIDER: Final = AddonOption(
    name="toolstream_provider",
    default=(),
    help="What answers LLM requests in the provider's place: saved flows (files or folders), or, with calls:, healthy "
    "calls of harmless tools on offer; calls:TOOL {JSON} makes that call. The client runs the tools.",
    metavar="FLOW",
)
OPTIONS: Final = (
    LOG,
    AddonOption(
        name="toolstream_filter",
        default="",
        help="Which flows toolstream looks at: a mitmproxy filter expression.",
        metavar="FILTER",
    ),
    AddonOption(
        name="toolstream_jsonl",
        default="",
        help="A file that gets one JSON object for each event.",
        metavar="FILE",
    ),
    PROVIDER,
    AddonOption(
        name="toolstream_provider_strict",
        default=False,
        help="Whether a request that was not recorded is refused, instead of answered with what fits best.",
        word="strict",
    ),
    AddonOption(
        name="toolstream_provider_repeats",
        default=REPEATS,
        help="Equal requests that one saved response answers, so that a client in a loop ends; 0 is no limit.",
        metavar="N",
    ),
    AddonOption(
        name="toolstream_speed",
        default="1",
        help="How many times as fast as they were recorded saved flows answer; 0 is at once.",
        metavar="N",
    ),
    AddonOption(
        name="toolstream_repair",
        default=(),
        help="Defects to mend in streams as they pass: names, codes, families, or safe for all that are safe.",
        metavar="DEFECT",
    ),
    AddonOption(
        name="toolstream_shape",
        default=(),
        help="Other lawful ways in which streams are to say their calls: shapes, or for:CLIENT.",
        metavar="SHAPE",
    ),
    AddonOption(
        name="toolstream_fault",
        default=(),
        help="Defects to cause in streams, to test a client: NAME[:key=value,...].",
        metavar="SPEC",
    ),
    AddonOption(
        name="toolstream_seed",
        default=0,
        help="Faults of a probability are drawn from this number, so that a run can be repeated.",
        metavar="N",
    ),
    AddonOption(
        name="toolstream_websocket",
        default="read",
        help="What is done with the WebSockets of LLMs: read them, refuse them so that the client asks over HTTP, "
        "or let them pass unread.",
        choices=SOCKET_MODES,
    ),
    AddonOption(
        name="toolstream_capture",
        default="",
        help="A folder that gets one flow file, without secrets, for each flow of an LLM that has ended.",
        metavar="DIR",
    ),
    AddonOption(
        name="toolstream_capture_when",
        default="all",
        help="Which flows are captured: all, those with findings (warnings and errors) or that failed, or those with "
        "errors: that broke, are an HTTP error, hold one, or have a finding of severity error.",
        metavar="WHEN",
    ),
    AddonOption(
        name="toolstream_capture_text",
        default="keep",
        help="What captures hold of chat text: the text itself (keep), mask characters (mask), "
        "or filler of the same shape (shape).",
        metavar="HOW",
    ),
    AddonOption(
        name="toolstream_capture_max",
        default="1G",
        help="Bytes that the captures in the folder may have together, such as 500M; then nothing more is captured.",
        metavar="SIZE",
    ),
    AddonOption(
        name="toolstream_capture_secret",
        default=(),
        help="More that is redacted in captures: the name of a header, parameter or field, or /a regular expression/.",
        metavar="SECRET",
    ),
)
