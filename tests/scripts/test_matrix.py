"""scripts/matrix: its table is complete, and its page says what was measured and nothing else."""

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
    """What is read of a case."""
    kind = "healthy" if name == "healthy" else "fault"
    message = None if reason is None else f"it {reason}"
    return {"id": f"openai-chat/{kind}/{name}", "kind": kind, "name": name, "grade": grade} | {
        "reason": reason,
        "message": message,
    }


def found(raw: dict[str, str], safe: dict[str, str], *, reason: str = "lost a call") -> dict[str, Any]:
    """What is kept of a client, from the grade of each case."""
    documents = {}
    for how, grades in (("raw", raw), ("safe", safe)):
        cases = [case(name, grade, reason if grade == "failed" else None) for name, grade in grades.items()]
        counts = {grade: list(grades.values()).count(grade) for grade in (*grades.values(), *matrix_grades())}
        client = {"name": CLIENT.name, "protocol": "openai-chat", "counts": counts, "cases": cases}
        documents[how] = {"seconds": 1.0, "clients": [client]}
    about = {"version": CLIENT.version, "not_run": None, "commit": "abc", "date": DAY}
    return {"about": {**about, "command": "scripts/matrix", "faults": None}, **documents}


def measured(
    raw: dict[str, str], safe: dict[str, str], *, name: str = CLIENT.name, reason: str = "lost a call"
) -> Measured:
    """A client with the record of what was found."""
    client = CLIENTS[name]
    return Measured(client, record_of(client, found(raw, safe, reason=reason)))


def rerun_found(**ways: list[dict[str, Any]]) -> dict[str, Any]:
    """What is kept of the runs of cells that results decide on."""
    about = {**found({}, {})["about"], "commit": "def, abc"}
    return {"about": about} | {
        way: {"seconds": 1.0, "clients": [{"name": CLIENT.name, "cases": [case("healthy", "ok"), *cases]}]}
        for way, cases in ways.items()
    }


RAN = "ran an incomplete call"
RETURNED = {"healthy": "ok", "lost-arguments": "unknown", "merged-calls": "call-rejected", UNSAFE: "unknown"}


def rerun_record() -> Record:
    """Three cells that results decide on: in the new runs one ran, one was rejected, and one is right."""
    again = rerun_found(
        raw=[case("lost-arguments", "failed", RAN), case("merged-calls", "call-rejected"), case(UNSAFE, "ok")],
        safe=[case("lost-arguments", "unknown"), case("merged-calls", "call-rejected"), case(UNSAFE, "ok")],
        whole_calls=[case("lost-arguments", "ok"), case("merged-calls", "skipped"), case(UNSAFE, "ok")],
    )
    return with_rerun(record_of(CLIENT, found(RETURNED, RETURNED)), again, None)


def matrix_grades() -> tuple[str, ...]:
    """Grades that a report counts."""
    return ("ok", "not-strict", "call-rejected", "failed", "unknown", "harness-failure", "skipped")


def section(text: str, title: str) -> list[str]:
    """The lines of a section that say something, without the head of its table."""
    body = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in body.splitlines() if line]
    return lines[2:] if lines[0].startswith("|") else lines


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_each_client_has_its_driver_and_a_pinned_version(client: MatrixClient) -> None:
    """A row of the table can be run as it stands."""
    toolchain, driver = client.group.toolchain, client.command[0]
    is_program = toolchain.drivers == "javascript" and "{prompt}" in client.command
    assert is_program or any(
        path.name == driver for path in (DRIVERS / toolchain.drivers).rglob(f"*{toolchain.suffix}")
    )
    assert client.version


def test_a_driver_gets_the_prompt_and_a_program_is_run_as_it_stands(tmp_path: Path) -> None:
    """Both from the environment of their group."""
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


def test_locks_for_npm_name_no_registry_and_hold_every_package_by_hash() -> None:
    """They install the same from any mirror."""
    locks = {client.group.lock for client in CLIENTS.values()}
    for lock in filter(None, locks):
        if lock.name != "package-lock.json":
            continue
        packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
        assert len(packages) > 1
        for name, package in packages.items():
            assert "resolved" not in package, name
            assert not name or package.get("inBundle") or package["integrity"].startswith("sha512-"), name


def test_the_page_counts_what_repair_saved_and_names_the_rest() -> None:
    """Red first, by the worst reason; what repair made worse and what it did not save stand by themselves."""
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


def test_failures_are_listed_by_the_worst_reason_first() -> None:
    """A call that ran twice stands above one that was lost."""
    grades = {"healthy": "ok", SAFE: "failed"}
    other = measured(grades, grades, name="openai-stream", reason="ran a call twice")
    text = markdown([measured(grades, grades), other])
    reasons = [line.split("|")[1].strip() for line in section(text, "Failures by severity")]
    assert reasons == ["ran a call twice", "lost a call"]


def test_a_client_that_stays_wrong_behind_repair_is_listed_with_the_reason() -> None:
    """The note of its client on that fault, and on no other."""
    grades = {"healthy": "ok", SAFE: "failed", "missing-index": "failed"}
    noted = measured(grades, grades)._replace(client=replace(CLIENT, notes={SAFE: "It leaves early."}))
    found_there = section(markdown([noted]), "Failed with a safe repair")
    assert [line.split("|")[-2].strip() for line in found_there] == ["It leaves early.", ""]


@pytest.mark.parametrize(
    ("about", "why"),
    [({"not_run": "npm: no network"}, "npm: no network"), ({"version": "0.1"}, "only 0.1 was run")],
)
def test_a_client_that_did_not_run_says_why(about: dict[str, str], why: str) -> None:
    """Nothing of it counts, and it is in no report."""
    kept_of_it = found({"healthy": "ok", SAFE: "failed"}, {"healthy": "ok", SAFE: "ok"})
    kept_of_it["about"].update(about)
    text = markdown([Measured(CLIENT, record_of(CLIENT, kept_of_it))])
    assert why in section(text, "Not run")[0]
    assert "0 cells" in text
    assert (combined([(CLIENT, kept_of_it)]) is None) == (about.get("not_run") is not None)


def test_a_healthy_answer_that_is_not_understood_is_no_measurement() -> None:
    """What was found under faults would be the driver's, not the client's."""
    grades = {"healthy": "failed", SAFE: "skipped"}
    assert measured(grades, grades, reason="gave up").not_run == "the healthy answer was not understood: it gave up"
    assert "--only openai-loop" in str(Measured(CLIENT, None).not_run)


def test_the_results_of_the_new_runs_decide() -> None:
    """Each cell and each count is that of the new runs; only a call that ran is a failure."""
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


def test_a_run_of_other_cells_keeps_the_earlier_ones() -> None:
    """A client that retried in a loop did not give up."""
    first = rerun_record()
    gave_up = Cell(CLIENT.name, "openai-chat/fault/missing-id", "gave up", None)
    before = replace(first, cells=(*first.cells, gave_up), raw={**first.raw, "failed": 2})
    again = {"raw": [case("missing-id", "failed", "retried in a loop")], "safe": [case("missing-id", "ok")]}
    after = with_rerun(before, rerun_found(**again, whole_calls=[case("missing-id", "ok")]), before)
    new = RerunCell(gave_up.case, "retried in a loop", None, None)
    assert after.rerun_cells == (*first.rerun_cells, new)
    assert after.cells == (*first.cells, gave_up._replace(raw="retried in a loop"))
    assert (after.raw, after.safe) == (before.raw, before.safe)
    lines = section(markdown([Measured(CLIENT, before)]), "Incomplete and repeated calls")
    left = f"{CLIENT.name} {CLIENT.version} (1, {DAY})"
    assert f"- Graded by the results of an earlier run, not run again: {left}" in lines


@pytest.mark.parametrize("passed", [True, False], ids=["new record", "old record"])
def test_a_run_of_some_cases_keeps_the_others(passed: bool) -> None:
    """Counts, cells, days and commits are those of all runs; the same run once more changes nothing."""
    all_cases = {"healthy": "ok", SAFE: "failed", "missing-index": "failed", UNSAFE: "ok", "late-id": "not-strict"}
    first = record_of(CLIENT, found(all_cases, {**all_cases, SAFE: "ok"}))
    first = replace(first, faults="fault", passed=first.passed if passed else ())
    some = found({"healthy": "ok", SAFE: "ok", UNSAFE: "failed"}, {"healthy": "ok", SAFE: "ok", UNSAFE: "ok"})
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


def test_a_new_case_is_added_to_what_is_known() -> None:
    """Beside cells that a new run of its results made right."""
    first = replace(rerun_record(), faults="fault")
    some = found({"healthy": "ok", "late-id": "failed"}, {"healthy": "ok", "late-id": "ok"})
    some["about"]["faults"] = "late-id"
    record = merged(record_of(CLIENT, some), first)
    assert (record.judged, first.judged) == (5, 4)
    some["raw"]["clients"][0]["cases"][1] = case(UNSAFE, "failed", "lost a call")
    some["safe"]["clients"][0]["cases"][1] = case(UNSAFE, "ok")
    assert merged(record_of(CLIENT, some), first).judged == first.judged


def test_a_run_of_all_cases_or_of_another_version_replaces_a_record() -> None:
    """And one that says why it was not run stays apart."""
    first = replace(record_of(CLIENT, found(RETURNED, RETURNED)), faults="fault")
    anew = record_of(CLIENT, found({"healthy": "ok"}, {"healthy": "ok"}))
    others = [anew, replace(anew, faults="fault"), replace(anew, faults=SAFE, version="0.1")]
    others.append(replace(anew, faults=SAFE, not_run="no network"))
    assert [merged(one, first) for one in others] == others
    assert merged(replace(anew, faults=SAFE), None) == replace(anew, faults=SAFE)


def test_cells_that_were_not_run_again_are_named() -> None:
    """What no result decides on is unknown, and no failure."""
    text = markdown([Measured(CLIENT, record_of(CLIENT, found(RETURNED, RETURNED)))])
    lines = section(text, "Incomplete and repeated calls")
    assert f"- Graded by the results of an earlier run, not run again: openai-loop {CLIENT.version} (3, {DAY})" in lines
    assert "- raw: 0 ran, 0 rejected, 0 unknown, of 0 cells" in lines
    assert section(text, "Failures by severity")[:1] == ["None."]


def test_rerun_cells_stay_where_all_else_is_measured_anew(tmp_path: Path) -> None:
    """Of the same version."""
    record = rerun_record()
    write_record(CLIENT.name, record, tmp_path / "kept")
    assert read_record(CLIENT.name, tmp_path / "kept") == record
    anew = record_of(CLIENT, found({"healthy": "ok"}, {"healthy": "ok"}))
    assert with_rerun(anew, None, record).rerun_cells == record.rerun_cells
    other = replace(anew, version="0.1")
    assert with_rerun(other, rerun_found(raw=[], safe=[], whole_calls=[]), record) == other


def test_results_are_read_again(tmp_path: Path) -> None:
    """Only where all of them are there."""
    folder = results_of(CLIENT, tmp_path)
    assert kept(CLIENT, tmp_path) is None
    folder.mkdir(parents=True)
    wanted = found({"healthy": "ok"}, {"healthy": "ok"})
    (folder / "about.json").write_text(json.dumps(wanted["about"]))
    assert kept(CLIENT, tmp_path) is None
    for how in HOW:
        (folder / f"{how}.json").write_text(json.dumps(wanted[how]))
    assert kept(CLIENT, tmp_path) == wanted
    again = rerun_found(**{how: [] for how in RERUN})
    (folder / "rerun").mkdir()
    for name, told in again.items():
        (folder / "rerun" / f"{name}.json").write_text(json.dumps(told))
    assert kept_rerun(CLIENT, tmp_path) == again
    report = combined([(CLIENT, {**again, **wanted})])
    assert report is not None
    assert [one["name"] for one in report["clients"]] == [
        "openai-loop",
        "openai-loop, repaired",
        "openai-loop, whole calls",
    ]


def test_a_command_is_reported_as_it_was_given() -> None:
    """The page names it, so that it can be run again."""
    told = "--rerun --reason 'gave up' --faults fault --jobs 3 --timeout 90"
    assert matrix._told(matrix._parser().parse_args(shlex.split(told))) == f"scripts/matrix {told}"
    assert matrix._told(matrix._parser().parse_args([])) == "scripts/matrix --jobs 2 --timeout 60"


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    """And one that says why nothing was run does not take its place."""
    grades = {"healthy": "ok", SAFE: "failed", "missing-index": "ok"}
    record = measured(grades, {**grades, SAFE: "ok", "missing-index": "harness-failure"}).record
    assert record is not None
    assert [(cell.name, cell.raw, cell.safe) for cell in record.cells] == [
        (SAFE, "lost a call", None),
        ("missing-index", None, "not judged"),
    ]
    assert read_record(CLIENT.name, tmp_path / "kept") is None
    write_record(CLIENT.name, record, tmp_path / "kept")
    not_run = {**found({"healthy": "ok"}, {}), "about": {"not_run": "no network", "version": CLIENT.version}}
    write_record(CLIENT.name, record_of(CLIENT, not_run), tmp_path / "kept")
    assert read_record(CLIENT.name, tmp_path / "kept") == record
    write_record("other", record_of(CLIENT, not_run), tmp_path / "kept")
    other = read_record("other", tmp_path / "kept")
    assert other is not None
    assert (other.not_run, other.cells) == ("no network", ())


def test_the_page_is_what_the_records_give() -> None:
    """Each is of a client of the table."""
    assert {json.loads(row)["client"] for row in MEASURED.read_text(encoding="utf-8").splitlines()} <= CLIENTS.keys()
    there = [Measured(client, read_record(name)) for name, client in CLIENTS.items()]
    assert (matrix.ROOT / "docs" / "clients.md").read_text(encoding="utf-8") == markdown(there)


def test_every_fault_and_client_has_its_cell() -> None:
    """Raw, then behind repair; nothing where it is right both times."""
    raw = {"healthy": "ok", SAFE: "failed", "missing-index": "ok", UNSAFE: "failed"}
    text = markdown(
        [measured(raw, {**raw, SAFE: "ok"}), measured({"healthy": "ok"}, {"healthy": "ok"}, name="openai-stream")]
    )
    assert section(text, "Every fault and client")[-2:] == [
        f"| `openai-chat/fault/{SAFE}` | ✗ ✓ |  |",
        f"| `openai-chat/fault/{UNSAFE}` | ✗ ✗ |  |",
    ]


def test_a_run_that_is_gone_on_with_keeps_its_commits(tmp_path: Path) -> None:
    """Its cells were measured at several."""
    assert earlier_commits(tmp_path) == []
    (tmp_path / "about.json").write_text(json.dumps({"commit": "one, two-dirty"}))
    assert earlier_commits(tmp_path) == ["one", "two-dirty"]


def test_what_is_not_pinned_is_not_installed(tmp_path: Path) -> None:
    """A version that nobody chose would be measured."""
    with pytest.raises(InstallError, match="--lock"):
        installed(replace(CLIENT.group, name="nothing"), tmp_path)


def test_a_program_is_run_in_its_release_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not installed: it has to be here."""
    aichat = CLIENTS["aichat"]
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TOOLSTREAM_AICHAT", raising=False)
    with pytest.raises(InstallError, match="TOOLSTREAM_AICHAT names one"):
        installed(aichat.group, tmp_path)
    program = tmp_path / "other"
    monkeypatch.setenv("TOOLSTREAM_AICHAT", str(program))
    for release in ("0.1.0", aichat.version):
        program.write_text(f"#!/bin/sh\necho aichat {release}\n")
        program.chmod(0o700)
        if release != aichat.version:
            with pytest.raises(InstallError, match=r"is aichat 0\.1\.0 here, not 0\.30\.0"):
                installed(aichat.group, tmp_path)
    folder = installed(aichat.group, tmp_path)
    assert command_of(aichat, folder) == [sys.executable, str(folder / "drivers" / "aichat_agent.py"), "{prompt}"]


@pytest.mark.parametrize(
    ("name", "program"), [("openai-java", "java"), ("genai", "cargo"), ("openai-go", "go"), ("codex", "node")]
)
def test_a_toolchain_that_is_not_here_is_told(
    name: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client is skipped with the reason, and nothing is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match=f"there is no {program} here"):
        installed(CLIENTS[name].group, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_lock_for_npm_asks_for_nothing_that_the_registry_does_not_have() -> None:
    """What others ask for stays, also where it is nested."""
    asked = {"optionalDependencies": {"there": "1", "nested": "1", "missing": "1"}, "version": "2"}
    packages = {"": {}, "node_modules/a": asked, "node_modules/there": {}, "node_modules/a/node_modules/nested": {}}
    found = without_missing({"lockfileVersion": 3, "packages": packages})
    assert found["lockfileVersion"] == 3
    assert found["packages"]["node_modules/a"] == {
        "optionalDependencies": {"there": "1", "nested": "1"},
        "version": "2",
    }
    assert found["packages"].keys() == packages.keys()


def test_locks_for_java_hold_every_jar_by_hash() -> None:
    """Each line is a jar, and the package that is told is one of them."""
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
    """A preset that only has valid shapes injects none."""
    assert Cell("client", f"openai-chat/{case}", "crashed", None).repairable is repairable


def test_locks_for_go_hold_every_package_by_hash() -> None:
    """The sums beside the lock have the version that the table shows."""
    clients = [client for client in CLIENTS.values() if client.group.toolchain.drivers == "go"]
    for client in clients:
        assert client.group.lock is not None
        sums = client.group.lock.with_name("go.sum").read_text(encoding="utf-8").splitlines()
        assert any(line.startswith(f"{client.package} v{client.version} h1:") for line in sums)
    assert clients


@pytest.mark.parametrize("classifier", ["", "linux-x86_64"])
def test_a_jar_is_named_as_its_repository_names_it(classifier: str) -> None:
    """With a classifier and without."""
    jar = Jar("org.example", "some-part", "1.0-RC1", classifier)
    assert jar_of(PurePosixPath("org/example/some-part/1.0-RC1", jar.file)) == jar


def test_a_commit_is_dirty_by_what_is_measured_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the measurement writes says nothing of what was measured."""
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


@pytest.mark.parametrize("served", [False, True])
def test_a_driver_that_is_served_ends_as_one_that_is_not(tmp_path: Path, *, served: bool) -> None:
    """With its arguments, its environment, its output, its exit code and its signal."""
    folder = tmp_path / "drivers"
    folder.mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (folder / "beside.py").write_text("import sys\nTOLD = sys.argv[1]\n")
    (folder / "one.py").write_text(WARM_DRIVER + "import decimal\n")
    toolchain = PYTHON
    command = toolchain.command("one.py", tmp_path)

    def ran(word: str) -> tuple[int, str]:
        environment = {**os.environ, "GIVEN": word.upper()}
        done = subprocess.run([*command, word], env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    with toolchain.serving("one.py", tmp_path) if served else contextlib.nullcontext():
        until = time.monotonic() + 20
        while served and not (tmp_path / "one.socket").exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert ran("first") == (3, f"first ['first'] FIRST {served}\n")
        assert ran("killed") == (-signal.SIGTERM, "")


def test_unknown_clients_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """With what there is."""
    assert matrix.main(["--only", "no-such-client"]) == matrix.USAGE
    assert "there is no 'no-such-client'; there are agno, ai-" in capsys.readouterr().err
