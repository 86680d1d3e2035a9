"""The parts of the end-to-end tests: a scripted upstream, HTTP clients, and mitmdump processes."""
