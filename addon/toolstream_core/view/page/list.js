// The list of events. Rows have one height; only those in sight exist.

const ROW_HEIGHT = 24, MARGIN = 8, PAGE_ROWS = 12, PRINTED_ROWS = 600;

class EventList {
  constructor(app) {
    Object.assign(this, { app, box: $("events-list"), holder: $("rows"), rows: [], open: new Set(), made: new Map(), first: -1, last: -1, queued: 0 });
    this.box.addEventListener("scroll", () => { this.queued ||= requestAnimationFrame(() => { this.queued = 0; this.paint(); }); }, { passive: true });
    this.box.addEventListener("click", (event) => this.click(event.target.closest(".row")));
    new ResizeObserver(() => { if (app.response) this.paint(true); }).observe(this.box);
    addEventListener("beforeprint", () => this.print());
    addEventListener("afterprint", () => this.paint(true));
  }

  rebuild({ reset = false } = {}) {
    if (reset) this.open = new Set();
    const { app } = this, ready = prepared(app.response), at = app.divergence();
    const keep = new Set(at === null ? [] : [at - 1, at, at + 1]);
    this.rows = listRows(app.response, { open: this.open, keep, folds: app.folds, match: this.matcher(ready) });
    $("spacer").style.height = `${this.rows.length * ROW_HEIGHT}px`;
    const left = this.rows.reduce((sum, row) => sum + lastOf(row) - firstOf(row) + 1, 0);
    $("shown").textContent = left === ready.count ? counted(ready.count, "event") : `${left.toLocaleString("en")} of ${counted(ready.count, "event")}`;
    this.paint(true);
  }

  /** Which rows the filters let through; null for all. */
  matcher(ready) {
    const { app } = this, text = app.find.toLowerCase(), at = app.divergence();
    if (!text && app.only === "all") return null;
    const kinds = {
      all: () => true,
      calls: (k) => laneKind(ready.lane[k]) === "call" || ready.lane[k] === "stream",
      findings: (k) => ready.findings.has(k) || k === at,
      changed: (k) => app.response.events[k].received !== undefined,
    };
    return (k) => (!text || ready.raw[k].toLowerCase().includes(text)) && kinds[app.only](k);
  }

  /** Puts the rows in sight into the page. */
  paint(force = false) {
    const top = this.box.scrollTop, from = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN);
    const to = Math.min(this.rows.length, Math.ceil((top + this.box.clientHeight) / ROW_HEIGHT) + MARGIN);
    if (!force && from === this.first && to === this.last) return;
    const before = force ? new Map() : this.made;
    Object.assign(this, { first: from, last: to, made: new Map() });
    for (let place = from; place < to; place++) this.made.set(place, before.get(place) || this.rowAt(place));
    this.holder.replaceChildren(...this.made.values());
    this.holder.style.transform = `translateY(${from * ROW_HEIGHT}px)`;
    if (!this.rows.length) this.holder.replaceChildren(el("p", { class: "blank", role: "option", "aria-selected": "false" }, this.app.response.events.length ? "No event matches the filter." : "No events: the response has no readable body."));
    this.mark();
  }

  rowAt(place) {
    const row = this.rows[place], node = typeof row === "number" ? eventRow(this.app, row) : foldRow(this.app, row);
    node.id = `row-${place}`;
    node.setAttribute("role", "option");
    node.setAttribute("aria-setsize", this.rows.length);
    node.setAttribute("aria-posinset", place + 1);
    node.dataset.place = place;
    return node;
  }

  /** Marks the selected event's row. */
  mark() {
    const place = placeOf(this.rows, this.app.row);
    for (const [at, node] of this.made) node.setAttribute("aria-selected", String(at === place));
    if (this.made.has(place)) this.box.setAttribute("aria-activedescendant", `row-${place}`); else this.box.removeAttribute("aria-activedescendant");
  }

  /** Scrolls to the selected event; with `unfold` it opens the fold around it. */
  reveal({ unfold = false, centre = false } = {}) {
    let place = placeOf(this.rows, this.app.row);
    if (unfold && place >= 0 && typeof this.rows[place] !== "number") {
      this.open.add(this.rows[place][0]);
      this.rebuild();
      place = placeOf(this.rows, this.app.row);
    }
    const { box } = this, top = place * ROW_HEIGHT, height = box.clientHeight;
    if (place >= 0 && centre) box.scrollTop = top - height / 2 + ROW_HEIGHT / 2;
    else if (place >= 0 && top < box.scrollTop) box.scrollTop = top - ROW_HEIGHT * 2;
    else if (place >= 0 && top + ROW_HEIGHT > box.scrollTop + height) box.scrollTop = top + ROW_HEIGHT * 3 - height;
    this.paint();
    this.mark();
  }

  /** Moves by rows of the list; a folded run is one row. */
  moveRows(by) {
    const { rows, app } = this;
    let place = placeOf(rows, app.row);
    if (place < 0) place = rows.findIndex((row) => firstOf(row) > app.row) - (by > 0 ? 1 : 0);
    const next = rows[Math.max(0, Math.min(rows.length - 1, place + by))];
    if (next !== undefined) app.go(firstOf(next), { unfold: false });
  }

  unfold() {
    const row = this.rows[placeOf(this.rows, this.app.row)];
    if (row !== undefined && typeof row !== "number") this.reveal({ unfold: true });
  }

  click(node) {
    if (node) this.app.go(firstOf(this.rows[Number(node.dataset.place)]));
  }

  /** On paper all rows exist, up to a limit. */
  print() {
    const nodes = this.rows.slice(0, PRINTED_ROWS).map((_, place) => this.rowAt(place)), left = this.rows.length - PRINTED_ROWS;
    if (left > 0) nodes.push(el("p", { class: "more" }, `and ${counted(left, "more row")}`));
    this.holder.replaceChildren(...nodes);
  }
}

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
