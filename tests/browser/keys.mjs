// The keyboard, in a session whose client misreads five responses in the same way.

import assert from "node:assert/strict";
import { event, inPage, press, pressed, response, text, until, zoomed, LOOP } from "./harness.mjs";

const selected = (page) => text(page, '.row[aria-selected="true"]');

inPage("opens at the first difference of the first misread response", "loop", async (page) => {
  assert.equal(await response(page), 0);
  assert.equal(await event(page), LOOP.divergence);
  assert.match(await selected(page), /diverges here/);
  assert.match(await text(page, "#interpretation .does-now.odd"), /^Opens call 1, without a name \(index 0, id ""\)/);
});

inPage("arrows move by events", "loop", async (page) => {
  await press(page, "ArrowRight");
  assert.equal(await event(page), LOOP.divergence + 1);
  await press(page, "ArrowLeft", "ArrowLeft");
  assert.equal(await event(page), LOOP.divergence - 1);
  await press(page, "Shift+ArrowLeft");
  assert.equal(await event(page), LOOP.divergence - 11);
  await press(page, "Shift+ArrowRight");
  assert.equal(await event(page), LOOP.divergence - 1);
  await press(page, "Home", "ArrowLeft");
  assert.equal(await event(page), 0);
  await press(page, "End", "ArrowRight");
  assert.equal(await event(page), LOOP.last);
});

inPage("g, n and p go to the first difference and the findings", "loop", async (page) => {
  await press(page, "Home", "g");
  assert.equal(await event(page), LOOP.divergence);
  await press(page, "n");
  const next = await event(page);
  assert.ok(next > LOOP.divergence);
  assert.match(await selected(page), /empty-id/);
  await press(page, "n");
  assert.equal(await event(page), next);
  await until(page, "#announced", /No finding after/);
  await press(page, "p", "p");
  assert.equal(await event(page), LOOP.divergence);
  await until(page, "#announced", /No finding before/);
});

inPage("the list moves by rows; a fold is one row", "loop", async (page) => {
  await press(page, "Home");
  await page.locator("#events-list").focus();
  await press(page, "ArrowDown");
  assert.equal(await event(page), 1);
  assert.match(await selected(page), /^▸ 1 /);
  await press(page, "ArrowDown");
  assert.equal(await event(page), 20);
  await press(page, "ArrowUp");
  assert.equal(await event(page), 1);
  await press(page, "Enter");
  assert.match(await selected(page), /^1 .* reasoning The/);
  await press(page, "PageDown");
  assert.equal(await event(page), 13);
  await press(page, "PageUp");
  assert.equal(await event(page), 1);
});

inPage("→ goes into a fold and unfolds it", "loop", async (page) => {
  await press(page, "Home", "ArrowRight");
  assert.match(await selected(page), /^1 .* reasoning The/);
});

inPage("j, k and w go through the responses", "loop", async (page) => {
  await press(page, "j");
  assert.equal(await response(page), 1);
  await press(page, "k", "k");
  assert.equal(await response(page), 0);
  await press(page, "w");
  assert.equal(await response(page), 1);
  await press(page, "j", "j", "j", "j", "j");
  assert.equal(await response(page), 5);
  await press(page, "w");
  assert.equal(await response(page), 0);
});

inPage("t changes the axis; +, − and 0 zoom", "loop", async (page) => {
  await press(page, "t");
  assert.ok(await pressed(page, "#axis-event"));
  await press(page, "t");
  assert.ok(await pressed(page, "#axis-time"));
  await press(page, "+");
  await zoomed(page, true);
  await press(page, "-");
  await zoomed(page, false);
  await press(page, "=", "=");
  await zoomed(page, true);
  await press(page, "0");
  await zoomed(page, false);
});

inPage("the plot is a slider whose value is the event in words", "loop", async (page) => {
  await page.locator("#plot").focus();
  assert.equal(await page.getAttribute("#plot", "aria-valuemax"), String(LOOP.last));
  assert.match(await page.getAttribute("#plot", "aria-valuetext"), /call 0 read_file id "" arguments "\{\\"pa"; note empty-id; diverges here$/);
  await press(page, "Home");
  assert.equal(await event(page), 0);
});

inPage("r shows raw lines, f unfolds everything", "loop", async (page) => {
  await press(page, "r");
  assert.ok(await pressed(page, "#raw"));
  assert.match(await selected(page), /"index":0,"id":""/);
  await press(page, "r", "f");
  assert.ok(!(await pressed(page, "#fold")));
  assert.equal(await page.locator(".row.fold").count(), 0);
});

inPage("/ finds, Esc clears", "loop", async (page) => {
  await press(page, "/");
  await page.keyboard.type("LIST_issues");
  await until(page, "#shown", /^1 of 45 events$/);
  await press(page, "j");
  assert.equal(await response(page), 0);
  await press(page, "Escape");
  await until(page, "#shown", /^45 events$/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "events-list");
  await press(page, "/");
  await page.keyboard.type("nowhere");
  assert.match(await text(page, "#rows"), /No event matches the filter/);
  assert.equal(await event(page), LOOP.divergence);
});

inPage("c copies the workaround", "loop", async (page) => {
  await press(page, "c");
  await until(page, "#announced", /^Copied$/);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await text(page, ".help .command code"));
  await until(page, "#copy-advice", /^Copy$/);
});

inPage("? shows the keys; letters can be switched off", "loop", async (page) => {
  await press(page, "?");
  assert.ok(await page.locator("#help").isVisible());
  await press(page, "j");
  assert.equal(await response(page), 0);
  await page.click("#keys-on");
  await page.click("#help-close");
  await press(page, "j");
  assert.equal(await response(page), 0);
  await press(page, "ArrowRight");
  assert.equal(await event(page), LOOP.divergence + 1);
});

inPage("a key with Ctrl is the browser's", "loop", async (page) => {
  await press(page, "Control+g");
  await press(page, "Home");
  await press(page, "Control+ArrowRight");
  assert.equal(await event(page), 0);
});
