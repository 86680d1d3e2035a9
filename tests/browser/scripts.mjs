// The page's scripts without a DOM: texts, tokens, differences, rows, and stepping.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import vm from "node:vm";

const { TOOLSTREAM_PAGES: PAGES, TOOLSTREAM_PAGE_SOURCE: SOURCE } = process.env;
const CHECKPOINT = 256;
const context = vm.createContext({ structuredClone });
for (const name of ["document.js", "stepping.js", "json.js"]) vm.runInContext(readFileSync(join(SOURCE, name), "utf8"), context);
const { rawTexts, writeOut, prepared, listRows, placeOf, tokensOf, marked, difference, applyPatch, stalls, stateAt, sameJson, returnedText, Player, duration, changeWords, niceStep } = vm.runInContext("({ rawTexts, writeOut, prepared, listRows, placeOf, tokensOf, marked, difference, applyPatch, stalls, stateAt, sameJson, returnedText, Player, duration, changeWords, niceStep })", context);
const plain = (value) => JSON.parse(JSON.stringify(value));
const read = (name) => JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(readFileSync(join(PAGES, `${name}.html`), "utf8"))[1]);
const all = ["loop", "truncated", "repaired", "violating", "choices", "large"].flatMap((name) => read(name).responses.map((response) => [name, response]));
for (const [, response] of all) writeOut(response.events);

test("texts of events are restored", () => {
  assert.deepEqual(plain(rawTexts([{ raw: "data: abc" }, { raw: [6, "x", 1] }, { raw: "z" }, { raw: [1, "y", 0] }])), ["data: abc", "data: xc", "z", "zy"]);
});

test("fragments are expanded", () => {
  const first = { raw: "", fragments: [{ lane: "call-0", index: 0, arguments: "{" }] }, events = [first, { raw: "", fragments: "}" }, { raw: "", fragments: [{ lane: "text", text: "a" }] }, { raw: "", fragments: "b" }];
  writeOut(events);
  assert.deepEqual(plain(events.map((event) => event.fragments)), [first.fragments, [{ lane: "call-0", index: 0, arguments: "}" }], [{ lane: "text", text: "a" }], [{ lane: "text", text: "b" }]]);
});

test("ticks of the axis have different labels", () => {
  assert.deepEqual([.01, .4, 1, 1.2, 3, 70, 500].map(niceStep), [1, 1, 1, 2, 5, 100, 500]);
});

test("tokens join to the text, and have pointers", () => {
  const text = 'data: {"choices":[{"delta":{"tool_calls":[{"id":"","f":{"a":"{\\"x"}}]}}, 2],"n":-1.5e3}\n\n';
  const tokens = plain(tokensOf(text)), word = (one) => text.slice(one.s, one.e);
  assert.equal(tokens.map(word).join(""), text);
  assert.equal(tokens.find((one) => one.pointer === "/choices/0/delta/tool_calls/0/id" && one.kind === "string") && true, true);
  assert.equal(word(tokens.find((one) => one.pointer === "/choices/1" && one.kind === "number")), "2");
  const marks = plain(marked(tokensOf(text), ["/choices/*/delta/tool_calls"], ["id"]));
  assert.equal(marks.filter((one) => one.hot).map(word).join(""), '"id":""');
  assert.ok(!marks.some((one) => one.near && one.pointer === "/n"));
  for (const odd of ["", "plain", "{", '{"a":', "}{", '{"a":1}}', "[1,[2", '{"a" x}']) assert.equal(tokensOf(odd).map((one) => odd.slice(one.s, one.e)).join(""), odd);
});

test("an empty field is set, and a value is replaced", () => {
  const response = { state: "complete", findings: [], lanes: [], events: [{ raw: "" }, { raw: "" }, { raw: "" }, { raw: "" }] };
  const steps = [[0, 0, { open: true, id: "c1", name: "run" }], [1, 0, { arguments: "{" }], [2, 0, { arguments: "{}" }], [3, 0, { id: "c2", name: "run" }]];
  const player = new Player(response, { steps, result: [] });
  assert.deepEqual([1, 2, 3].map((number) => changeWords(player.at(number).changes)), ["sets the arguments of call 0", "replaces the arguments of call 0", "replaces the id and the name of call 0"]);
});

test("a difference has both texts", () => {
  const long = (word) => `{${Array.from({ length: 900 }, (_, k) => `"${word}${k}":${k}`).join()}}`;
  for (const [a, b] of [['{"a":1,"b":2}', '{"a":1,"c":3,"b":2}'], ["x", ""], ['{"id":""}', '{"id":"call_1"}'], ['{"a":"a"}', '{"a":"b"}'], [long("x"), long("y")]]) {
    const parts = plain(difference(a, b)), side = (other) => parts.filter((one) => one.kind !== other).map((one) => one.text).join("");
    assert.equal(side("new"), a);
    assert.equal(side("gone"), b);
  }
  assert.deepEqual(plain(difference('{"id":"id"}', '{"id":"x"}')).map((one) => one.kind), ["same", "gone", "new", "same"]);
});

test("stalls are long gaps, compared with the usual one", () => {
  assert.deepEqual(plain(stalls(Float64Array.from([0, 10, 20, 2000, 2010]), true)), [[3, 1980]]);
  assert.deepEqual(plain(stalls(Float64Array.from([0, 1000, 2000, 3000]), true)), []);
  assert.deepEqual(plain(stalls(Float64Array.from([0, 10, 20, 2000]), false)), []);
  assert.deepEqual([999, 1500, 61_000].map(duration), ["999 ms", "1.50 s", "1 min 1 s"]);
});

test("rows have every event once, in order", () => {
  for (const [name, response] of all) {
    const { count } = prepared(response), rows = listRows(response), events = rows.flatMap((row) => (typeof row === "number" ? [row] : Array.from({ length: row[1] - row[0] + 1 }, (_, k) => row[0] + k)));
    assert.deepEqual(plain(events), Array.from({ length: count }, (_, k) => k), name);
    for (let k = 0; k < count; k += 1 + (count >> 6)) assert.ok([rows[placeOf(rows, k)]].flat()[0] <= k);
    for (const row of prepared(response).findings.keys()) assert.equal(typeof rows[placeOf(rows, row)], "number");
  }
});

test("stepping forwards, backwards and jumping give the same calls", () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (const [name, response] of all) for (const trace of response.readings?.traces ?? []) {
    const { last } = prepared(response), numbers = last < 200 ? Array.from({ length: last + 1 }, (_, k) => k) : Array.from({ length: 25 }, () => random(last + 1));
    for (const number of [...numbers, ...numbers.toReversed()]) {
      const stepped = stateAt(response, trace, number), jumped = new Player(response, trace).at(number);
      assert.deepEqual([plain(stepped.calls), plain(stepped.changes)], [plain(jumped.calls), plain(jumped.changes)], `${name} event ${number}`);
    }
  }
});

test("the changes computed for a step are bounded, forwards and backwards", () => {
  const [, response] = all.find(([name]) => name === "large"), { last } = prepared(response);
  for (const [place, trace] of response.readings.traces.entries()) {
    const player = new Player(response, trace), change = player.change;
    let computed = 0;
    player.change = function counted(...given) { computed++; return change.apply(this, given); };
    const cost = (number) => { computed = 0; player.at(number); return computed; };
    cost(last);
    for (const number of [last - 1, last - 2, 1800, 1799, 1798, 300, 299]) assert.ok(cost(number) <= 2 * CHECKPOINT, `trace ${place}: ${computed} changes for event ${number}`);
    cost(2100);
    for (let number = 2101; number < 2200; number++) assert.ok(cost(number) <= 2, `trace ${place}: ${computed} changes for event ${number}`);
    assert.equal(cost(2199), 0);
  }
});

test("traces end with the calls of the response", () => {
  for (const [name, response] of all) {
    const intended = response.readings?.models.find((one) => one.model === "intended");
    if (!intended) continue;
    const { calls } = stateAt(response, response.readings.traces[intended.trace], prepared(response).last);
    assert.deepEqual(plain(calls.map((call) => [call.id, call.name, call.arguments])), response.calls.map((call) => [call.id, call.name, call.arguments]), name);
  }
});

test("the client's model ends with the returned calls", () => {
  const found = all.filter(([, response]) => response.verdict.understood === false && response.readings?.client);
  assert.ok(found.length >= 8);
  for (const [name, response] of found) {
    const reading = response.readings.models.find((one) => one.model === response.readings.client);
    const calls = stateAt(response, response.readings.traces[reading.trace], prepared(response).last).calls.filter((call) => !call.dropped);
    assert.equal(calls.length, response.verdict.returned.length, name);
    for (const [k, call] of calls.entries()) assert.ok(sameJson(call.arguments, returnedText(response.verdict.returned[k])), `${name} ${call.arguments} ${returnedText(response.verdict.returned[k])}`);
  }
});

test("patches build the document", () => {
  const doc = { conversations: [], responses: [], models: {}, defects: {}, projects: {} }, event = { raw: "data: 1\n\n" };
  applyPatch(doc, { response: 0, begin: { events: [], lanes: [], findings: [], calls: [] }, conversations: [{ title: "x", responses: [0] }], models: { protocol: {} } });
  applyPatch(doc, { response: 0, events: [event, event], lanes: ["text"] });
  assert.equal(prepared(doc.responses[0]).count, 2);
  applyPatch(doc, { response: 0, events: [{ raw: "", fragments: [{ lane: "text", text: "a" }] }], state: "complete" });
  applyPatch(doc, { response: 0, events: [{ raw: "", fragments: "b" }] });
  assert.equal(prepared(doc.responses[0]).count, 4);
  assert.deepEqual(plain(doc.responses[0].events[3].fragments), [{ lane: "text", text: "b" }]);
  assert.deepEqual([doc.responses[0].state, Object.keys(doc.models), doc.conversations.length], ["complete", ["protocol"], 1]);
});
