// The state of the page: which response, event and client model are shown. Everything else draws it.

const REMEMBER_MS = 150;

const app = {
  doc: null, at: 0, row: 0, model: "protocol", axis: "time", find: "", only: "all", folds: true, rawLines: false, indent: false, complete: false, form: "run", following: true, address: {},

  get response() { return this.doc && this.doc.responses[this.at]; },

  /** The reading of the chosen client model; the protocol's where this response has none of the model. */
  reading() {
    const readings = readingsOf(this.response);
    return readings.get(this.model) || readings.get("protocol");
  },

  /** The event that the chosen model first interprets differently, and the value; without readings the verdict's. */
  diverges() {
    const reading = this.reading(), { understood, event, value = "" } = this.response.verdict;
    if (reading) return reading.diverges || null;
    return understood === false && Number.isInteger(event) ? { event, value } : null;
  },

  /** The row of the first event that is interpreted differently, or null. */
  divergence() {
    const diverges = this.diverges();
    return diverges && rowFor(prepared(this.response), diverges.event);
  },

  modelName(name) {
    if (name === this.response.readings.client) return "this client";
    if (name === "protocol") return "the protocol";
    const about = this.doc.models[name];
    return about.client ? clientName(about) : about.projects[0] || "this client model";
  },

  /** Keys of an event that a finding, or the first difference, is about. */
  hotKeys(k) {
    const found = prepared(this.response).findings.get(k) || [], keys = new Set(found.flatMap((one) => one.keys || []));
    const value = k === this.divergence() ? this.diverges().value : "";
    if (value && /\bid\b|^"|^absent|^null/.test(value)) keys.add("id");
    if (value && /\bindex\b/.test(value)) keys.add("index");
    return keys;
  },

  /** An event in words, for screen readers and tooltips. */
  words(k) {
    const { response } = this, ready = prepared(response), event = response.events[k];
    if (!event) return "";
    const content = (event.fragments || []).map((one) => fragmentWords(response, one)).join(", ") || (event.quiet ? "comment" : "no content");
    const found = (ready.findings.get(k) || []).map((one) => `${one.severity} ${one.name}`);
    return [timeOf(response, k), content, ...found, k === this.divergence() ? "diverges here" : ""].filter(Boolean).join("; ");
  },

  /** Shows a response: at an event, else at the first difference, the first finding, or the first call. */
  show(at, { row = null, model = null, patched = false } = {}) {
    this.at = Math.max(0, Math.min(this.doc.responses.length - 1, at));
    const { response } = this, ready = prepared(response);
    this.model = model && model !== "intended" && readingsOf(response).has(model) ? model : clientModel(response);
    Object.assign(this, { find: "", only: "all" });
    $("find").value = "";
    this.row = row === null ? this.firstRow() : Math.min(row, Math.max(0, ready.count - 1));
    for (const one of document.querySelectorAll(".turn")) one.setAttribute("aria-current", String(Number(one.dataset.response) === this.at));
    const current = document.querySelector('.turn[aria-current="true"]');
    if (current) current.scrollIntoView({ block: "nearest" });
    $("show-changed").hidden = !response.changed;
    $("app").classList.toggle("one-body", response.streamed === false);
    this.showSpan();
    drawVerdict(this);
    this.timeline.show();
    this.list.rebuild({ reset: true });
    this.interpretation.build();
    this.showFilters();
    this.go(this.row, { centre: true, unfold: false, patched });
  },

  firstRow() {
    const { response } = this, { findings } = prepared(response);
    return this.divergence() ?? (findings.size ? Math.min(...findings.keys()) : Math.max(0, response.events.findIndex((event) => (event.fragments || []).some(isCall))));
  },

  showSpan() {
    const { response } = this, ready = prepared(response);
    $("span").textContent = ready.count ? [counted(ready.count, "event"), response.timed ? duration(ready.ms[ready.count - 1]) : "no times recorded", byteCount(response.bytes || 0)].join(" · ") : "";
  },

  /** Selects an event by its row. Timeline, list, text and interpretation follow. */
  go(row, { centre = false, unfold = true, patched = false } = {}) {
    const ready = prepared(this.response);
    this.row = Math.max(0, Math.min(ready.count - 1, row));
    if (this.doc.generated.live && !patched) live.follow(this.at === this.doc.responses.length - 1 && this.row >= ready.count - 1);
    if (ready.count) this.list.reveal({ unfold, centre });
    this.timeline.move();
    this.interpretation.update();
    drawDetail(this);
    this.remember();
  },

  goEvent(event) {
    this.go(rowFor(prepared(this.response), event), { centre: true });
    $("events-list").focus({ preventScroll: true });
  },

  goDivergence() {
    const row = this.divergence();
    if (row !== null) this.go(row, { centre: true });
  },

  step(by) {
    this.go(this.row + by);
    announce(this.words(this.row));
  },

  /** The next finding or first difference, forwards or backwards. */
  goFinding(by) {
    const { findings } = prepared(this.response), at = this.divergence(), rows = [...new Set([...findings.keys(), ...(at === null ? [] : [at])])].sort((a, b) => (a - b) * by);
    const next = rows.find((row) => (row - this.row) * by > 0);
    if (next === undefined) { announce(by > 0 ? "No finding after this event" : "No finding before this event"); return; }
    this.go(next, { centre: true });
    announce(this.words(next));
  },

  goMisread() {
    const { responses } = this.doc, next = responses.map((_, k) => (this.at + 1 + k) % responses.length).find((at) => responses[at].verdict.understood === false);
    if (next !== undefined) this.show(next);
  },

  readAs(model) {
    this.model = model;
    this.timeline.relane();
    this.list.rebuild();
    const at = this.divergence();
    this.go(at ?? this.row, { centre: at !== null });
  },

  filter() {
    this.list.rebuild();
    this.list.reveal({ centre: true });
    this.showFilters();
  },

  showFilters() {
    for (const one of document.querySelectorAll("[data-show]")) one.setAttribute("aria-pressed", String(one.dataset.show === this.only));
    press("raw", this.rawLines);
    press("fold", this.folds);
  },

  setAxis(axis) {
    if (!this.response.timed) return;
    this.axis = axis;
    this.timeline.show();
  },

  /** Keeps response, event and client model in the address. */
  remember() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => {
      const wanted = new URLSearchParams({ ...this.address, r: this.at, e: prepared(this.response).number[this.row] ?? 0 });
      if (this.response.readings && this.model !== clientModel(this.response)) wanted.set("as", this.model);
      try { history.replaceState(null, "", `#${wanted}`); } catch { /* not every place allows it */ }
    }, REMEMBER_MS);
  },
};

function fragmentWords(response, one) {
  if (one.text !== undefined) return `${one.lane} “${one.text}”`;
  if (one.finish !== undefined) return `finish ${one.finish}`;
  if (one.error !== undefined) return `error ${one.error}`;
  if (one.end) return "end of stream";
  return [laneLabel(response, one.lane), ...["id", "name", "arguments"].filter((key) => one[key] !== undefined).map((key) => `${key} ${JSON.stringify(one[key])}`)].join(" ");
}
