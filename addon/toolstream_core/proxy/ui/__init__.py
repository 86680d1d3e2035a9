"""toolstream in mitmproxy's own interfaces, mitmweb and the console."""
