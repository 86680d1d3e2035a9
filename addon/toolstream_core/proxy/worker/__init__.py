"""The proxy process of a `ProxySession`: a lean mitmproxy whose options change between tests."""
