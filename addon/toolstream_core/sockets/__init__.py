"""Responses that arrive over a WebSocket, message by message. Knows no mitmproxy."""
