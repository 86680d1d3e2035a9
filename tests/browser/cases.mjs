// The results of `toolstream check` without a DOM: rows, filters, comparison, pairs of calls.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const source = ["document.js", "stepping.js", "next_request.js", "dom.js", "results/cases.js"].map((name) => readFileSync(join(process.env.TOOLSTREAM_PAGE_SOURCE, name), "utf-8")).join("\n");
const names = ["columnsOf", "rowsOf", "changeOf", "groupsOf", "rowMatches", "cellMatches", "summaryOf", "columnName", "pairsOf", "differences", "spelled", "parseReport", "canonical", "NO_FILTER", "KINDS"];
const model = new Function(`"use strict"; ${source}; return { ${names.join(", ")} };`)();

const one = (name, grade = "ok", reason = null, other = {}) => {
  const values = { kind: "fault", name, grade, reason, required: true, title: `The title of ${name}.`, ...other };
  return { id: `openai-chat/${values.kind}/${name}`, ...values };
};
const client = (cases, other = {}) => ({ name: "agent.py", protocol: "openai-chat", repair: [], cases, ...other });
const run = (...clients) => ({ version: 2, clients });
const rows = (...runs) => model.rowsOf(model.columnsOf(...runs));
const filter = (other) => ({ ...model.NO_FILTER, ...other });
const shown = (all, wanted, columns = ["agent.py"]) => all.filter((row) => model.rowMatches(row, filter(wanted), columns)).map((row) => row.name);

test("rows are ordered by kind, then as they were run", () => {
  const cases = [one("z", "ok", null, { kind: "transit" }), one("b"), one("a"), one("h", "ok", null, { kind: "healthy" }), one("odd", "ok", null, { kind: "odd" })];
  const all = rows(run(client(cases)));
  assert.deepEqual(all.map((row) => row.name), ["h", "b", "a", "z", "odd"]);
  assert.deepEqual(model.groupsOf(all, "kind").map((group) => [group.title, group.rows.length]), [["Healthy responses", 1], ["Faults", 2], ["Timing and connection faults", 1], ["odd", 1]]);
});

test("clients of several protocols share rows", () => {
  const all = rows(run(client([one("a"), one("b")]), client([one("b", "failed")], { name: "other", protocol: "anthropic" })));
  assert.deepEqual(all.map((row) => row.cells.map((cell) => cell?.one.grade ?? null)), [["ok", null], ["ok", "failed"]]);
});

test("a client with one case in two protocols has a row for each", () => {
  const twice = [one("a"), { ...one("a", "failed"), id: "anthropic/fault/a" }];
  assert.deepEqual(rows(run(client(twice))).map((row) => row.key), ["openai-chat/fault/a", "anthropic/fault/a"]);
});

test("worst first: required failures by their reasons, then optional ones, then other grades", () => {
  const cases = [one("ok"), one("info", "info"), one("crashed", "failed", "crashed"), one("odd", "failed", "a new reason"), one("optional", "failed", "returned an incomplete call", { required: false }), one("weak", "not-strict"), one("half", "failed", "returned an incomplete call"), one("harness", "harness-failure"), one("skipped", "skipped")];
  const [group] = model.groupsOf(rows(run(client(cases))), "worst");
  assert.deepEqual(group.rows.map((row) => row.name), ["half", "crashed", "odd", "optional", "harness", "weak", "skipped", "info", "ok"]);
});

test("what changed since the earlier run", () => {
  const changes = [
    ["better", one("a"), one("a", "failed", "crashed")],
    ["worse", one("a", "not-strict"), one("a")],
    ["same", one("a", "failed", "crashed"), one("a", "failed", "crashed")],
    ["better", one("a", "failed", "crashed"), one("a", "failed", "returned an incomplete call")],
    ["worse", one("a", "failed", "returned an incomplete call"), one("a", "failed", "crashed")],
    ["changed", one("a", "skipped"), one("a")],
    ["changed", one("a", "failed", "one new reason"), one("a", "failed", "another new reason")],
    ["new", one("a"), null],
    ["gone", null, one("a")],
  ];
  for (const [change, now, before] of changes) assert.equal(model.changeOf(now, before), change);
});

test("two runs are compared cell by cell, and a missing case has a row", () => {
  const all = rows(run(client([one("a"), one("b", "failed"), one("new")])), run(client([one("a", "failed"), one("b"), one("gone")])));
  assert.deepEqual(all.map((row) => [row.name, row.cells[0].change]), [["a", "better"], ["b", "worse"], ["new", "new"], ["gone", "gone"]]);
  assert.deepEqual(shown(all, { change: "better" }), ["a"]);
  assert.deepEqual(shown(all, { change: "any" }), ["a", "b", "new", "gone"]);
  assert.deepEqual(rows(run(client([one("a")]))).map((row) => row.cells[0].change), [null]);
});

test("a client of an earlier run is matched by name, protocol and repair, then by fewer of them", () => {
  const raw = client([]), repaired = client([], { repair: ["safe"] }), renamed = client([], { name: "renamed" });
  const earlier = (now, ...then) => model.columnsOf(run(now), run(...then))[0].earlier;
  assert.equal(earlier(repaired, raw, client([], { repair: ["safe"], seed: 1 })).seed, 1);
  assert.equal(earlier(repaired, raw), raw);
  assert.equal(earlier(renamed, raw), raw);
  assert.equal(earlier(renamed, raw, repaired), null);
  assert.equal(model.columnsOf(run(raw, renamed), run(raw))[1].earlier, null);
});

test("filters by grade, kind, need and words anywhere in a row, all at once", () => {
  const all = rows(run(client([
    one("empty-id", "failed", "returned without arguments", { code: "TS102" }),
    one("bare", "ok", null, { kind: "shape" }),
    one("stall", "info", null, { kind: "transit", required: false, message: "Waited 3 s" }),
  ])));
  assert.deepEqual(shown(all, {}), ["empty-id", "bare", "stall"]);
  assert.deepEqual(shown(all, { grades: ["failed", "info"] }), ["empty-id", "stall"]);
  assert.deepEqual(shown(all, { kind: "shape" }), ["bare"]);
  assert.deepEqual(shown(all, { need: "optional" }), ["stall"]);
  assert.deepEqual(shown(all, { text: "ts102 RETURNED" }), ["empty-id"]);
  assert.deepEqual(shown(all, { text: " waited  stall " }), ["stall"]);
  assert.deepEqual(shown(all, { text: "agent.py" }), ["empty-id", "bare", "stall"]);
  assert.deepEqual(shown(all, { text: "returned bare" }), []);
  assert.deepEqual(shown(all, { grades: ["ok"], kind: "fault" }), []);
});

test("in a row of several clients the filter applies to each cell", () => {
  const [row] = rows(run(client([one("a")]), client([one("a", "failed", "crashed")], { name: "other" })));
  const matches = row.cells.map((cell) => model.cellMatches(row, cell, filter({ grades: ["failed"] }), "x"));
  assert.deepEqual(matches, [false, true]);
  assert.deepEqual(shown([row], { text: "other a" }, ["agent.py", "other"]), ["a"]);
});

test("a client's summary counts grades and reasons", () => {
  const summary = model.summaryOf(client([one("a", "failed", "crashed"), one("b", "failed", "lost a call"), one("c", "failed", "crashed", { required: false }), one("d"), one("e", "harness-failure")]));
  assert.deepEqual(summary, { total: 5, failedRequired: 2, harness: 1, grades: [["failed", 3], ["harness-failure", 1], ["ok", 1]], reasons: [["lost a call", 1], ["crashed", 2]] });
  assert.equal(model.summaryOf({}).total, 0);
  assert.equal(model.columnName({ name: "a", repair: ["safe", "empty-id"] }), "a + repair safe, empty-id");
});

test("calls are paired by id, then name, then position, and their differences are named", () => {
  const call = (id, name, args, other = {}) => ({ id, name, arguments: args, complete: true, kind: "function", ...other });
  const pairs = (sent, back) => model.pairsOf(sent, back).map((pair) => [pair.call?.id ?? null, pair.back?.id ?? null, model.differences(pair)]);
  const all = ["id", "name", "arguments"];
  const a = call("1", "f", '{"x":1,"y":2}'), b = call("2", "g", "");
  assert.deepEqual(pairs([a, b], [call("2", "g", "{}"), call("1", "f", '{ "y": 2, "x": 1 }')]), [["1", "1", []], ["2", "2", []]]);
  assert.deepEqual(pairs([a, b], [call("9", "g", "{}")]), [["1", null, all], ["2", "9", ["id"]]]);
  assert.deepEqual(pairs([a], [call(null, "f", "{}"), call("3", "h", "")]), [["1", null, ["arguments"]], [null, "3", all]]);
  assert.deepEqual(pairs([a], [call("7", "h", '{"x":1,"y":2}')]), [["1", "7", ["id", "name"]]]);
  assert.deepEqual(pairs([call("1", "f", "{", { complete: false })], []), [["1", null, []]]);
  assert.deepEqual(pairs([call("1", "f", "{", { complete: false })], [call("1", "f", "{")]), [["1", "1", all]]);
  assert.deepEqual(pairs([call("1", "f", "{}", { kind: "server" })], [call("2", "f", "{}")]), [["1", null, []], [null, "2", all]]);
});

test("numbers beyond JavaScript's precision are compared exactly", () => {
  assert.notEqual(model.canonical('{"n": 12345678901234567890}'), model.canonical('{"n": 12345678901234567891}'));
  assert.equal(model.canonical('{"n": 12345678901234567890}'), model.canonical('{"n":12345678901234567890}'));
  assert.notEqual(model.canonical("{"), model.canonical("{}"));
});

test("invisible characters are spelled out", () => {
  assert.equal(model.spelled("a\u202eb\u0000c\u2028d\ud800e\u00a0"), "a\\u202eb\\u0000c\\u2028d\\ud800e\\u00a0");
  assert.equal(model.spelled("tab\tline\n😀 Grüße {}"), "tab\tline\n😀 Grüße {}");
});

test("the second file must be a report", () => {
  assert.throws(() => model.parseReport("{"), /not JSON/);
  for (const text of ["null", "[]", '{"version":3,"clients":[]}', '{"version":1}']) assert.throws(() => model.parseReport(text), /not the JSON of toolstream check/);
  assert.deepEqual(model.parseReport('{"version":2,"clients":[]}').clients, []);
  const old = JSON.stringify({ version: 1, clients: [{ cases: [{ reason: "ran a half call" }, { reason: "crashed" }, {}] }] });
  assert.deepEqual(model.parseReport(old).clients[0].cases.map((one) => one.reason), ["returned an incomplete call", "crashed", undefined]);
  for (const version of [1, 2]) {
    const looped = JSON.stringify({ version, clients: [{ cases: [{ reason: "asked again and again" }] }] });
    assert.equal(model.parseReport(looped).clients[0].cases[0].reason, "retried in a loop");
  }
  const twice = JSON.stringify({ version: 2, clients: [{ cases: [{ reason: "ran a call twice" }] }] });
  assert.equal(model.parseReport(twice).clients[0].cases[0].reason, "ran a call twice");
});
