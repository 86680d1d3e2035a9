// Mouse and wheel on the timeline, the list and the overview.

import assert from "node:assert/strict";
import { event, frame, inPage, press, text, until, zoomed, LOOP } from "./harness.mjs";

const box = (page, selector) => page.locator(selector).boundingBox();

async function drag(page, from, to, y) {
  await page.mouse.move(from, y);
  await page.mouse.down();
  await page.mouse.move(to, y, { steps: 5 });
  await page.mouse.up();
}

inPage("a click on the timeline selects an event of this lane", "loop", async (page) => {
  const plot = await box(page, "#plot");
  await page.mouse.click(plot.x + 300, plot.y + 62);
  const chosen = await event(page);
  assert.ok(chosen > 0 && chosen < 20, `reasoning, not ${chosen}`);
  await page.locator("#plot").focus();
  await press(page, "ArrowRight");
  assert.equal(await event(page), chosen + 1);
});

inPage("a drag zooms; a double click shows everything", "loop", async (page) => {
  const plot = await box(page, "#plot");
  await drag(page, plot.x + 200, plot.x + 500, plot.y + 80);
  await zoomed(page, true);
  const range = await box(page, "#window");
  assert.ok(Math.abs(range.x - plot.x - 200) < 3 && Math.abs(range.width - 300) < 3, `range ${range.x - plot.x}, ${range.width}`);
  assert.equal(await event(page), LOOP.divergence);
  const cursorHidden = (wanted) => page.waitForFunction((one) => document.querySelector("#cursor").hidden === one, wanted);
  await cursorHidden(true);
  await press(page, "ArrowRight");
  await cursorHidden(false);
  await page.dblclick("#plot");
  await zoomed(page, false);
});

inPage("the overview: its window moves, its edges resize it, a drag makes a new one", "loop", async (page) => {
  const plot = await box(page, "#plot");
  await drag(page, plot.x + 200, plot.x + 500, plot.y + 80);
  await zoomed(page, true);
  const first = await box(page, "#window"), y = first.y + 8;
  await drag(page, first.x + first.width / 2, first.x + first.width / 2 + 90, y);
  await frame(page);
  const moved = await box(page, "#window");
  assert.ok(Math.abs(moved.x - first.x - 90) < 3 && Math.abs(moved.width - first.width) < 2, `moved ${moved.x - first.x}`);
  await drag(page, moved.x + moved.width - 1, moved.x + moved.width + 60, y);
  await frame(page);
  const wider = await box(page, "#window");
  assert.ok(Math.abs(wider.width - moved.width - 60) < 4, `wider by ${wider.width - moved.width}`);
  await drag(page, wider.x + 1, wider.x - 50, y);
  await frame(page);
  const left = await box(page, "#window");
  assert.ok(Math.abs(left.x - wider.x + 50) < 4, `left edge moved ${left.x - wider.x}`);
  const overview = await box(page, "#overview");
  await drag(page, overview.x + 700, overview.x + 900, y);
  await frame(page);
  const drawn = await box(page, "#window");
  assert.ok(Math.abs(drawn.width - 200) < 5, `new window of ${drawn.width}`);
});

inPage("the wheel zooms with Ctrl and pans sideways", "loop", async (page) => {
  const plot = await box(page, "#plot");
  await page.mouse.move(plot.x + 400, plot.y + 80);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await zoomed(page, true);
  const before = await box(page, "#window");
  await page.mouse.wheel(200, 0);
  await page.waitForFunction((x) => document.querySelector("#window").getBoundingClientRect().x > x + 5, before.x);
  assert.ok((await box(page, "#window")).x > before.x);
});

inPage("hovering names the event, or the finding above the lanes", "loop", async (page) => {
  const plot = await box(page, "#plot"), cursor = await box(page, "#cursor");
  await page.mouse.move(cursor.x, plot.y + 24);
  await until(page, "#hover", /^empty-id: /);
  await page.mouse.move(plot.x + 300, plot.y + 62);
  await until(page, "#hover", /reasoning “/);
  await page.mouse.move(plot.x + 300, plot.y + 400);
  await page.waitForFunction(() => document.querySelector("#hover").hidden);
});

inPage("a click selects a row, and unfolds a fold", "loop", async (page) => {
  await press(page, "Home");
  await page.locator(".row.fold").first().click();
  assert.equal(await event(page), 1);
  assert.match(await text(page, '.row[aria-selected="true"]'), /^1 .* reasoning The/);
  await page.locator(".row", { hasText: "wants" }).click();
  assert.equal(await event(page), 3);
});

inPage("buttons: axis, zoom, steps, first difference", "loop", async (page) => {
  await page.click("#axis-event");
  await page.click("#zoom-in");
  await zoomed(page, true);
  await page.click("#zoom-out");
  await zoomed(page, false);
  await page.click("#zoom-in");
  await page.click("#zoom-all");
  await zoomed(page, false);
  const steps = [["First event", 0], ["Next event", 1], ["Last event", LOOP.last], ["Previous event", LOOP.last - 1]];
  for (const [label, at] of steps) {
    await page.click(`.stepper [aria-label="${label}"]`);
    assert.equal(await event(page), at);
  }
  await page.click(".stepper .go");
  assert.equal(await event(page), LOOP.divergence);
  await press(page, "Home");
  await page.click("#verdict .reason button.link");
  assert.equal(await event(page), LOOP.divergence);
});
