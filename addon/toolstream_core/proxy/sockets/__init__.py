"""Responses over WebSockets, live. Knows mitmproxy's flow."""
