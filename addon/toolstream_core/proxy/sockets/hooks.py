"""What addons can learn of a socket's answers: mitmproxy's own hooks know its messages alone. Knows mitmproxy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mitmproxy.hooks import Hook

if TYPE_CHECKING:
    from mitmproxy import http


@dataclass
class ToolstreamSocketRequestHook(Hook):
    """A client asks for an answer; the flow is that of the same request over HTTP, as the client said it."""

    flow: http.HTTPFlow


@dataclass
class ToolstreamSocketResponseHook(Hook):
    """Nothing more of an answer goes to the client."""

    flow: http.HTTPFlow
