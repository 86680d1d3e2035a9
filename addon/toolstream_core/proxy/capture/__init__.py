"""Live responses written as redacted flow files. Knows mitmproxy's flow."""
