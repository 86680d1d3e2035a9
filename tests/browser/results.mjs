// The page of `toolstream check`: its table, filters, keys and comparison; a case opens in the session view.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AXE, documentOf, event, frame, inPage, press, text, texts, until } from "./harness.mjs";

const names = (page) => texts(page, "#matrix tr[data-key]:not([hidden]) .name");
const focused = (page) => page.evaluate(() => document.activeElement.dataset.id ?? document.activeElement.id);
const EMPTY_ID = "#client=0&case=openai-chat%2Ffault%2Fempty-id";

inPage("a report of one client: cases by kind, with reasons", "check-usual", async (page) => {
  assert.deepEqual(await names(page), ["healthy", "empty-id", "cut-off", "bare", "stall", "drip", "broken"]);
  assert.deepEqual(await texts(page, "tr.group"), ["Healthy responses", "Faults", "Shapes (valid encodings)", "Timing and connection faults", "Presets"]);
  assert.equal((await texts(page, "td.what"))[1], "returned without arguments: call 0 came back as {}");
  assert.equal(await text(page, "#about"), "7 cases · started 2026-01-02T03:04:05Z · took 61 s · seed 0 · toolstream 0.1.0 · mitmproxy 12.2.0");
  assert.equal(await text(page, ".client .result"), "2 required cases failed. 1 case could not be run.");
  assert.deepEqual(await texts(page, ".reasons li"), ["returned an incomplete call 1", "returned without arguments 1"]);
  assert.equal(await text(page, "#cases-shown"), "7 cases");
  assert.equal(await page.getAttribute("[data-id$=empty-id]", "aria-label"), "agent.py, empty-id, failed, returned without arguments, required");
  assert.ok(await page.isHidden("#app"));
});

inPage("filters: grade, kind, need, text, a reason", "check-usual", async (page) => {
  await page.click("#grades [data-grade=failed]");
  assert.deepEqual(await names(page), ["empty-id", "cut-off"]);
  assert.equal(await text(page, "#cases-shown"), "2 of 7 cases");
  assert.equal(await page.getAttribute("#grades [data-grade=failed]", "aria-pressed"), "true");
  await press(page, "/");
  assert.equal(await focused(page), "text");
  await page.keyboard.type("incomplete");
  assert.deepEqual(await names(page), ["cut-off"]);
  await press(page, "Escape");
  assert.deepEqual(await names(page), ["empty-id", "cut-off"]);
  await press(page, "Escape");
  assert.equal(await focused(page), "openai-chat/fault/cut-off");
  await page.click("#clear");
  assert.equal((await names(page)).length, 7);
  await page.selectOption("#kind", "transit");
  assert.deepEqual(await names(page), ["stall", "drip"]);
  await page.selectOption("#need", "required");
  assert.deepEqual(await names(page), []);
  await page.selectOption("#kind", "");
  assert.deepEqual(await names(page), ["healthy", "empty-id", "cut-off", "bare", "broken"]);
  await page.click("#clear");
  await page.click(".reasons button");
  assert.deepEqual(await names(page), ["cut-off"]);
});

inPage("worst first", "check-usual", async (page) => {
  await page.selectOption("#order", "worst");
  assert.deepEqual(await names(page), ["cut-off", "empty-id", "broken", "bare", "stall", "drip", "healthy"]);
});

inPage("keys: arrows in the table, Enter, brackets, Esc", "check-usual", async (page) => {
  await page.locator('button.cell[tabindex="0"]').focus();
  assert.equal(await focused(page), "openai-chat/healthy/healthy");
  await press(page, "ArrowDown");
  assert.equal(await focused(page), "openai-chat/fault/empty-id");
  await press(page, "ArrowUp", "ArrowUp", "ArrowLeft");
  assert.equal(await focused(page), "openai-chat/healthy/healthy");
  await press(page, "Control+End");
  assert.equal(await focused(page), "openai-chat/preset/broken");
  await press(page, "Control+Home", "ArrowDown", "Enter");
  assert.equal(await text(page, "#case-title"), "empty-id");
  await press(page, "]");
  assert.equal(await text(page, "#case-title"), "cut-off");
  assert.match(await text(page, "#side"), /No request reached the proxy/);
  await press(page, "[", "[");
  assert.equal(await text(page, "#case-title"), "healthy");
  await press(page, "[", "Escape");
  assert.ok(await page.isHidden("#app"));
  assert.equal(await focused(page), "openai-chat/healthy/healthy");
  assert.equal(await page.locator('button.cell[tabindex="0"]').count(), 1);
  await press(page, "?");
  assert.match(await text(page, "#help"), /^Keys of the results/);
  await press(page, "Escape");
  assert.ok(await page.isHidden("#help"));
});

inPage("a case without a request is not changed by keys, theme and print", "check-usual", async (page) => {
  await press(page, "]");
  assert.match(await text(page, "#side"), /No request reached the proxy/);
  await press(page, "ArrowRight", "Home", "End", "g", "n", "j", "w", "t", "+", "0", "r", "f", "c", "/");
  await page.click("#theme");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.evaluate(() => { dispatchEvent(new Event("beforeprint")); dispatchEvent(new Event("afterprint")); });
  await page.setViewportSize({ width: 900, height: 700 });
  await frame(page);
  assert.equal(await page.evaluate(() => location.hash), "#client=0&case=openai-chat%2Ffault%2Fcut-off");
  await press(page, "?");
  assert.ok(await page.isVisible("#help"));
}, { hash: EMPTY_ID });

inPage("a case opens in the session view", "check-usual", async (page) => {
  assert.equal(await text(page, "#about"), "agent.py · openai-chat/fault/empty-id");
  assert.equal(await text(page, "#case .grade"), "✗ failed: returned without arguments");
  assert.deepEqual(await texts(page, "#case .command code"), ["--repair empty-id", "toolstream check --only openai-chat/fault/empty-id -- python agent.py"]);
  assert.equal(await event(page), 1);
  assert.match(await text(page, '.row[aria-selected="true"]'), /^1 call 0 get_weather .* diverges here empty-id$/);
  assert.match(await text(page, "#verdict h1"), /^Returned without arguments: call 0/);
  assert.match(await text(page, "#verdict .reason"), /event 1/);
  assert.match(await text(page, "#detail .finding"), /^empty-id TS102 warning · call 0: id is "" after "call_1"/);
  assert.deepEqual(await texts(page, "#labels div"), ["as sent", "call 0 get_weather"]);
  assert.deepEqual(await texts(page, ".evidence tbody td"), ['get_weather {"city":"Graz"}', "get_weather {}"]);
  assert.equal(await text(page, ".evidence .lost"), "{}");
  assert.equal(await text(page, ".card"), '0 get_weather call_1 complete {"city":"Graz"}');
  await page.click(".evidence summary");
  assert.match(await text(page, ".evidence details pre"), /"text": "no city"/);
  await press(page, "End", "ArrowLeft", "g", "n", "t", "+", "0", "r", "f", "j", "k");
  await page.click("#verdict .reason button.link");
  assert.equal(await event(page), 1);
  await page.waitForFunction((hash) => location.hash === `${hash}&r=0&e=1`, EMPTY_ID);
  await page.click("#back");
  assert.ok(await page.isVisible("#matrix"));
  assert.equal(await page.evaluate(() => location.hash), "");
}, { hash: EMPTY_ID });

inPage("a recorded case opens at the misread event, with times, client models and the next request", "check-recorded", async (page) => {
  const { sessions: [{ cases }] } = documentOf("check-recorded"), [one] = Object.values(cases);
  assert.equal(await text(page, "#verdict h1"), one.responses[0].verdict.headline);
  assert.equal(await event(page), one.responses[0].verdict.event);
  assert.equal(await page.locator(".turn").count(), one.responses.length);
  assert.match(await text(page, "#span"), /\d s · /);
  assert.ok((await texts(page, "#model option")).length > 2);
  assert.ok((await texts(page, "#labels div")).length > 2);
  await press(page, "ArrowRight", "ArrowRight");
  assert.equal(await event(page), one.responses[0].verdict.event + 2);
  await press(page, "j", "Escape", "ArrowRight", "Enter");
  assert.equal(await text(page, "#about"), "two · openai-chat/fault/empty-id");
  assert.equal(await page.locator("#model option").count(), 0);
  assert.match(await text(page, "#span"), /no times recorded/);
  await press(page, "Escape", "ArrowLeft", "Enter");
  assert.equal(await event(page), one.responses[0].verdict.event);
  assert.equal(await page.locator(".turn").count(), one.responses.length);
}, { hash: EMPTY_ID });

inPage("the address selects an event of a case", "check-usual", async (page) => {
  assert.equal(await event(page), 3);
}, { hash: `${EMPTY_ID}&r=0&e=3` });

inPage("commands are copied", "check-usual", async (page) => {
  await page.click("#case .command >> nth=1 >> button");
  await until(page, "#announced", /^Copied$/);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "toolstream check --only openai-chat/fault/empty-id -- python agent.py");
}, { hash: EMPTY_ID });

inPage("several clients: a column each", "check-several", async (page) => {
  assert.deepEqual(await texts(page, "thead th"), ["Case", "one openai-chat", "two + repair safe openai-chat"]);
  assert.deepEqual(await texts(page, "button.cell .words"), ["ok", "crashed", "wrong id"]);
  await page.click("#grades [data-grade=failed]");
  assert.deepEqual(await page.locator("button.cell").evaluateAll((all) => all.map((one) => one.classList.contains("dim"))), [true, false, false]);
  await page.locator("button.cell").first().focus();
  await press(page, "ArrowRight", "ArrowDown");
  assert.equal(await focused(page), "openai-chat/fault/a");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.at), "1");
});

const marks = (page) => page.locator(".cell .change").evaluateAll((all) => all.map((one) => one.dataset.change));

inPage("two runs: better, worse, new and gone; a case of the earlier run", "check-changed", async (page) => {
  assert.match(await text(page, "#changes"), /1 worse/);
  assert.match(await text(page, "#changes"), /gone\.py missing in this run/);
  assert.deepEqual(await marks(page), ["better", "worse", "new", "gone"]);
  assert.deepEqual(await texts(page, ".before"), ["before: lost a call", "before: ok"]);
  await page.selectOption("#change", "better");
  assert.deepEqual(await names(page), ["a"]);
  await page.click("#matrix button.cell");
  assert.ok(await page.isHidden("#main"));
  await page.click("#other-run");
  assert.equal(await page.locator(".row").count(), 5);
  await page.click("#other-run");
  assert.ok(await page.isHidden("#main"));
});

inPage("an earlier run from a file", "check-now", async (page) => {
  const file = join(process.env.TOOLSTREAM_PAGES, "earlier.json");
  assert.ok(await page.isHidden("#changes"));
  writeFileSync(file, JSON.stringify(documentOf("check-changed").other));
  await page.setInputFiles("#compare-file", file);
  await until(page, "#changes", /1 worse/);
  assert.deepEqual(await marks(page), ["better", "worse", "new", "gone"]);
  writeFileSync(file, "no JSON");
  await page.setInputFiles("#compare-file", file);
  await until(page, "#notice", /^This file is not JSON\.$/);
});

inPage("an earlier run without repair shows what repair changes", "check-repaired", async (page) => {
  assert.equal(await text(page, "#changes b"), "Changes with repair, compared to the run without it");
  assert.deepEqual(await texts(page, "button.cell .change"), ["▲ better"]);
});

inPage("hostile text is only shown", "check-hostile", async (page) => {
  await page.click("#matrix button.cell");
  await press(page, "End", "r", "n");
  assert.match(await page.title(), /^toolstream check/);
  assert.equal(await page.locator("img").count(), 0);
  assert.match(await text(page, "#case-title"), /^<\/script><img .*\\u202e/);
  assert.match(await text(page, "#detail .wire"), /\\u2028\\u202e/);
});

inPage("a large report: five clients, 150 cases", "check-large", async (page) => {
  assert.equal((await names(page)).length, 150);
  await press(page, "/");
  await page.keyboard.type("row-14");
  assert.equal((await names(page)).length, 11);
  await page.locator("button.cell:visible").first().click();
  assert.equal(await page.locator(".turn").count(), 2);
});

for (const [name, hash] of [["check-usual", ""], ["check-usual", EMPTY_ID], ["check-recorded", EMPTY_ID], ["check-changed", ""], ["check-several", ""]]) {
  inPage(`accessible, no sideways scroll: ${name} ${hash && "with an open case"}`, name, async (page) => {
    await page.evaluate(AXE());
    for (const width of [1440, 700]) for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await frame(page);
      const runOnly = colorScheme === "dark" ? ["color-contrast"] : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
      const { violations } = await page.evaluate((options) => axe.run(document, options), { runOnly });
      assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html.slice(0, 200), nodes[0].failureSummary]), [], `${width} ${colorScheme}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${width} scrolls sideways`);
    }
  }, { hash });
}

inPage("print: the table without controls", "check-usual", async (page) => {
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.isHidden("#filters"));
  assert.equal((await names(page)).length, 7);
  assert.ok(readFileSync(join(process.env.TOOLSTREAM_PAGES, "check-usual.html")).length < 250_000);
});
