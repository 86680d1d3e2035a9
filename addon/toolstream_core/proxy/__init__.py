"""Everything that runs inside mitmproxy."""
