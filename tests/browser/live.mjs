// A live page, fed with patches.

import assert from "node:assert/strict";
import { documentOf, event, inPage, press, response, rewritten, text, until } from "./harness.mjs";

const complete = documentOf("loop");
const waiting = { ...complete, generated: { ...complete.generated, live: true }, conversations: [], responses: [] };
const PAGE = rewritten("loop", "live", waiting, { feed: true });
const UNJUDGED = { verdict: "unknown", understood: null, headline: "No later request yet" };

/** The patches of a response: its beginning, its events one by one, its end, the verdict. */
function patchesOf(at) {
  const full = complete.responses[at], { readings, verdict, next_request, state, events, calls, findings, finish, lanes, ...rest } = full;
  const early = { models: readings?.models.filter((one) => ["protocol", "intended"].includes(one.model)), same: [], traces: readings?.traces };
  const begin = { ...rest, finish: [], events: [], findings: [], calls: [], lanes: [], state: "live", verdict: UNJUDGED };
  const conversations = [{ title: complete.conversations[0].title, responses: Array.from({ length: at + 1 }, (_, one) => one) }];
  return {
    begin: { response: at, begin, conversations },
    events: events.map((one, k) => ({ response: at, events: [one], lanes, calls: calls.map((call) => ({ ...call, complete: false })), findings: findings.filter((finding) => finding.event <= k), ...(readings && { readings: early }) })),
    end: { response: at, state, finish, calls, verdict: readings ? UNJUDGED : verdict },
    judged: { response: at, verdict, next_request, readings },
  };
}

// Its content security policy does not allow the function that feeds it.
const inLivePage = (title, act) => inPage(title, PAGE, act, { bypassCSP: true });
const feed = (page, ...patches) => page.evaluate((all) => new Promise((done) => { all.forEach(window.feed); requestAnimationFrame(() => requestAnimationFrame(done)); }), patches);

inLivePage("waits, then follows the newest event", async (page) => {
  assert.equal(await text(page, "#empty h1"), "Waiting for the first response");
  const one = patchesOf(0);
  await feed(page, one.begin);
  assert.match(await text(page, "#verdict h1"), /^Receiving…/);
  await feed(page, ...one.events.slice(0, 20));
  assert.equal(await event(page), 19);
  assert.match(await text(page, "#interpretation"), /^Interpretation|^No tool call so far/);
  await feed(page, ...one.events.slice(20, 33));
  assert.equal(await event(page), 32);
  assert.match(await text(page, "#verdict h1"), /^Receiving read_file, list_issues…/);
  assert.equal(await text(page, "#live"), "Live");
});

inLivePage("stays at a selected event; the button goes back to the newest", async (page) => {
  const one = patchesOf(0);
  await feed(page, one.begin, ...one.events.slice(0, 20));
  await press(page, "ArrowLeft");
  assert.equal(await event(page), 18);
  assert.match(await text(page, "#live"), /go to the newest/);
  await feed(page, ...one.events.slice(20, 30));
  assert.equal(await event(page), 18);
  await page.click("#live");
  assert.equal(await event(page), 29);
  assert.equal(await text(page, "#live"), "Live");
  await feed(page, ...one.events.slice(30, 34));
  assert.equal(await event(page), 33);
});

inLivePage("keeps the focus, an open list of commands and a zoomed range", async (page) => {
  const one = patchesOf(0);
  await feed(page, one.begin, ...one.events.slice(0, 32));
  await press(page, "ArrowLeft", "+");
  await page.locator("#reference").focus();
  await feed(page, ...one.events.slice(32, 36));
  assert.equal(await page.evaluate(() => document.activeElement.id), "reference");
  assert.ok(!(await page.isDisabled("#zoom-all")));
});

inLivePage("the next request brings the verdict, and the page selects the next response", async (page) => {
  const [one, two] = [patchesOf(0), patchesOf(1)];
  await feed(page, one.begin, ...one.events, one.end);
  assert.match(await text(page, '.evidence[aria-label^="Next"]'), /It will show how the client interpreted/);
  await feed(page, one.judged, two.begin);
  assert.equal(await response(page), 1);
  assert.match(await text(page, "#about"), /1 misread/);
  await press(page, "k");
  assert.equal(await text(page, "#verdict h1"), complete.responses[0].verdict.headline.replaceAll("`", ""));
  assert.equal(await text(page, ".reader:nth-child(2) select option:checked"), "This client");
  await feed(page, ...two.events.slice(0, 5));
  assert.equal(await response(page), 0);
});

inLivePage("patches give the same page as the complete document", async (page) => {
  for (const at of complete.responses.keys()) {
    const { begin, events, end, judged } = patchesOf(at);
    await feed(page, begin, ...events, end, judged);
  }
  await press(page, "w", "k", "k", "k", "k", "k", "g");
  assert.equal(await event(page), complete.responses[0].readings.models.find((one) => one.model === complete.responses[0].readings.client).diverges.event);
  assert.match(await text(page, "#about"), /^5 misread · .*6 responses$/);
});

inLivePage("after the client has ended the page does not follow new events", async (page) => {
  const one = patchesOf(0);
  await feed(page, one.begin, ...one.events, one.end, { ended: true });
  await until(page, "#live", /^The client ended$/);
  await press(page, "Home");
  assert.equal(await text(page, "#live"), "The client ended");
});
