"""The HTML page of `toolstream check`."""

from __future__ import annotations

from toolstream_core.report.check_page.document import page

__all__ = ["page"]
