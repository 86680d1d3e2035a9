"""scripts/matrix: its table of clients is complete, and its page shows the measured results."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

import matrix
from matrixlib.clients import DRIVERS, MatrixClient, clients, command_of, installed
from matrixlib.page import Measured, markdown
from matrixlib.record import (
    MEASURED,
    REJECTED,
    UNKNOWN,
    Cell,
    Record,
    RerunCell,
    merged,
    read_record,
    record_of,
    with_rerun,
    write_record,
)
from matrixlib.run import HOW, RERUN, combined, commit, earlier_commits, kept, kept_rerun, results_of
from matrixlib.toolchains import PYTHON, InstallError, Jar, jar_of, without_missing

if TYPE_CHECKING:
    from pathlib import Path

CLIENTS = {client.name: client for client in clients()}
CLIENT = CLIENTS["openai-loop"]
SAFE, UNSAFE = "empty-id", "odd-id"
"""Faults with and without a safe repair."""
DAY = "2026-01-01"


def case(name: str, grade: str, reason: str | None = None) -> dict[str, Any]:
    """Return a case of a report."""
    kind = "healthy" if name == "healthy" else "fault"
    message = None if reason is None else f"it {reason}"
    return {"id": f"openai-chat/{kind}/{name}", "kind": kind, "name": name, "grade": grade} | {
        "reason": reason,
        "message": message,
    }


def results(raw: dict[str, str], safe: dict[str, str], *, reason: str = "lost a call") -> dict[str, Any]:
    """Return the stored results of a client from the grade of each case."""
    documents = {}
    for setup, grades in (("raw", raw), ("safe", safe)):
        cases = [case(name, grade, reason if grade == "failed" else None) for name, grade in grades.items()]
        counts = {grade: list(grades.values()).count(grade) for grade in (*grades.values(), *matrix_grades())}
        client = {"name": CLIENT.name, "protocol": "openai-chat", "counts": counts, "cases": cases}
        documents[setup] = {"seconds": 1.0, "clients": [client]}
    about = {"version": CLIENT.version, "not_run": None, "commit": "abc", "date": DAY}
    return {"about": {**about, "command": "scripts/matrix", "faults": None}, **documents}


def measured(
    raw: dict[str, str], safe: dict[str, str], *, name: str = CLIENT.name, reason: str = "lost a call"
) -> Measured:
    """Return a client with the record of its results."""
    client = CLIENTS[name]
    return Measured(client, record_of(client, results(raw, safe, reason=reason)))


def rerun_results(**ways: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the stored results of cases that were run again."""
    about = {**results({}, {})["about"], "commit": "def, abc"}
    return {"about": about} | {
        way: {"seconds": 1.0, "clients": [{"name": CLIENT.name, "cases": [case("healthy", "ok"), *cases]}]}
        for way, cases in ways.items()
    }


RAN = "ran an incomplete call"
RETURNED = {"healthy": "ok", "lost-arguments": "unknown", "merged-calls": "call-rejected", UNSAFE: "unknown"}


def rerun_record() -> Record:
    """Return a record with three cases that were run again: one ran, one was rejected, one is correct."""
    rerun = rerun_results(
        raw=[case("lost-arguments", "failed", RAN), case("merged-calls", "call-rejected"), case(UNSAFE, "ok")],
        safe=[case("lost-arguments", "unknown"), case("merged-calls", "call-rejected"), case(UNSAFE, "ok")],
        whole_calls=[case("lost-arguments", "ok"), case("merged-calls", "skipped"), case(UNSAFE, "ok")],
    )
    return with_rerun(record_of(CLIENT, results(RETURNED, RETURNED)), rerun, None)


def matrix_grades() -> tuple[str, ...]:
    """Return the grades that a report counts."""
    return ("ok", "not-strict", "call-rejected", "failed", "unknown", "harness-failure", "skipped")


def section(text: str, title: str) -> list[str]:
    """Return the lines of a section, without blank lines and the head of its table."""
    body = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in body.splitlines() if line]
    return lines[2:] if lines[0].startswith("|") else lines


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_each_client_has_a_driver_and_a_pinned_version(client: MatrixClient) -> None:
    """Each row of the table can be run."""
    toolchain, driver = client.group.toolchain, client.command[0]
    is_program = toolchain.drivers == "javascript" and "{prompt}" in client.command
    assert is_program or any(
        path.name == driver for path in (DRIVERS / toolchain.drivers).rglob(f"*{toolchain.suffix}")
    )
    assert client.version


def test_the_commands_of_drivers_and_programs(tmp_path: Path) -> None:
    """Both run in the environment of their group."""
    assert command_of(CLIENTS["pi-ai"], tmp_path)[1:] == [
        str(tmp_path / "drivers" / "pi_ai.mjs"),
        "{prompt}",
        "openai-completions",
    ]
    assert command_of(CLIENTS["claude"], tmp_path) == [
        str(tmp_path / "node_modules" / ".bin" / "claude"),
        "-p",
        "{prompt}",
    ]


def test_npm_locks_have_hashes_and_no_registry() -> None:
    """They install the same packages from any mirror."""
    locks = {client.group.lock for client in CLIENTS.values()}
    for lock in filter(None, locks):
        if lock.name != "package-lock.json":
            continue
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        assert len(packages) > 1
        for name, package in packages.items():
            assert "resolved" not in package, name
            assert not name or package.get("inBundle") or package["integrity"].startswith("sha512-"), name


def test_the_page_counts_repaired_cells_and_lists_the_others() -> None:
    """Cells that repair made worse or did not fix have their own sections."""
    raw = {"healthy": "ok", SAFE: "failed", "missing-index": "failed", UNSAFE: "failed", "missing-type": "ok"}
    safe = {**raw, SAFE: "ok", "missing-type": "failed"}
    text = markdown([measured(raw, safe)])
    assert "Of 5 cells, 3 failed raw and 3 failed with repair.\n" in text
    assert "2 cells failed raw on defects with a safe repair; 1 of them passed with it (50.0 %).\n" in text
    assert "Cells that became worse with repair: 1.\n" in text
    assert section(text, "Worse with repair") == [
        "| openai-loop | `openai-chat/fault/missing-type` | ok | lost a call |  |"
    ]
    assert section(text, "Failed with a safe repair") == [
        "| openai-loop | `openai-chat/fault/missing-index` | lost a call | lost a call |  |"
    ]
    assert f"| lost a call | `openai-chat/fault/{SAFE}` | 1 | 0 | openai-loop |" in section(
        text, "Failures by severity"
    )
    row = f"| openai-loop | openai | {CLIENT.version} |  | openai-chat | {DAY} |  "
    assert section(text, "Clients") == [f"{row}| 2 | 0 | 0 | 3 | 0 | 2 | 0 | 0 | 3 | 0 | 0 |"]
    assert section(text, "Not run")[:1] == ["None."]


def test_failures_are_sorted_by_severity() -> None:
    """A call that ran twice is worse than a lost call."""
    grades = {"healthy": "ok", SAFE: "failed"}
    other = measured(grades, grades, name="openai-stream", reason="ran a call twice")
    text = markdown([measured(grades, grades), other])
    reasons = [line.split("|")[1].strip() for line in section(text, "Failures by severity")]
    assert reasons == ["ran a call twice", "lost a call"]


def test_a_failure_with_repair_has_the_clients_note() -> None:
    """The note belongs to this fault only."""
    grades = {"healthy": "ok", SAFE: "failed", "missing-index": "failed"}
    with_note = measured(grades, grades)._replace(client=replace(CLIENT, notes={SAFE: "It leaves early."}))
    lines = section(markdown([with_note]), "Failed with a safe repair")
    assert [line.split("|")[-2].strip() for line in lines] == ["It leaves early.", ""]


@pytest.mark.parametrize(
    ("about", "reason"), [({"not_run": "npm: no network"}, "npm: no network"), ({"version": "0.1"}, "only 0.1 was run")]
)
def test_a_client_that_did_not_run_has_a_reason(about: dict[str, str], reason: str) -> None:
    """It counts nowhere and is in no report."""
    stored = results({"healthy": "ok", SAFE: "failed"}, {"healthy": "ok", SAFE: "ok"})
    stored["about"].update(about)
    text = markdown([Measured(CLIENT, record_of(CLIENT, stored))])
    assert reason in section(text, "Not run")[0]
    assert "0 cells" in text
    assert (combined([(CLIENT, stored)]) is None) == (about.get("not_run") is not None)


def test_a_client_that_fails_the_healthy_case_is_not_measured() -> None:
    """Its failures with faults would be those of the driver."""
    grades = {"healthy": "failed", SAFE: "skipped"}
    assert (
        measured(grades, grades, reason="gave up").not_run == "the client failed with the healthy response: it gave up"
    )
    assert "--only openai-loop" in str(Measured(CLIENT, None).not_run)


def test_rerun_results_replace_earlier_ones() -> None:
    """Cells and counts are those of the rerun, and only a call that ran is a failure."""
    record = rerun_record()
    names = [f"openai-chat/fault/{name}" for name in ("lost-arguments", "merged-calls", UNSAFE)]
    assert record.rerun_cells == (
        RerunCell(names[0], RAN, UNKNOWN, None),
        RerunCell(names[1], REJECTED, REJECTED, "not judged"),
        RerunCell(names[2], None, None, None),
    )
    assert [(cell.case, cell.raw, cell.safe) for cell in record.cells] == [
        (names[0], RAN, UNKNOWN),
        (names[1], REJECTED, REJECTED),
    ]
    assert record.raw == {**dict.fromkeys(matrix_grades(), 0), "ok": 2, "call-rejected": 1, "failed": 1}
    assert record.safe == {**dict.fromkeys(matrix_grades(), 0), "ok": 2, "call-rejected": 1, "unknown": 1}
    text = markdown([Measured(CLIENT, record)])
    lines = section(text, "Incomplete and repeated calls")
    assert "- Commit: `def`, `abc`" in lines
    assert "- Graded by the results of an earlier run, not run again: none" in lines
    assert f"- Unknown, raw or with `safe`: openai-loop `{names[0]}`" in lines
    assert "- raw: 1 ran, 1 rejected, 0 unknown, of 3 cells" in lines
    assert lines[-2:] == [
        f"| `{names[0]}` | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 |",
        f"| `{names[1]}` | 0 | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 1 |",
    ]
    assert section(text, "Failures by severity") == [f"| {RAN} | `{names[0]}` | 1 | 0 | openai-loop |"]
    assert section(text, "Every fault and client")[-2:] == [f"| `{names[0]}` | ✗ ? |", f"| `{names[1]}` | ✓ ✓ |"]


def test_a_rerun_of_other_cells_keeps_earlier_reruns() -> None:
    """A client that retried in a loop did not give up."""
    first = rerun_record()
    gave_up = Cell(CLIENT.name, "openai-chat/fault/missing-id", "gave up", None)
    before = replace(first, cells=(*first.cells, gave_up), raw={**first.raw, "failed": 2})
    rerun = {"raw": [case("missing-id", "failed", "retried in a loop")], "safe": [case("missing-id", "ok")]}
    after = with_rerun(before, rerun_results(**rerun, whole_calls=[case("missing-id", "ok")]), before)
    new = RerunCell(gave_up.case, "retried in a loop", None, None)
    assert after.rerun_cells == (*first.rerun_cells, new)
    assert after.cells == (*first.cells, gave_up._replace(raw="retried in a loop"))
    assert (after.raw, after.safe) == (before.raw, before.safe)
    lines = section(markdown([Measured(CLIENT, before)]), "Incomplete and repeated calls")
    left = f"{CLIENT.name} {CLIENT.version} (1, {DAY})"
    assert f"- Graded by the results of an earlier run, not run again: {left}" in lines


@pytest.mark.parametrize("passed", [True, False], ids=["new record", "old record"])
def test_a_run_of_some_cases_keeps_the_others(passed: bool) -> None:
    """Counts, cells, dates and commits are those of all runs; a repeated run changes nothing."""
    all_cases = {"healthy": "ok", SAFE: "failed", "missing-index": "failed", UNSAFE: "ok", "late-id": "not-strict"}
    first = record_of(CLIENT, results(all_cases, {**all_cases, SAFE: "ok"}))
    first = replace(first, faults="fault", passed=first.passed if passed else ())
    some = results({"healthy": "ok", SAFE: "ok", UNSAFE: "failed"}, {"healthy": "ok", SAFE: "ok", UNSAFE: "ok"})
    some["about"] |= {"faults": f"{SAFE},{UNSAFE}", "date": "2026-02-02", "commit": "def"}
    record = merged(record_of(CLIENT, some), first)
    assert [(cell.name, cell.raw, cell.safe) for cell in record.cells] == [
        ("missing-index", "lost a call", "lost a call"),
        (UNSAFE, "lost a call", None),
    ]
    assert record.raw == {**dict.fromkeys(matrix_grades(), 0), "ok": 2, "failed": 2, "not-strict": 1}
    assert record.safe == {**dict.fromkeys(matrix_grades(), 0), "ok": 3, "failed": 1, "not-strict": 1}
    assert (record.date, record.commits, record.faults) == (f"{DAY}, 2026-02-02", ("abc", "def"), "fault")
    assert len(record.passed) == (3 if passed else 0)
    assert merged(record_of(CLIENT, some), record) == record
    assert f"- Date: {DAY}, 2026-02-02" in markdown([Measured(CLIENT, record)])


def test_a_new_case_is_added_to_the_record() -> None:
    """Cells that a rerun corrected stay."""
    first = replace(rerun_record(), faults="fault")
    some = results({"healthy": "ok", "late-id": "failed"}, {"healthy": "ok", "late-id": "ok"})
    some["about"]["faults"] = "late-id"
    record = merged(record_of(CLIENT, some), first)
    assert (record.judged, first.judged) == (5, 4)
    some["raw"]["clients"][0]["cases"][1] = case(UNSAFE, "failed", "lost a call")
    some["safe"]["clients"][0]["cases"][1] = case(UNSAFE, "ok")
    assert merged(record_of(CLIENT, some), first).judged == first.judged


def test_a_run_of_all_cases_or_of_another_version_replaces_a_record() -> None:
    """A record that says why a client did not run is not merged."""
    first = replace(record_of(CLIENT, results(RETURNED, RETURNED)), faults="fault")
    new_record = record_of(CLIENT, results({"healthy": "ok"}, {"healthy": "ok"}))
    others = [new_record, replace(new_record, faults="fault"), replace(new_record, faults=SAFE, version="0.1")]
    others.append(replace(new_record, faults=SAFE, not_run="no network"))
    assert [merged(other, first) for other in others] == others
    assert merged(replace(new_record, faults=SAFE), None) == replace(new_record, faults=SAFE)


def test_cells_without_a_rerun_are_listed() -> None:
    """A cell that no result decides is unknown and no failure."""
    text = markdown([Measured(CLIENT, record_of(CLIENT, results(RETURNED, RETURNED)))])
    lines = section(text, "Incomplete and repeated calls")
    assert f"- Graded by the results of an earlier run, not run again: openai-loop {CLIENT.version} (3, {DAY})" in lines
    assert "- raw: 0 ran, 0 rejected, 0 unknown, of 0 cells" in lines
    assert section(text, "Failures by severity")[:1] == ["None."]


def test_rerun_cells_are_kept_for_the_same_version(tmp_path: Path) -> None:
    """A new measurement of another version drops them."""
    record = rerun_record()
    write_record(CLIENT.name, record, tmp_path / "kept")
    assert read_record(CLIENT.name, tmp_path / "kept") == record
    new_record = record_of(CLIENT, results({"healthy": "ok"}, {"healthy": "ok"}))
    assert with_rerun(new_record, None, record).rerun_cells == record.rerun_cells
    other = replace(new_record, version="0.1")
    assert with_rerun(other, rerun_results(raw=[], safe=[], whole_calls=[]), record) == other


def test_results_are_read_if_complete(tmp_path: Path) -> None:
    """Missing files make the results incomplete."""
    folder = results_of(CLIENT, tmp_path)
    assert kept(CLIENT, tmp_path) is None
    folder.mkdir(parents=True)
    stored = results({"healthy": "ok"}, {"healthy": "ok"})
    (folder / "about.json").write_text(json.dumps(stored["about"]))
    assert kept(CLIENT, tmp_path) is None
    for setup in HOW:
        (folder / f"{setup}.json").write_text(json.dumps(stored[setup]))
    assert kept(CLIENT, tmp_path) == stored
    rerun = rerun_results(**{setup: [] for setup in RERUN})
    (folder / "rerun").mkdir()
    for name, document in rerun.items():
        (folder / "rerun" / f"{name}.json").write_text(json.dumps(document))
    assert kept_rerun(CLIENT, tmp_path) == rerun
    report = combined([(CLIENT, {**rerun, **stored})])
    assert report is not None
    assert [client["name"] for client in report["clients"]] == [
        "openai-loop",
        "openai-loop, repaired",
        "openai-loop, whole calls",
    ]


def test_a_command_is_reported_as_it_was_given() -> None:
    """The page shows the command that repeats the run."""
    words = "--rerun --reason 'gave up' --faults fault --jobs 3 --timeout 90"
    assert matrix._command_line(matrix._parser().parse_args(shlex.split(words))) == f"scripts/matrix {words}"
    assert matrix._command_line(matrix._parser().parse_args([])) == "scripts/matrix --jobs 2 --timeout 60"


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    """A record of a client that did not run does not replace it."""
    grades = {"healthy": "ok", SAFE: "failed", "missing-index": "ok"}
    record = measured(grades, {**grades, SAFE: "ok", "missing-index": "harness-failure"}).record
    assert record is not None
    assert [(cell.name, cell.raw, cell.safe) for cell in record.cells] == [
        (SAFE, "lost a call", None),
        ("missing-index", None, "not judged"),
    ]
    assert read_record(CLIENT.name, tmp_path / "kept") is None
    write_record(CLIENT.name, record, tmp_path / "kept")
    not_run = {**results({"healthy": "ok"}, {}), "about": {"not_run": "no network", "version": CLIENT.version}}
    write_record(CLIENT.name, record_of(CLIENT, not_run), tmp_path / "kept")
    assert read_record(CLIENT.name, tmp_path / "kept") == record
    write_record("other", record_of(CLIENT, not_run), tmp_path / "kept")
    other = read_record("other", tmp_path / "kept")
    assert other is not None
    assert (other.not_run, other.cells) == ("no network", ())


def test_the_page_equals_the_records() -> None:
    """Each record is of a client in the table."""
    assert {json.loads(row)["client"] for row in MEASURED.read_text(encoding="utf-8").splitlines()} <= CLIENTS.keys()
    all_measured = [Measured(client, read_record(name)) for name, client in CLIENTS.items()]
    assert (matrix.ROOT / "docs" / "clients.md").read_text(encoding="utf-8") == markdown(all_measured)


def test_every_fault_and_client_has_its_cell() -> None:
    """The cell has the results without and with repair, and is empty if both are correct."""
    raw = {"healthy": "ok", SAFE: "failed", "missing-index": "ok", UNSAFE: "failed"}
    text = markdown(
        [measured(raw, {**raw, SAFE: "ok"}), measured({"healthy": "ok"}, {"healthy": "ok"}, name="openai-stream")]
    )
    assert section(text, "Every fault and client")[-2:] == [
        f"| `openai-chat/fault/{SAFE}` | ✗ ✓ |  |",
        f"| `openai-chat/fault/{UNSAFE}` | ✗ ✗ |  |",
    ]


def test_a_resumed_run_keeps_its_commits(tmp_path: Path) -> None:
    """Its cells were measured at several commits."""
    assert earlier_commits(tmp_path) == []
    (tmp_path / "about.json").write_text(json.dumps({"commit": "one, two-dirty"}))
    assert earlier_commits(tmp_path) == ["one", "two-dirty"]


def test_an_unpinned_group_is_not_installed(tmp_path: Path) -> None:
    """A random version would be measured."""
    with pytest.raises(InstallError, match="--lock"):
        installed(replace(CLIENT.group, name="nothing"), tmp_path)


def test_a_program_must_have_its_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not installed and must be on this machine."""
    aichat = CLIENTS["aichat"]
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TOOLSTREAM_AICHAT", raising=False)
    with pytest.raises(InstallError, match="set TOOLSTREAM_AICHAT"):
        installed(aichat.group, tmp_path)
    program = tmp_path / "other"
    monkeypatch.setenv("TOOLSTREAM_AICHAT", str(program))
    for release in ("0.1.0", aichat.version):
        program.write_text(f"#!/bin/sh\necho aichat {release}\n")
        program.chmod(0o700)
        if release != aichat.version:
            with pytest.raises(InstallError, match=r"expected aichat 0\.30\.0, found aichat 0\.1\.0"):
                installed(aichat.group, tmp_path)
    folder = installed(aichat.group, tmp_path)
    assert command_of(aichat, folder) == [sys.executable, str(folder / "drivers" / "aichat_agent.py"), "{prompt}"]


@pytest.mark.parametrize(
    ("name", "program"), [("openai-java", "java"), ("genai", "cargo"), ("openai-go", "go"), ("codex", "node")]
)
def test_a_missing_toolchain_is_reported(
    name: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is skipped with the reason, and nothing is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match=f"{program} is not installed"):
        installed(CLIENTS[name].group, tmp_path)
    assert not list(tmp_path.iterdir())


def test_missing_optional_packages_are_removed_from_npm_locks() -> None:
    """Available packages stay, including nested ones."""
    package = {"optionalDependencies": {"there": "1", "nested": "1", "missing": "1"}, "version": "2"}
    packages = {"": {}, "node_modules/a": package, "node_modules/there": {}, "node_modules/a/node_modules/nested": {}}
    lock = without_missing({"lockfileVersion": 3, "packages": packages})
    assert lock["lockfileVersion"] == 3
    assert lock["packages"]["node_modules/a"] == {"optionalDependencies": {"there": "1", "nested": "1"}, "version": "2"}
    assert lock["packages"].keys() == packages.keys()


def test_java_locks_have_hashes() -> None:
    """Each line is a jar, and the package of the table is one of them."""
    for client in CLIENTS.values():
        if client.group.lock is not None and client.group.lock.name == "jars.lock":
            head, *lines = client.group.lock.read_text(encoding="utf-8").splitlines()
            assert head.startswith("#")
            assert all(re.fullmatch(r"[\w.-]+(:[\w.-]+){2,3} sha256:[0-9a-f]{64}", line) for line in lines)
            assert any(line.startswith(f"{client.package}:{client.version} ") for line in lines)


@pytest.mark.parametrize(
    ("case", "repairable"),
    [("fault/empty-id", True), ("fault/lost-arguments", False), ("preset/mistral", True), ("preset/glm-5", False)],
)
def test_a_cell_is_repairable_by_the_defects_that_it_injects(case: str, *, repairable: bool) -> None:
    """A preset with valid shapes only injects no defect."""
    assert Cell("client", f"openai-chat/{case}", "crashed", None).repairable is repairable


def test_go_locks_have_hashes() -> None:
    """The checksums have the version of the table."""
    clients = [client for client in CLIENTS.values() if client.group.toolchain.drivers == "go"]
    for client in clients:
        assert client.group.lock is not None
        sums = client.group.lock.with_name("go.sum").read_text(encoding="utf-8").splitlines()
        assert any(line.startswith(f"{client.package} v{client.version} h1:") for line in sums)
    assert clients


@pytest.mark.parametrize("classifier", ["", "linux-x86_64"])
def test_a_jar_has_the_name_of_the_repository(classifier: str) -> None:
    """The classifier is optional."""
    jar = Jar("org.example", "some-part", "1.0-RC1", classifier)
    assert jar_of(PurePosixPath("org/example/some-part/1.0-RC1", jar.file)) == jar


def test_only_measured_code_makes_a_commit_dirty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file with the measurements is ignored."""
    written, code = tmp_path / "tests" / "clients" / "measured.jsonl", tmp_path / "code.py"
    written.parent.mkdir(parents=True)
    for path in (written, code):
        path.write_text("old")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr("matrixlib.run.ROOT", tmp_path)
    written.write_text("new")
    clean = commit()
    assert re.fullmatch(r"[0-9a-f]{12}", clean)
    code.write_text("new")
    assert commit() == f"{clean}-dirty"


WARM_DRIVER = """\
import sys, os, json, signal
from beside import TOLD
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGTERM)
print(TOLD, sys.argv[1:], os.environ["GIVEN"], "decimal" in sys.modules)
sys.exit(3)
"""


@pytest.mark.parametrize("preloaded", [False, True])
def test_a_preloaded_driver_behaves_like_a_started_one(tmp_path: Path, *, preloaded: bool) -> None:
    """Arguments, environment, output, exit code and signal are equal."""
    folder = tmp_path / "drivers"
    folder.mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (folder / "beside.py").write_text("import sys\nTOLD = sys.argv[1]\n")
    (folder / "one.py").write_text(WARM_DRIVER + "import decimal\n")
    toolchain = PYTHON
    command = toolchain.command("one.py", tmp_path)

    def run_driver(word: str) -> tuple[int, str]:
        environment = {**os.environ, "GIVEN": word.upper()}
        result = subprocess.run([*command, word], env=environment, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout

    with toolchain.serving("one.py", tmp_path) if preloaded else contextlib.nullcontext():
        until = time.monotonic() + 20
        while preloaded and not (tmp_path / "one.socket").exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert run_driver("first") == (3, f"first ['first'] FIRST {preloaded}\n")
        assert run_driver("killed") == (-signal.SIGTERM, "")


def test_an_unknown_client_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The error lists the clients."""
    assert matrix.main(["--only", "no-such-client"]) == matrix.USAGE
    assert "unknown name 'no-such-client'; expected one of agno, ai-" in capsys.readouterr().err
