"""Answers that come over a WebSocket, message by message. Knows no mitmproxy."""
