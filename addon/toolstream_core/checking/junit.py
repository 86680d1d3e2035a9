"""The report of a check as JUnit XML: a suite for each client, a failure for each required case that failed."""

from __future__ import annotations

import re
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from toolstream_core.checking.grading import Grade

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: dict[str, Any]) -> str:
    """The document; its shape is that of https://github.com/testmoapp/junitxml."""
    root = Element("testsuites", name="toolstream check")
    for client in report["clients"]:
        _suite(root, client, report["started"])
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    root.set("time", f"{report['seconds']:.3f}")
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, client: dict[str, Any], started: str) -> None:
    suite = SubElement(root, "testsuite", name=_text(client["name"]), timestamp=started.removesuffix("Z"))
    for case in client["cases"]:
        _case(suite, client["name"], case)
    suite.set("tests", str(len(client["cases"])))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{sum(case['seconds'] for case in client['cases']):.3f}")


def _case(suite: Element, client: str, case: dict[str, Any]) -> None:
    protocol = case["id"].partition("/")[0]
    attributes = {"classname": _text(f"{client}.{protocol}.{case['kind']}"), "name": _text(case["name"])}
    one = SubElement(suite, "testcase", attributes, time=f"{case['seconds']:.3f}")
    why = _text(": ".join(filter(None, [case["reason"], case["message"]])))
    details = _text(f"{case['title']}\nto run it again: {case['rerun']}")
    match case["grade"]:
        case Grade.FAILED if case["required"]:
            SubElement(one, "failure", message=why, type=_text(case["reason"] or "failed")).text = details
        case Grade.FAILED:
            SubElement(one, "skipped", message=f"optional, and failed: {why}")
        case Grade.HARNESS_FAILURE:
            SubElement(one, "error", message=why, type="harness-failure").text = details
        case Grade.UNKNOWN | Grade.CALL_REJECTED:
            SubElement(one, "skipped", message=f"{case['grade']}: {why}")
        case Grade.SKIPPED:
            SubElement(one, "skipped", message=why)
    if case["output"]:
        SubElement(one, "system-out").text = _text(case["output"])


def _text(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
