// toolstream in mitmweb. The console of mitmweb's page is not checked.

import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { opened, until } from "./harness.mjs";

const CONTENT = ".contentview";

/** Selects the flow in this row, and a tab. */
async function show(page, row, tab) {
  await page.locator("tr:has(td.col-path)").nth(row).click();
  await page.locator("a").filter({ hasText: new RegExp(`^${tab}$`) }).click();
}

/** Selects a content view by its name. */
async function select(page, view) {
  await page.locator(`${CONTENT} a`).filter({ hasText: /View:/ }).click();
  await page.locator(".dropdown-menu a").filter({ hasText: new RegExp(`^\\s*${view}`, "i") }).click();
}

/** Sends the client's next request through the proxy. */
function sendNext() {
  const { url, headers, json } = JSON.parse(process.env.TOOLSTREAM_NEXT);
  const { hostname, port } = new URL(process.env.TOOLSTREAM_PROXY);
  return new Promise((resolve, reject) => {
    const to = { hostname, port, path: url, method: "POST", headers: { ...headers, host: new URL(url).host, "content-type": "application/json" } };
    request(to, (response) => response.resume().on("end", resolve)).on("error", reject).end(JSON.stringify(json));
  });
}

test("an open response shows the verdict as soon as the client's next request arrives", async () => {
  const { page, context } = await opened(process.env.TOOLSTREAM_VIEW);
  await show(page, 0, "Response");
  await until(page, CONTENT, /verdict: No later request shows/);
  await sendNext();
  await until(page, CONTENT, /verdict: The client returned call 0 get_weather without arguments/);
  await context.close();
});

test("a misread response is marked, and shown with its verdict, its events and its body", async () => {
  const { page, context } = await opened(process.env.TOOLSTREAM_VIEW);
  await until(page, "tr:has(td.col-path)", /❌/);
  await show(page, 0, "Response");
  await until(page, CONTENT, /verdict: The client returned call 0 get_weather without arguments/);
  const shown = await page.locator(CONTENT).innerText();
  assert.match(shown, /Tool calls/);
  assert.match(shown, /cause: .*\n(?:.*\n)*.*returned: {}/);
  assert.equal(shown.includes("Content is missing"), false);
  await select(page, "Events");
  await until(page, CONTENT, /0 ms +call 0 +index=0/);
  await select(page, "Raw");
  await until(page, CONTENT, /data: {/);
  await show(page, 1, "Request");
  await until(page, CONTENT, /verdict: The client returned call 0 get_weather without arguments/);
  await show(page, 0, "Comment");
  await until(page, "body", /returned-without-arguments at event/);
  await context.close();
});
