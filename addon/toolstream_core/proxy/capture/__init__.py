"""Live responses written as redacted flow files. Knows mitmproxy's flow."""

from toolstream_core.proxy.capture.capture import Capture

__all__ = ["Capture"]
