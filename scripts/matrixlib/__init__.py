"""Published clients under every fault: installation, runs, and the page."""
