// Every kind of response and session.

import assert from "node:assert/strict";
import { documentOf, event, frame, inPage, press, response, rewritten, text, texts, until } from "./harness.mjs";

inPage("healthy: read as sent, no workaround", "healthy", async (page) => {
  assert.equal(await page.getAttribute("#verdict", "data-grade"), "ok");
  assert.equal(await text(page, "#verdict .reason"), "No known defect in this stream.");
  assert.equal(await page.locator(".help").count(), 0);
  assert.equal(await page.locator(".evidence .lost").count(), 0);
  assert.deepEqual(await texts(page, "#about .link"), []);
  await press(page, "w", "g", "n", "c");
  assert.equal(await response(page), 0);
  await press(page, "j");
  assert.match(await text(page, "#interpretation"), /^No tool call in this response/);
  assert.match(await text(page, '.evidence[aria-label="text"]'), /^Text README.md describes/);
});

inPage("truncated: the intended calls are incomplete, too", "truncated", async (page) => {
  await page.selectOption("#reference", "intended");
  assert.match(await text(page, ".reader .card"), /incomplete .* a client must not run this call/);
  assert.match(await text(page, ".reader .does-now"), /At the end: no complete call$/);
});

inPage("a call that the client drops at the end is named at the first event that differs", "only-last", async (page) => {
  assert.equal(await text(page, "#verdict h1"), "The client did not return call 0 read_file");
  assert.match(await text(page, '.row[aria-selected="true"]'), /diverges here/);
  const [intended, read] = await texts(page, ".reader .does-now");
  assert.equal(read, `${intended}. At the end, the client keeps only the last call`);
  assert.ok(await page.isVisible(".reader:nth-child(2) .does-now.odd"));
  await press(page, "ArrowLeft");
  assert.equal(await page.locator(".does-now.odd").count(), 0);
});

inPage("truncated: the stall and the disconnect are shown", "truncated", async (page) => {
  assert.match(await text(page, "#verdict .facts"), /disconnected/);
  assert.match(await text(page, '.row.stalled .badge[data-grade="warning"]'), /^after 1\.64 s$/);
  assert.match(await text(page, '.row[aria-selected="true"]'), /diverges here truncated-stream \+1/);
  assert.match(await text(page, ".reader:nth-child(2) .card"), /Added by the client: "\}/);
  assert.match(await text(page, ".reader .card"), /a client must not run this call/);
});

inPage("repaired: the difference of the received events is marked", "repaired", async (page) => {
  assert.match(await text(page, "#verdict .facts"), /\d+ events rewritten for the client/);
  assert.deepEqual([await text(page, "#detail del"), await text(page, "#detail ins")], ['""', '"call_0_e6b8d8c2f40e"']);
  await page.click("#show-changed");
  const badges = new Set(await texts(page, ".row .badge"));
  assert.ok(badges.has("rewritten") && badges.has("withheld"), [...badges].join());
  await page.locator(".row", { hasText: "withheld" }).click();
  assert.match(await text(page, "#detail .wire-label"), /withheld from the client/);
});

inPage("violating: the stream is named as the cause, not the client", "violating", async (page) => {
  assert.equal(await page.inputValue("#reference"), "intended");
  assert.match(await text(page, ".reader .fault"), /violates the protocol \(reused-index\)/);
  assert.deepEqual((await texts(page, "#labels div")).filter((one) => one.startsWith("call")), ["call 0 read_file", "call 1 list_issues", "call 0 read_file"]);
  assert.deepEqual(await texts(page, ".card pre"), ['{"path":"README.md"}', "", '{"path":"README.md"}']);
  assert.equal(await text(page, ".reader:nth-child(2) .about"), "It follows the protocol.");
  await page.selectOption("#reference", "protocol");
  assert.match(await text(page, ".reader .fault"), /does not get the intended calls/);
});

inPage("provider errors, in the stream and as a status", "error", async (page) => {
  assert.match(await text(page, "#interpretation .blank"), /^The provider returned an error .*engine is overloaded/);
  assert.match((await texts(page, ".turn b")).join(), /^1\. provider error/);
  assert.match(await text(page, '.evidence[aria-label="reasoning"]'), /^Reasoning The user/);
});

inPage("two choices: each call names its choice", "choices", async (page) => {
  assert.match(await text(page, "#verdict .facts"), /2 choices/);
  const labels = await texts(page, "#labels div");
  assert.ok(labels.includes("call 0 read_file, choice 0") && labels.includes("call 1 list_issues, choice 1"), labels.join());
  assert.match(await text(page, ".evidence tbody"), /choice 1 was not used/);
  assert.equal(await page.locator(".evidence .lost").count(), 0);
});

inPage("not streamed: one body, no timeline", "unstreamed", async (page) => {
  assert.match(await text(page, "#verdict .facts"), /not streamed/);
  assert.ok(await page.isHidden("#tracks"));
  assert.match(await text(page, "#detail .wire"), /"finish_reason": "tool_calls"/);
  await press(page, "End");
  assert.match(await text(page, ".reader .does-now"), /call 0 read_file.*call 1 list_issues/);
  await press(page, "j");
  assert.ok(await page.isVisible("#tracks"));
});

inPage("WebSocket: messages are events", "socket", async (page) => {
  assert.match(await text(page, "#verdict .facts"), /WebSocket/);
  assert.deepEqual((await texts(page, "#labels div")).filter((one) => one.startsWith("call")), ["call 0 get_weather", "call 1 get_time"]);
  assert.match(await text(page, '.evidence[aria-label^="Next"]'), /No later request was recorded/);
});

inPage("no times recorded: only the event axis", "untimed", async (page) => {
  assert.match(await text(page, "#span"), /no times recorded/);
  assert.ok(await page.isDisabled("#axis-time"));
  await press(page, "t");
  assert.equal(await page.getAttribute("#axis-event", "aria-pressed"), "true");
});

inPage("without a verdict, the worst finding is named", rewritten("few", "few-findings", withFindings(documentOf("few"))), async (page) => {
  await press(page, "j", "j");
  assert.equal(await text(page, "#verdict .reason"), "The stream has 1 warning, 1 note. At event 1: the response has no finish reason.");
});

function withFindings(doc) {
  const finding = (severity, event, message) => ({ code: "TS001", name: "any", severity, event, call: null, message, repair: "", keys: [] });
  doc.responses[2].findings = [finding("note", 0, "the id is odd"), finding("warning", 1, "the response has no finish reason")];
  return doc;
}

inPage("only comments, one event, one call", "few", async (page) => {
  for (let at = 0; at < documentOf("few").responses.length; at++) {
    assert.equal(await response(page), at);
    await press(page, "Home", "End", "ArrowLeft", "ArrowRight", "+", "-", "0", "t", "t", "f", "r", "r", "f", "j");
    await frame(page);
  }
}, { hash: "#r=0" });

const none = { ...documentOf("loop"), conversations: [], responses: [] };
inPage("no LLM response: what to do", rewritten("loop", "empty", none), async (page) => {
  assert.equal(await text(page, "#empty h1"), "No LLM response in these files");
  assert.ok(await page.isHidden("#app"));
  assert.match((await texts(page, "#empty code")).join("\n"), /store_streamed_bodies=true\n.*toolstream run --capture/s);
  await press(page, "j", "ArrowRight", "?");
  assert.ok(await page.isVisible("#help"));
});

const blank = documentOf("loop");
blank.responses[0] = { ...blank.responses[0], events: [], findings: [], readings: undefined, lanes: [], calls: [] };
inPage("a response without events", rewritten("loop", "loop-blank", blank), async (page) => {
  assert.match(await text(page, "#rows"), /No events: the response has no readable body/);
  await press(page, "Home", "End", "ArrowRight", "g", "n", "+", "0", "t");
  assert.equal(await page.getAttribute("#plot", "aria-valuenow"), null);
}, { hash: "#r=0" });

inPage("hostile text is only shown", "hostile", async (page) => {
  await press(page, "Home");
  for (let step = 0; step < 12; step++) await press(page, "ArrowRight");
  await press(page, "r", "f", "n", "End");
  await page.click('[data-toggle="indent"]');
  await page.click(".evidence summary");
  for (const model of await page.locator("#model option").evaluateAll((all) => all.map((one) => one.value))) await page.selectOption("#model", model);
  const plot = await page.locator("#plot").boundingBox();
  await page.mouse.move(plot.x + 400, plot.y + 60);
  await press(page, "j", "End");
  await frame(page);
  assert.deepEqual(await page.evaluate(() => [window.hacked, document.querySelectorAll("img").length, document.scripts.length]), [undefined, 0, 2]);
  assert.match(await page.title(), /^toolstream: /);
  assert.equal(await page.locator("h2", { hasText: "</script><script>window.hacked=1" }).count(), 1);
});

inPage("a session in which the client returned nothing later", "untimed", async (page) => {
  await until(page, '.evidence[aria-label^="Next"]', /No later request was recorded/);
  assert.ok((await event(page)) >= 0);
});

const loop = documentOf("loop");
const atOnce = { ...loop, responses: loop.responses.map((one) => ({ ...one, events: one.events.map(({ ms, ...rest }, k) => (k ? rest : { ...rest, ms: 0 })) })) };

inPage("one time for all events: the event axis", rewritten("loop", "at-once", atOnce), async (page) => {
  assert.ok(await page.isDisabled("#axis-time"));
  assert.equal(await page.getAttribute("#axis-event", "aria-pressed"), "true");
});
