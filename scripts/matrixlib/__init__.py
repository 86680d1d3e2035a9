"""Published clients under every fault: what is installed, run and written."""
