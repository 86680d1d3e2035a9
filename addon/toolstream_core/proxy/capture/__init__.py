"""Live answers kept as flow files: redacted, written when they end. Knows mitmproxy's flow."""

from toolstream_core.proxy.capture.capture import Capture

__all__ = ["Capture"]
