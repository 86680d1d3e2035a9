// Rows of the list of events.

const RAW_SHOWN = 6000, RAW_TOKENS = 90, LINE_SHOWN = 300, FOLD_SHOWN = 160, ID_SHOWN = 24;

function eventRow(app, k) {
  const { response } = app, ready = prepared(response), lane = ready.lane[k], diverges = app.divergence() === k;
  const stalled = ready.stalls.has(k);
  return el("div", { class: `row${diverges ? " diverges" : ""}${stalled ? " stalled" : ""}`, style: { "--c": `var(--${laneColour(lane)})` } },
    el("span", { class: "n" }, String(ready.number[k])), el("span", { class: "t" }, timeOf(response, k)),
    el("span", { class: "lane" }, el("i"), el("span", {}, lane === "quiet" ? "comment" : laneLabel(response, lane))),
    el("span", { class: "what" }, app.rawLines ? rawLine(app, k) : contentLine(app, k)), badges(app, k));
}

function foldRow(app, [a, b]) {
  const { response } = app, ready = prepared(response), lane = ready.lane[a];
  let text = "";
  for (let k = a; k <= b && text.length < FOLD_SHOWN; k++) text += (response.events[k].fragments || []).map((one) => one.text ?? one.arguments ?? "").join("");
  const span = response.timed ? ` in ${duration(ready.ms[b] - ready.ms[a])}` : "";
  return el("div", { class: "row fold", style: { "--c": `var(--${laneColour(lane)})` } },
    el("span", { class: "n" }, `▸ ${ready.number[a]}`), el("span", { class: "t" }, timeOf(response, a)),
    el("span", { class: "lane" }, el("i"), el("span", {}, lane === "quiet" ? "comments" : laneLabel(response, lane))),
    el("span", { class: "what" }, `${b - a + 1} events${span}  `, el("q", {}, visible(text))), el("span"));
}

function timeOf(response, k) { return response.timed ? duration(prepared(response).ms[k]) : ""; }

function badges(app, k) {
  const ready = prepared(app.response), found = ready.findings.get(k), { received } = app.response.events[k], box = el("span", { class: "badges" });
  const badge = (grade, text, title = null) => box.append(el("span", { class: "badge", "data-grade": grade, title }, text));
  if (app.divergence() === k) badge("bad", "diverges here");
  if (found) {
    const worst = worstOf(found), { name } = found.find((one) => one.severity === worst);
    badge(worst, found.length > 1 ? `${name} +${found.length - 1}` : name, found.map((one) => one.name).join(", "));
  }
  if (received) badge(received.length ? "ok" : "held", received.length === 0 ? "withheld" : received.length > 1 ? `became ${received.length}` : "rewritten");
  if (ready.stalls.has(k)) badge("warning", `after ${duration(ready.stalls.get(k))}`);
  return box;
}

/** What an event contains, on one line. */
function contentLine(app, k) {
  const event = app.response.events[k], hot = app.hotKeys(k), raw = prepared(app.response).raw[k];
  if (event.quiet) return el("span", { class: "far" }, raw.trim().slice(0, LINE_SHOWN));
  const parts = (event.fragments || []).map((one) => fragmentLine(app, one, hot)).filter((part) => part.length);
  if (!parts.length) return el("span", { class: "far" }, raw.replace(/^data: ?/, "").trim().slice(0, LINE_SHOWN));
  return parts.flatMap((part, at) => (at ? ["  ", ...part] : part));
}

function fragmentLine(app, one, hot) {
  const key = (word) => el("span", { class: "k" }, word);
  if (isCall(one)) return callLine(app, one, hot);
  if (one.text !== undefined) return [el("span", { class: "args" }, visible(one.text))];
  if (one.finish !== undefined) return [el("span", { class: hot.has("finish_reason") ? "hot" : null }, key("finish "), one.finish || '""')];
  if (one.error !== undefined) return [el("span", { class: "hot" }, `error ${visible(one.error)}`)];
  return [key("end of stream")];
}

function callLine(app, one, hot) {
  const out = [];
  if (one.phase) out.push(el("span", { class: "k" }, `${one.phase} `));
  for (const key of ["name", "id", "item_id", "index"]) {
    if (one[key] === undefined) { if (hot.has(key)) out.push(el("span", { class: "hot" }, `${key} absent`), " "); continue; }
    if (key === "index" && !hot.has(key) && app.response.calls.length < 2) continue;
    out.push(el("span", { class: hot.has(key) ? "hot" : null }, el("span", { class: "k" }, `${key} `), el("span", { class: "v" }, JSON.stringify(shortId(one[key])))), " ");
  }
  if (one.arguments !== undefined) out.push(el("span", { class: hot.has("arguments") ? "hot" : "args" }, one.arguments === "" ? '""' : visible(typeof one.arguments === "string" ? one.arguments : JSON.stringify(one.arguments))));
  return out;
}

/** The event's text, from the part that matters. */
function rawLine(app, k) {
  const text = prepared(app.response).raw[k].trimEnd().slice(0, RAW_SHOWN), tokens = marked(tokensOf(text), app.response.pointers, app.hotKeys(k));
  const near = tokens.findIndex((one) => one.near), hot = tokens.findIndex((one) => one.hot), start = hot > near + 6 ? hot : near;
  const from = start > 2 ? start - 1 : 0;
  const look = (one) => (one.hot ? "hot" : !one.near ? "far" : one.kind === "string" ? "args" : "v");
  return [from ? el("span", { class: "far" }, "… ") : null, ...tokens.slice(from, from + RAW_TOKENS).map((one) => el("span", { class: look(one) }, visible(text.slice(one.s, one.e))))];
}

/** Text with visible line ends, on one line. */
function visible(text) { return String(text).replace(/\n/g, "⏎").replace(/\t/g, "⇥"); }

/** A long id without its middle. */
function shortId(value) { return typeof value === "string" && value.length > ID_SHOWN ? `${value.slice(0, 11)}…${value.slice(-7)}` : value; }
