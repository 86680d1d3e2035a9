// Verdict, filters, the selected event, the picker of client models, the next request, the conversations, the address.

import assert from "node:assert/strict";
import { documentOf, event, inPage, press, pressed, response, rewritten, text, texts, until, LOOP } from "./harness.mjs";

const loop = documentOf("loop"), [first] = loop.responses;

inPage("the verdict shows what happened, why, and the fix", "loop", async (page) => {
  assert.equal(await text(page, "#verdict h1"), first.verdict.headline.replaceAll("`", ""));
  assert.match(await text(page, "#verdict .reason"), /event 30/);
  assert.match(await text(page, "#verdict .fix"), /^Fix \S/);
  assert.match(await text(page, "#verdict .facts"), /^5 times in this conversation seen in aichat, opencode, cline .*openai-chat.* finish tool_calls$/);
  assert.equal(await page.getAttribute("#verdict .facts a", "href"), loop.projects.aichat);
  assert.equal(await text(page, "#about .link"), "5 misread");
  await page.click("#about .link");
  assert.equal(await response(page), 1);
});

inPage("the workaround: both forms, more commands", "loop", async (page) => {
  const [{ run, options }] = first.verdict.advice, line = () => text(page, ".help .command code");
  assert.equal(await line(), run);
  await page.click(".help button:has-text('mitmdump')");
  assert.equal(await line(), `mitmdump -s "$(toolstream addon-path)" ${options}`);
  await press(page, "j");
  assert.match(await line(), /^mitmdump/);
  await page.click(".help button:has-text('toolstream run')");
  assert.match(await line(), /^toolstream run/);
  await page.click(".help summary");
  assert.deepEqual((await texts(page, ".help details .command code")).map((one) => one.split(" ").slice(0, 2).join(" ")), ["toolstream extract", "toolstream shrink", "toolstream report"]);
  assert.doesNotMatch((await texts(page, ".help details .command code")).join(" "), /#\d/);
});

inPage("other workarounds have the form of the command", rewritten("loop", "loop-advice", withAdvice(documentOf("loop"))), async (page) => {
  assert.match(await text(page, ".help > p"), / So does --shape sequential or --repair safe --shape sequential\.$/);
  await page.click(".help button:has-text('mitmdump')");
  assert.match(await text(page, ".help > p"), / So does --set toolstream_shape=sequential or --set toolstream_repair=safe --set toolstream_shape=sequential\.$/);
});

function withAdvice(doc) {
  const advice = (...settings) => ({ options: settings.map((one) => `--set toolstream_${one.join("=")}`).join(" "), run: `toolstream run ${settings.map((one) => `--${one.join(" ")}`).join(" ")} -- CMD` });
  const shape = ["shape", "sequential"];
  doc.responses[0].verdict.advice = [doc.responses[0].verdict.advice[0], advice(shape), advice(["repair", "safe"], shape)];
  return doc;
}

inPage("without the next request, the returned calls are still compared", rewritten("loop", "loop-live", withoutNext(documentOf("loop"))), async (page) => {
  assert.match((await texts(page, ".evidence tbody td")).join(), /^read_file \{"path":"README.md"\},read_file \{\}/);
  assert.equal(await page.locator(".evidence details").count(), 0);
});

function withoutNext(doc) {
  for (const one of doc.responses) delete one.next_request;
  return doc;
}

inPage("filters: calls, findings, all", "loop", async (page) => {
  assert.ok(await page.isHidden("#show-changed"));
  await page.click('[data-show="findings"]');
  await until(page, "#shown", /^2 of 45 events$/);
  assert.ok(await pressed(page, '[data-show="findings"]'));
  await page.click('[data-show="calls"]');
  const lanes = new Set((await texts(page, ".row .lane")).map((one) => one.replace(/\d .*/, "")));
  assert.deepEqual([...lanes].sort(), ["call ", "stream"]);
  await press(page, "j");
  assert.ok(await pressed(page, '[data-show="all"]'));
});

inPage("the selected event: deciding bytes, full text, indented, copied", "loop", async (page) => {
  const wire = () => page.locator("#detail .wire").innerText();
  assert.deepEqual((await texts(page, "#detail .hot")).join(" "), '"index":0 "id":""');
  assert.match(await text(page, "#detail .finding"), /^empty-id TS102 note · call 0: .* A correct client .* More: toolstream explain empty-id/);
  assert.match(await wire(), /… \d+ …/);
  await page.click("#detail .gap");
  assert.doesNotMatch(await wire(), /…/);
  assert.ok(await pressed(page, '[data-toggle="complete"]'));
  await page.click('[data-toggle="indent"]');
  assert.match(await wire(), /\n {2}"choices": \[/);
  await page.click("#copy-raw");
  await until(page, "#announced", /^Copied$/);
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^data: \{"id":"chatcmpl.*\}\n\n$/);
  await page.click('[data-toggle="complete"]');
  assert.match(await wire(), /…/);
});

inPage("a repair that does not help this client is not offered", "loop", async (page) => {
  assert.match(await text(page, "#detail .finding"), /does not help this client; see the workaround/);
  assert.equal(await page.locator("#detail .command").count(), 0);
});

inPage("another client model: lanes, sentences and the first difference follow", "loop", async (page) => {
  const labels = () => texts(page, "#labels div");
  assert.ok((await labels()).includes("read by this client"));
  assert.deepEqual((await labels()).filter((one) => one.endsWith("dropped")), ["call 1 dropped", "call 3 dropped"]);
  const groups = await page.locator("#model optgroup").evaluateAll((all) => all.map((one) => one.label.replace(/ \(\d+\)$/, "")));
  assert.equal(groups[0], "Explains this client");
  assert.ok(groups.indexOf("Deviations that misread this response") > groups.findLastIndex((one) => one.startsWith("Client versions")), groups.join());
  const other = first.readings.models.find((one) => one.correct === false && one.model !== first.readings.client && one.diverges && one.diverges.event !== LOOP.divergence);
  await page.selectOption("#model", other.model);
  assert.equal(await event(page), other.diverges.event);
  assert.match(await text(page, '.row[aria-selected="true"]'), /diverges here/);
  assert.ok(await page.isVisible("#interpretation .does-now.odd"));
  await page.waitForFunction((model) => new URLSearchParams(location.hash.slice(1)).get("as") === model, other.model);
  await page.selectOption("#model", "protocol");
  assert.ok(!(await labels()).some((one) => one.startsWith("read by")));
  assert.ok(await page.isHidden(".stepper .go"));
  assert.match(await text(page, ".reader:nth-child(2) .about"), /^\d+ client models would misread this response/);
});

inPage("measured client versions stand above single deviations", rewritten("loop", "loop-versions", withVersion(documentOf("loop"))), async (page) => {
  const groups = await page.locator("#model optgroup").evaluateAll((all) => all.map((one) => [one.label, [...one.children].map((option) => option.textContent)]));
  const at = groups.findIndex(([label]) => label.startsWith("Client versions that misread"));
  assert.ok(groups[at][1].includes("agent-sdk 1.2.3"), JSON.stringify(groups[at]));
  assert.ok(at < groups.findIndex(([label]) => label.startsWith("Deviations")));
  await page.selectOption("#model", { label: "agent-sdk 1.2.3" });
  assert.match(await text(page, ".reader:nth-child(2) .about"), /^agent-sdk 1\.2\.3: /);
  assert.ok((await texts(page, "#labels div")).includes("read by agent-sdk 1.2.3"));
});

function withVersion(doc) {
  const { readings } = doc.responses[0], wrong = readings.models.find((one) => one.correct === false && one.model !== readings.client);
  doc.models["agent-sdk@1.2.3"] = { ...doc.models[wrong.model], client: { name: "agent-sdk", version: "1.2.3" } };
  readings.models.push({ ...wrong, model: "agent-sdk@1.2.3" });
  return doc;
}

inPage("the intended calls as reference", "loop", async (page) => {
  await page.selectOption("#reference", "intended");
  assert.match(await text(page, ".reader .about"), /^The calls as toolstream reassembles them/);
  await press(page, "End");
  assert.match(await text(page, ".reader .does-now"), /At the end: call 0 read_file and call 1 list_issues$/);
  assert.match(await text(page, ".reader:nth-child(2)"), /The client drops calls without a name/);
  assert.match(await text(page, ".reader:nth-child(2) .does-now"), /At the end: call 0 read_file and call 2 list_issues$/);
});

inPage("the next request is compared with the intended calls", "loop", async (page) => {
  assert.deepEqual(await texts(page, ".evidence tbody td"), ['read_file {"path":"README.md"}', "read_file {}", 'list_issues {"state":"open","limit":20}', "list_issues {}"]);
  assert.equal(await page.locator(".evidence td .lost").count(), 2);
  assert.match(await text(page, ".evidence .agrees"), /^✓ The model of this client returns exactly these calls/);
  await page.click(".evidence summary");
  assert.match(await text(page, ".evidence details pre"), /"role": "assistant"/);
});

const disagreeing = documentOf("loop");
disagreeing.responses[0].verdict.returned[0].arguments = '{"path":"other"}';
inPage("the page does not claim an agreement that it has not compared", rewritten("loop", "loop-disagreeing", disagreeing), async (page) => {
  assert.equal(await page.locator(".agrees").count(), 0);
  assert.match(await text(page, '.evidence[aria-label^="Next"]'), /except for details/);
});

inPage("conversations: filter, misread only, equal titles are distinguished", "many", async (page) => {
  const shown = () => page.locator(".conversation").count();
  assert.equal(await shown(), 60);
  await page.click("#side-misread");
  assert.equal(await shown(), 6);
  await page.fill("#side-filter", "Prompt 40");
  assert.equal(await shown(), 1);
  await page.fill("#side-filter", "nothing like it");
  assert.match(await text(page, "#conversations"), /No conversation matches/);
  await page.fill("#side-filter", "");
  await page.click("#side-misread");
  const same = await page.locator(".conversation .file").allTextContents();
  assert.equal(same.length, 20);
  assert.equal(new Set(same).size, 20);
  await page.fill("#side-filter", "Prompt 5");
  await page.click(".turn");
  assert.match(await text(page, "#verdict h1"), /as/);
  assert.equal(await text(page, '.turn[aria-current="true"] b'), "1. read as sent");
});

inPage("the address selects response, event and client model", "loop", async (page) => {
  assert.equal(await response(page), 2);
  assert.equal(await event(page), 17);
  assert.equal(await page.inputValue("#model"), "by-present-id");
  await press(page, "ArrowRight");
  await page.waitForFunction(() => location.hash === "#r=2&e=18&as=by-present-id");
}, { hash: "#r=2&e=17&as=by-present-id" });

for (const hash of ["#r=x&e=-3&as=nobody", "#r=99&e=1e9&as=__proto__", "#%", "#as=intended"]) {
  inPage(`an invalid address is ignored: ${hash}`, "loop", async (page) => {
    assert.equal(await event(page), LOOP.divergence);
    assert.equal(await page.inputValue("#model"), first.readings.client);
  }, { hash });
}
inPage("an event beyond the end is the last one", "loop", async (page) => assert.equal(await event(page), LOOP.last), { hash: "#r=0&e=99999" });

inPage("theme: the system's, the other at a click, kept", "loop", async (page) => {
  const dark = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).reduce((sum, one) => sum + Number(one), 0) < 200);
  assert.ok(await dark());
  await page.emulateMedia({ colorScheme: "light" });
  assert.ok(!(await dark()));
  await page.click("#theme");
  assert.ok(await dark());
  await page.emulateMedia({ colorScheme: "dark" });
  await page.click("#theme");
  assert.ok(!(await dark()));
}, { colorScheme: "dark" });
