"""The report as JUnit XML, as its readers expect it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from tests.checking.reports import report
from toolstream_core.checking.report import junit


def test_the_document() -> None:
    """Well-formed whatever the texts hold; failures are required cases that failed, and numbers are those of cases."""
    root = ET.fromstring(junit(report()))  # noqa: S314 - our own
    assert root.tag == "testsuites"
    [suite] = root
    for one in (root, suite):
        assert [one.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["7", "1", "1", "2"]
    assert (suite.get("name"), suite.get("timestamp"), suite.get("time")) == (
        "agent|<b>",
        "2026-01-02T03:04:05",
        "3.500",
    )
    found = {case.get("name"): [child.tag for child in case] for case in suite}
    assert found == {
        "a-healthy": ["system-out"],
        "b-half": ["failure", "system-out"],
        "c-optional": ["skipped", "system-out"],
        "d-untried": ["error", "system-out"],
        "e-weak": ["system-out"],
        "f-skipped": ["skipped", "system-out"],
        "g-shown": ["system-out"],
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "returned an incomplete call"
    assert "]]> </failure> <b>" in str(failure.get("message"))
    assert "to run it again: toolstream check --only b-half" in str(failure.text)
