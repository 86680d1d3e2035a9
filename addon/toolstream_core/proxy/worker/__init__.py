"""The proxy process behind a `ProxySession`: a lean mitmproxy whose options change between tests."""
