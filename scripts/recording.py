"""A picture of a terminal, as SVG: lines with the log's colours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from toolstream_core.report.columns import STYLES

if TYPE_CHECKING:
    from collections.abc import Sequence

COLOURS: Final = {"error": "#ff7b72", "warning": "#e3b341", "ok": "#56d364"}
"""Light variants of the log's colours for statuses; its other styles are shown as plain text."""
FONTS: Final = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
ROOT: Final = 'xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description"'
CHARACTER: Final = 8.5
"""Pixels that the widest of the usual fonts needs at 14 pixels."""
LINE: Final = 20
MARGIN: Final = 20
_STATUS: Final = {STYLES[name]: name for name in COLOURS}
_STYLE: Final = re.compile("(\x1b\\[[0-9;]*m)")


def plain(line: str) -> str:
    """A line without its colours."""
    return _STYLE.sub("", line)


def svg(title: str, description: str, lines: Sequence[str]) -> str:
    """The picture."""
    width = round(2 * MARGIN + CHARACTER * max(len(plain(line)) for line in lines))
    height = 2 * MARGIN + LINE * len(lines)
    size = f'width="{width}" height="{height}"'
    styles = [
        f"text {{ fill: #e6edf3; font: 14px {FONTS}; white-space: pre }}",
        *(f".{name} {{ fill: {colour} }}" for name, colour in COLOURS.items()),
    ]
    return "\n".join(
        [
            f'<svg {ROOT} {size} viewBox="0 0 {width} {height}">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="description">{escape(description)}</desc>',
            f"<style>\n{'\n'.join(styles)}\n</style>",
            f'<rect {size} rx="8" fill="#0d1117"/>',
            *(
                f'<text x="{MARGIN}" y="{MARGIN + LINE * number - 5}" xml:space="preserve">{_coloured(line)}</text>'
                for number, line in enumerate(lines, 1)
            ),
            "</svg>\n",
        ]
    )


def _coloured(line: str) -> str:
    text, *styled = _STYLE.split(line)
    return escape(text) + "".join(
        f'<tspan class="{_STATUS[style]}">{escape(part)}</tspan>' if style in _STATUS and part else escape(part)
        for style, part in zip(styled[::2], styled[1::2], strict=True)
    )
