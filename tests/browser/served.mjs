// The page that a proxy serves: it opens at the printed address, and grows until the client has exited.

import assert from "node:assert/strict";
import { test } from "node:test";
import { opened, response, text, until } from "./harness.mjs";

const ADDRESS = process.env.TOOLSTREAM_VIEW;

test("shows the client's responses, also after a reload, and sends no other requests", async () => {
  const { page, context, messages, requests } = await opened(ADDRESS);
  await until(page, "#live", /The client ended/);
  await until(page, "#verdict h1", /split call 0 get_weather into several calls/);
  assert.equal(new URL(page.url()).hash.includes("token"), false);
  assert.equal(await response(page), 0);
  await page.reload();
  await until(page, "#verdict h1", /split call 0 get_weather into several calls/);
  assert.equal(await page.locator(".turn").count(), 2);
  assert.match(await text(page, "#interpretation"), /by-present-id|every id/);
  await context.close();
  assert.deepEqual(messages, []);
  const { origin } = new URL(ADDRESS);
  assert.deepEqual([...new Set(requests.map((one) => new URL(one).origin))], [origin]);
});

test("without the token it shows which address to open", async () => {
  const { page, context } = await opened(ADDRESS.replace(/#.*/, ""));
  await until(page, "#live", /Open the address that toolstream printed/);
  await context.close();
});
