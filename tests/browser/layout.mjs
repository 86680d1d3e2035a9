// Accessibility (axe-core) and layout: light and dark, three widths, print.

import assert from "node:assert/strict";
import { AXE, documentOf, frame, inPage, rewritten, text } from "./harness.mjs";

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const SESSIONS = { loop: [1440, 1024, 700], truncated: [1440], repaired: [1440], violating: [1440, 700], error: [1440], unstreamed: [1440], healthy: [1024], empty: [700] };

async function violations(page, selector, runOnly = RULES) {
  const found = await page.evaluate(([root, options]) => axe.run(document.querySelector(root), options), [selector, { runOnly }]);
  return found.violations.map(({ id, nodes }) => [id, nodes[0].html.slice(0, 200), nodes[0].failureSummary]);
}

rewritten("loop", "empty", { ...documentOf("loop"), conversations: [], responses: [] });
for (const [name, widths] of Object.entries(SESSIONS)) {
  inPage(`${name}: accessible in light and dark, no sideways scroll at ${widths.join(", ")} pixels`, name, async (page) => {
    await page.evaluate(AXE());
    for (const width of widths) for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await frame(page);
      // In the dark only colours are different.
      assert.deepEqual(await violations(page, "html", colorScheme === "dark" ? ["color-contrast"] : RULES), [], `${width} ${colorScheme}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${width} scrolls sideways`);
    }
  });
}

inPage("the dialog has no violation", "loop", async (page) => {
  await page.keyboard.press("?");
  await page.evaluate(AXE());
  assert.deepEqual(await violations(page, "dialog"), []);
});

inPage("print: light, all rows, no controls, one sheet wide", "loop", async (page) => {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  const rows = await page.locator(".row").count();
  assert.ok(rows >= 18, `${rows} rows`);
  for (const hidden of ["#side", "#find", ".tools", "#overview", ".stepper button"]) assert.ok(await page.locator(hidden).first().isHidden(), hidden);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  assert.match(await text(page, "#verdict h1"), /./);
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.getAttribute("html", "data-theme"), null);
  const pdf = await page.pdf({ format: "A4" });
  assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
}, { colorScheme: "dark" });
