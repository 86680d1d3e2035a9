// 3,000 events: the number of rows is bounded at every scroll position.

import assert from "node:assert/strict";
import { documentOf, event, frame, inPage, press, text, LOOP } from "./harness.mjs";

const { events } = documentOf("large").responses[0], MOST_ROWS = 80;
const rows = (page) => page.locator(".row").count();

inPage("only visible rows exist", "large", async (page) => {
  assert.match(await text(page, "#shown"), /^3,000 events$/);
  await press(page, "f");
  for (const place of [0, .3, .99, 1]) {
    await page.evaluate((share) => { const box = document.querySelector("#events-list"); box.scrollTop = box.scrollHeight * share; }, place);
    await frame(page);
    const count = await rows(page);
    assert.ok(count > 5 && count <= MOST_ROWS, `${count} rows`);
  }
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(nodes < 2500, `${nodes} elements`);
});

inPage("keys, jumps and the find box", "large", async (page) => {
  const first = await event(page);
  await press(page, "ArrowRight", "Shift+ArrowRight");
  assert.equal(await event(page), first + 11);
  await press(page, "End", "ArrowLeft", "Home", "g");
  assert.equal(await event(page), first);
  assert.ok((await rows(page)) <= MOST_ROWS);
  await press(page, "/");
  await page.keyboard.type("list_issues");
  assert.match(await text(page, "#shown"), /^1 of 3,000 events$/);
  assert.equal(events.length, 3000);
  assert.ok(LOOP.last < first);
});

inPage("cards and lanes of a model with hundreds of calls are bounded", "large", async (page) => {
  await press(page, "End");
  assert.ok((await page.locator(".card").count()) <= 40);
  assert.ok((await page.locator("#labels div").count()) <= 12);
});
