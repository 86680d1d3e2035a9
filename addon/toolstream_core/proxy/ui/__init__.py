"""toolstream in mitmproxy's own interfaces, mitmweb and the console."""

from toolstream_core.proxy.ui.interface import Interface

__all__ = ["Interface"]
