// Opens a page and an idle page in turn, and steps through the page: seconds of the browser's own clock, as JSON.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { TOOLSTREAM_BROWSER: PACKAGES, TOOLSTREAM_CHROMIUM: CHROMIUM } = process.env;
const [page, idle, rounds] = process.argv.slice(2);
const { chromium } = createRequire(join(PACKAGES, "package.json"))("playwright-core");
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const STEPS = 20;

/** Seconds until the first frame after loading is drawn. */
async function opened(path) {
  const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await tab.goto(pathToFileURL(path).href);
  const seconds = await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame((now) => done(now / 1000)))));
  return { tab, seconds };
}

/** Seconds from a key, or from nothing, to the frame that shows what it did. */
function step(tab, key) {
  return tab.evaluate((pressed) => new Promise((done) => requestAnimationFrame(() => {
    const begun = performance.now();
    if (pressed) dispatchEvent(new KeyboardEvent("keydown", { key: pressed, bubbles: true }));
    requestAnimationFrame(() => done((performance.now() - begun) / 1000));
  })), key);
}

const told = { open: [], idle: [], step: [], frame: [] };
for (let round = 0; round < Number(rounds); round++) {
  const nothing = await opened(idle);
  told.idle.push(nothing.seconds);
  for (let k = 0; k < STEPS; k++) told.frame.push(await step(nothing.tab, null));
  await nothing.tab.close();
  const { tab, seconds } = await opened(page);
  told.open.push(seconds);
  for (let k = 0; k < STEPS; k++) told.step.push(await step(tab, "ArrowRight"));
  await tab.close();
}
await browser.close();
console.log(JSON.stringify(told));
