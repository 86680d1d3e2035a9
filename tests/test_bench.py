"""The tables that the benchmark prints; tests/bench_runs.py runs it."""

from __future__ import annotations

from benchlib.core import Raced
from benchlib.streams import HEALTHY, Kind, Load
from benchlib.tables import Results, report
from benchlib.turns import CAPTURED, DIRECT, PACED, PINGED, THROUGHPUT, Delays, Endured, Scene, Timed
from benchlib.wire import Growth, lateness

KINDS = ("content-heavy", "tool-heavy")
LABELS = (
    "(a) mitmproxy stream=True",
    "(b) naive split + json.loads",
    "(c) toolstream calls",
    "(d) toolstream chunks + jsonl",
    "(e) toolstream calls, repair",
    "(f) toolstream calls, fault",
)


def rows(text: str, title: str) -> list[list[str]]:
    """Return the cells of the table under `title` without its header."""
    section = text.split(f"## {title}")[1].partition("##")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def timed(scene: Scene, letter: str) -> Timed:
    """Return timings: one second for mitmproxy alone, two for toolstream."""
    seconds = 1.0 if letter in {"a", DIRECT} else 2.0
    return Timed(scene, letter, [seconds] * 3, [seconds] * 3, late=[[seconds] * 100])


def sample_results() -> Results:
    """Return numbers of every section."""
    scenes = {kind: Scene(Load(kind, 400), 2) for kind in Kind}
    return Results(
        throughput=[timed(scene, letter) for kind, scene in scenes.items() for letter in (*THROUGHPUT[kind], DIRECT)],
        latency=[Delays(kind, letter, [0.2 if letter == "d" else 0.05] * 3) for kind in HEALTHY for letter in PINGED],
        memory=[
            Endured(Load(kind, 4000), letter, Growth(50.0, 70.0 if kind is Kind.TOOL else 51.0, 70.0), 1.0)
            for kind in HEALTHY
            for letter in ("a", "c")
        ],
        core=[Raced("openai-chat", Load(Kind.TOOL, 200), [1.0], [20.0])],
        paced=[timed(scene, letter) for scene in scenes.values() for letter in PACED],
        captured=[timed(Scene(Load(kind, 400, 50), 2), letter) for kind in Kind for letter in CAPTURED],
    )


def test_every_table_has_all_rows() -> None:
    """Every table has a row for each contender and kind of stream, in order."""
    text = "\n".join(report(sample_results()))
    a, _, c, d, e, _ = LABELS
    assert [(row[0].partition(",")[0], row[1]) for row in rows(text, "Upstream to client")] == [
        *((KINDS[0], label) for label in (*LABELS[:5], "no proxy")),
        *((KINDS[1], label) for label in (*LABELS, "no proxy")),
        *(("broken", label) for label in (a, e, "no proxy")),
    ]
    assert [tuple(row[:2]) for row in rows(text, "One event")] == [(k, m) for k in KINDS for m in (a, c, d, e)]
    grown = [(row[0].partition(",")[0], row[1]) for row in rows(text, "Memory")]
    assert grown == [(kind, label) for kind in KINDS for label in (a, c)]
    paced = [(row[0].partition(",")[0], row[1]) for row in rows(text, "Live")]
    labels = (a, "(h) toolstream chunks", "(g) toolstream chunks, repair")
    assert paced == [(kind, label) for kind in (*KINDS, "broken") for label in labels]


def test_every_target_has_a_result() -> None:
    """The result of each target is computed from its numbers."""
    targets = [
        (row[0], row[1].partition(",")[0], row[3]) for row in rows("\n".join(report(sample_results())), "Targets")
    ]
    assert targets == [
        ("(c) <= 1.1 x (a)", "content-heavy", "NO"),
        ("(c) <= 1.4 x (a)", "tool-heavy", "NO"),
        ("(c) <= 1.0 x (b)", "content-heavy", "yes"),
        ("(d) <= 2.0 x (a)", "tool-heavy", "yes"),
        ("(e) <= 1.5 x (a)", "content-heavy", "NO"),
        ("(e) <= 1.5 x (a)", "tool-heavy", "NO"),
        ("(e) <= 2.0 x (a)", "broken", "yes"),
        *(
            (target, kind, "NO")
            for kind in (*KINDS, "broken")
            for target in (
                "(h) <= 1.15 x (a), live",
                "(h) as late as 1.3 x (a), p99",
                "(g) <= 1.3 x (a), live",
                "(g) as late as 1.3 x (a), p99",
            )
        ),
        *(("(i) <= 1.1 x (h), live", kind, "yes") for kind in (*KINDS, "broken")),
        ("(c) adds <= 0.1 ms, p50", "content-heavy", "yes"),
        ("(d) adds <= 0.1 ms, p50", "content-heavy", "NO"),
        ("(c) adds <= 0.1 ms, p50", "tool-heavy", "yes"),
        ("(d) adds <= 0.1 ms, p50", "tool-heavy", "NO"),
        ("(c) grows < 10 MiB", "content-heavy", "yes"),
        ("(c) grows < 10 MiB", "tool-heavy", "NO"),
        ("reader >= 20 x openai SDK", "tool-heavy", "yes"),
    ]


def test_the_lateness_of_an_event() -> None:
    """The lateness of an event is its delay compared with the most punctual event."""
    assert [round(one, 3) for one in lateness([7.001, 7.02, 7.045], 50)] == [1.0, 0.0, 5.0]
