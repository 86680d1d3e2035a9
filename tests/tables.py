"""What each protocol can be made to say, by the protocol's name."""

from toolstream_core.protocols.registry import PROTOCOLS

INJECTORS = {protocol.name: protocol.injectors for protocol in PROTOCOLS}
SHAPES = {protocol.name: protocol.shapes for protocol in PROTOCOLS}
