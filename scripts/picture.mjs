// Takes a screenshot of a page, or of a response in mitmweb: node picture.mjs ADDRESS OUT SCHEME. For make_pictures.py.

import { createRequire } from "node:module";

const [address, out, colorScheme] = process.argv.slice(2);
const { chromium } = createRequire(new URL("../requirements/browser/package.json", import.meta.url))("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.TOOLSTREAM_CHROMIUM, args: ["--no-sandbox"] });
const tab = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme });
await tab.goto(address);
if (address.startsWith("http:")) {
  await tab.locator("tr:has(td.col-path)").first().click();
  await tab.locator("a").filter({ hasText: /^Response$/ }).click();
  await tab.waitForFunction(() => document.querySelector(".contentview")?.innerText.includes("verdict:"));
}
await tab.screenshot({ path: out });
await browser.close();
