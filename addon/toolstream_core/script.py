"""The addon as mitmproxy loads it. `toolstream.py`, the file for `mitmdump -s`, lists the same."""

from toolstream_core.proxy.addon import ToolstreamAddon

addons = [ToolstreamAddon()]
