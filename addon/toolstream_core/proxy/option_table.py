"""The addon's options as a table: mitmproxy declares them, commands take flags from them. Knows no mitmproxy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEVELS: Final = ("off", "calls", "chunks")
SOCKET_MODES: Final = ("read", "refuse", "pass")
"""The treatments of WebSockets."""
REPEATS: Final = 8
"""The number of equal requests that get the same saved response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonOption:
    """One option: a bool, an int, a string, or, with a tuple as its default, a list of strings."""

    name: str
    """Begins with `toolstream_`."""
    default: bool | int | str | tuple[str, ...]
    help: str
    metavar: str = ""
    """The placeholder of its value in the help of commands."""
    choices: tuple[str, ...] = ()
    const: str = ""
    """The value that the flag sets, if the flag takes none."""
    word: str = ""
    """The flag without dashes, if it is not the option's own name."""

    @property
    def flag(self) -> str:
        """The flag of commands, such as `--capture-max`."""
        return f"--{self.word or self.name.removeprefix('toolstream_').replace('_', '-')}"

    @property
    def many(self) -> bool:
        """Whether it can be given several times."""
        return isinstance(self.default, tuple)


LOG: Final = AddonOption(
    name="toolstream_log",
    default="chunks",
    help="Log nothing, the tool calls of each response, or each chunk too.",
    choices=LEVELS,
    word="level",
)
PROVIDER: Final = AddonOption(
    name="toolstream_provider",
    default=(),
    help="Respond to LLM requests with saved flows (files or directories) instead of the provider. calls: "
    "responds with calls of harmless tools that the client offers, calls:TOOL {JSON} with that call. The "
    "client runs the tools.",
    metavar="FLOW",
)
KEEP_BODIES: Final = AddonOption(
    name="toolstream_keep_bodies",
    default="64M",
    help="Keep the newest streamed LLM responses in memory, up to this many bytes, so that mitmweb and mitmproxy's "
    "console show them; 0 keeps none. Without effect in mitmdump.",
    metavar="SIZE",
)
OPTIONS: Final = (
    LOG,
    AddonOption(
        name="toolstream_filter",
        default="",
        help="Read only flows that match this mitmproxy filter expression.",
        metavar="FILTER",
    ),
    AddonOption(
        name="toolstream_jsonl",
        default="",
        help="Append one JSON object for each event to this file.",
        metavar="FILE",
    ),
    AddonOption(
        name="toolstream_view",
        default="",
        help="Show responses live as a page on this port of 127.0.0.1; 0 takes any free port.",
        metavar="PORT",
        const="0",
    ),
    KEEP_BODIES,
    PROVIDER,
    AddonOption(
        name="toolstream_provider_strict",
        default=False,
        help="Reject requests without a recorded response.",
        word="strict",
    ),
    AddonOption(
        name="toolstream_provider_repeats",
        default=REPEATS,
        help="Respond to at most N equal requests with one saved response, to end a client's loop; 0 sets no limit.",
        metavar="N",
    ),
    AddonOption(
        name="toolstream_speed",
        default="1",
        help="Replay speed factor: 1 is the recorded timing, 0 removes delays.",
        metavar="N",
    ),
    AddonOption(
        name="toolstream_repair",
        default=(),
        help="Repair these defects in flight: names, codes, families, or safe for all safe repairs.",
        metavar="DEFECT",
    ),
    AddonOption(
        name="toolstream_shape",
        default=(),
        help="Re-encode tool calls: names of shapes, or for:CLIENT.",
        metavar="SHAPE",
    ),
    AddonOption(
        name="toolstream_fault",
        default=(),
        help="Inject faults to test a client: NAME[:key=value,...].",
        metavar="SPEC",
    ),
    AddonOption(
        name="toolstream_seed",
        default=0,
        help="Random seed for probabilistic faults.",
        metavar="N",
    ),
    AddonOption(
        name="toolstream_websocket",
        default="read",
        help="Read the WebSockets of LLMs, refuse them to make the client use HTTP, or forward them unread.",
        choices=SOCKET_MODES,
    ),
    AddonOption(
        name="toolstream_capture",
        default="",
        help="Write each LLM flow, without secrets, to a flow file in this directory.",
        metavar="DIR",
    ),
    AddonOption(
        name="toolstream_capture_when",
        default="all",
        help="Capture all flows, only those with findings (warnings, errors or a failure), or only those with "
        "errors (an error, an HTTP error or a failure).",
        choices=("all", "findings", "errors"),
        word="when",
    ),
    AddonOption(
        name="toolstream_capture_text",
        default="keep",
        help="Keep chat text in captures (keep), mask its characters (mask), or replace it with filler of the same "
        "shape (shape).",
        choices=("keep", "mask", "shape"),
        word="text",
    ),
    AddonOption(
        name="toolstream_capture_max",
        default="1G",
        help="Stop capturing when the directory holds this many bytes, such as 500M.",
        metavar="SIZE",
    ),
    AddonOption(
        name="toolstream_capture_secret",
        default=(),
        help="Redact more in captures: the name of a header, parameter or field, or /a regular expression/.",
        metavar="NAME|/REGEX/",
        word="secret",
    ),
)
