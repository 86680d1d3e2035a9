"""The entry point: `mitmdump -s addon/toolstream.py` loads it. It imports the addon and lists it."""

from toolstream_core.proxy.addon import ToolstreamAddon

addons = [ToolstreamAddon()]
