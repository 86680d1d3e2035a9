"""The addon's options: their names, types, defaults and what they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mitmproxy import flowfilter
from mitmproxy.exceptions import OptionsError

from toolstream_core.settings import Settings, SettingsError, Words, nearest, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mitmproxy.addonmanager import Loader
    from mitmproxy.options import Options

OURS = (
    "toolstream_log",
    "toolstream_filter",
    "toolstream_jsonl",
    "toolstream_provider",
    "toolstream_provider_strict",
    "toolstream_speed",
    "toolstream_repair",
    "toolstream_shape",
    "toolstream_fault",
    "toolstream_seed",
    "toolstream_capture",
    "toolstream_capture_when",
    "toolstream_capture_text",
    "toolstream_capture_max",
    "toolstream_capture_secret",
)
CHANGES = frozenset({"toolstream_repair", "toolstream_shape", "toolstream_fault", "toolstream_seed"})
CAPTURE = frozenset(name for name in OURS if name.startswith("toolstream_capture"))
PROVIDER = frozenset({"toolstream_provider", "toolstream_provider_strict", "toolstream_seed"})
LEVELS = ("off", "calls", "chunks")


# A table, read from top to bottom.
def declare(loader: Loader) -> None:
    """Tell mitmproxy of them."""
    loader.add_option(
        "toolstream_log",
        str,
        "chunks",
        "What toolstream prints: nothing, the resolved calls of each answer, or every chunk too.",
        choices=LEVELS,
    )
    loader.add_option("toolstream_filter", str, "", "Which flows toolstream looks at: a mitmproxy filter expression.")
    loader.add_option("toolstream_jsonl", str, "", "A file that gets one JSON object for each event.")
    loader.add_option(
        "toolstream_provider",
        Sequence[str],
        [],
        "What answers LLM requests in the provider's place: saved flows (files or folders), or, with calls:, healthy "
        "calls of the tools on offer; calls:TOOL {JSON} makes that call.",
    )
    loader.add_option(
        "toolstream_provider_strict",
        bool,
        False,  # noqa: FBT003 - mitmproxy's signature
        "Whether a request that was not recorded is refused, instead of answered with what fits best.",
    )
    loader.add_option(
        "toolstream_speed",
        str,
        "1",
        "How many times as fast as they were recorded saved flows answer; 0 is at once.",
    )
    _declare_changes(loader)
    _declare_capture(loader)


def _declare_changes(loader: Loader) -> None:
    loader.add_option(
        "toolstream_repair",
        Sequence[str],
        [],
        "Defects to mend in streams as they pass: names, codes, families, or safe for all that are safe.",
    )
    loader.add_option(
        "toolstream_shape",
        Sequence[str],
        [],
        "Other lawful ways in which streams are to say their calls: shapes, or for:CLIENT.",
    )
    loader.add_option(
        "toolstream_fault",
        Sequence[str],
        [],
        "Defects to cause in streams, to test a client: NAME[:key=value,...].",
    )
    loader.add_option(
        "toolstream_seed",
        int,
        0,
        "Faults of a probability are drawn from this number, so that a run can be repeated.",
    )


def _declare_capture(loader: Loader) -> None:
    loader.add_option(
        "toolstream_capture",
        str,
        "",
        "A folder that gets one flow file, without secrets, for each flow of an LLM that has ended.",
    )
    loader.add_option(
        "toolstream_capture_when",
        str,
        "all",
        "Which flows are captured: all, those with findings (warnings and errors) or that failed, or those with "
        "errors: that broke, are an HTTP error, hold one, or have a finding of severity error.",
    )
    loader.add_option(
        "toolstream_capture_text",
        str,
        "keep",
        "What captures hold of chat text: the text itself (keep), mask characters (mask), "
        "or filler of the same shape (shape).",
    )
    loader.add_option(
        "toolstream_capture_max",
        str,
        "1G",
        "Bytes that the captures in the folder may have together, such as 500M; then nothing more is captured.",
    )
    loader.add_option(
        "toolstream_capture_secret",
        Sequence[str],
        [],
        "More that is redacted in captures: the name of a header, parameter or field, or /a regular expression/.",
    )


def filter_of(expression: str) -> flowfilter.TFilter | None:
    """The value of `toolstream_filter`. Raises `OptionsError`."""
    try:
        return flowfilter.parse(expression) if expression else None
    except ValueError as error:
        message = (
            f"toolstream_filter: {expression!r} is no mitmproxy filter expression ({error}). "
            "Right would be, for example: ~d api.openai.com & ~m POST"
        )
        raise OptionsError(message) from error


def changes_of(options: Options) -> Settings:
    """What `CHANGES` ask for. Raises `OptionsError`."""
    words = Words(
        options.toolstream_repair, options.toolstream_shape, options.toolstream_fault, options.toolstream_seed
    )
    try:
        return settings(words)
    except SettingsError as error:
        raise OptionsError(str(error)) from error


def speed_of(text: str) -> float:
    """The value of `toolstream_speed`. Raises `OptionsError`."""
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < float("inf"):
        message = f"toolstream_speed: {text!r} is no number from 0 on; 1 is as recorded, 0 at once"
        raise OptionsError(message)
    return speed


def malformed(options: Options) -> Iterator[str]:
    """What is wrong with values of ours that have not the option's type, or are one too many.

    mitmproxy drops the whole script at such a value, and says nothing:
    https://github.com/mitmproxy/mitmproxy/blob/v12.2.3/mitmproxy/addons/script.py#L112
    """
    for name, given in options.deferred.items():
        texts = getattr(given, "val", None)
        if name in OURS and texts is not None:
            try:
                options.set(*([f"{name}={text}" for text in texts] or [name]))
            except OptionsError as error:
                yield f"{name}: {error}"


def refuse_misspelt(unknown: Iterable[str]) -> None:
    """Refuse options of ours that do not exist; mitmproxy keeps quiet about what no addon has declared."""
    for name in unknown:
        if name.startswith("toolstream_"):
            likely = nearest(name, OURS)
            message = f"{likely}there is no option {name}; toolstream has {', '.join(OURS)}"
            raise OptionsError(message)
