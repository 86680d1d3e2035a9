"""The addon for mitmproxy-addon-launcher, the same as `toolstream.py`."""

from toolstream_core.proxy.addon import ToolstreamAddon

addons = [ToolstreamAddon()]
