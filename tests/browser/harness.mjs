// Opens the pages in headless Chromium. A page must not load anything, and must not write to the console.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

const { TOOLSTREAM_PAGES: PAGES, TOOLSTREAM_BROWSER: PACKAGES, TOOLSTREAM_CHROMIUM: CHROMIUM } = process.env;
const require = createRequire(join(PACKAGES, "package.json"));
const { chromium } = require("playwright-core");

export const AXE = () => readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
after(() => browser.close());

/** The document of a page. */
export function documentOf(name) {
  const html = readFileSync(join(PAGES, `${name}.html`), "utf8");
  return JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)[1]);
}

/** Writes a copy of a page with another document. With `feed` the page has the function `window.feed(patch)`. */
export function rewritten(name, to, doc, { feed = false } = {}) {
  let html = readFileSync(join(PAGES, `${name}.html`), "utf8");
  const data = JSON.stringify(doc).replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  html = html.replace(/(<script type="application\/json" id="data">).*?(<\/script>)/s, (_, before, after_) => before + data + after_);
  if (feed) {
    const end = html.lastIndexOf("})();");
    assert.ok(end > 0, "the page's scripts are one function");
    html = `${html.slice(0, end)}window.feed = live.patch;\n${html.slice(end)}`;
  }
  writeFileSync(join(PAGES, `${to}.html`), html);
  return to;
}

/** A page in a new browser context, with its console messages and its requests. */
export async function opened(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, permissions: ["clipboard-read", "clipboard-write"], ...options });
  const page = await context.newPage(), messages = [], requests = [];
  page.setDefaultTimeout(20_000);
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(error.stack));
  page.on("request", (request) => requests.push(request.url().replace(/#.*/, "")));
  await page.goto(url);
  return { context, page, messages, requests };
}

/** A test in a new page, `act(page)`. Then it checks for console messages, exceptions and requests. */
export function inPage(title, name, act, { hash = "", ...options } = {}) {
  test(title, async () => {
    const url = pathToFileURL(join(PAGES, `${name}.html`)).href;
    const { context, page, messages, requests } = await opened(url + hash, options);
    await act(page);
    await context.close();
    assert.deepEqual(messages, []);
    assert.deepEqual(requests.filter((one) => !one.startsWith("data:")), [url]);
  });
}

/** The visible text, in one line. */
export async function text(page, selector) { return (await page.locator(selector).first().innerText()).replace(/\s+/g, " ").trim(); }
export async function texts(page, selector) { return (await page.locator(selector).allInnerTexts()).map((one) => one.replace(/\s+/g, " ").trim()); }

/** The number of the selected event. */
export async function event(page) { return Number(await page.getAttribute("#plot", "aria-valuenow")); }
export async function response(page) { return Number(await page.getAttribute('.turn[aria-current="true"]', "data-response")); }
export async function pressed(page, selector) { return (await page.getAttribute(selector, "aria-pressed")) === "true"; }
export async function press(page, ...keys) { for (const key of keys) await page.keyboard.press(key); }

/** Waits until the selector's text matches. */
export async function until(page, selector, pattern) {
  await page.waitForFunction(([wanted, source, flags]) => new RegExp(source, flags).test(document.querySelector(wanted)?.innerText ?? ""), [selector, pattern.source, pattern.flags]);
}

/** Waits until the complete response is shown, or only a part. */
export async function zoomed(page, part) { await page.waitForFunction((wanted) => document.querySelector("#zoom-all").disabled !== wanted, part); }

/** Waits until the next frame is drawn. */
export async function frame(page) { await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))); }

/** A page selects its first difference when it opens. */
export const LOOP = { divergence: 30, last: 44 };
