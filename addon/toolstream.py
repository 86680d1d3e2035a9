"""The door: what `mitmdump -s addon/toolstream.py` loads. It imports the addon and lists it, nothing else."""

from toolstream_core.proxy.addon import ToolstreamAddon

addons = [ToolstreamAddon()]
