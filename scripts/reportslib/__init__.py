"""What scripts/make_reports.py runs: models of clients in a real proxy, and real clients where they are."""
