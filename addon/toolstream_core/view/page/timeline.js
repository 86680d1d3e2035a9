// The timeline: lanes as sent and as a client model interprets them, zoom, the cursor.

const LANE = 21, HEAD = 52, PLOT_LEFT = 10, PLOT_RIGHT = 14, THEIR_LANES = 4, PAPER_WIDTH = 520;

class Timeline {
  constructor(app) {
    Object.assign(this, { app, plot: $("plot"), canvas: $("plot").querySelector("canvas"), overview: $("overview"), small: $("overview").querySelector("canvas"), lanes: [], colours: {}, from: 0, to: 1, total: 1, width: 0, axis: "time", pending: 0 });
    connectPlot(this);
    connectOverview(this);
    new ResizeObserver(() => { if (app.response && this.plot.clientWidth !== this.width) this.draw(); }).observe(this.plot);
    addEventListener("beforeprint", () => this.print());
    addEventListener("afterprint", () => this.afterPrint());
  }

  get ready() { return prepared(this.app.response); }
  /** An event's place on the axis: milliseconds, or its row. */
  value(k) { return this.axis === "time" ? this.ready.ms[k] : k; }
  x(value) { return PLOT_LEFT + (value - this.from) / (this.to - this.from) * (this.width - PLOT_LEFT - PLOT_RIGHT); }
  xOf(k) { return this.x(this.value(k)); }
  valueAt(px) { return this.from + (px - PLOT_LEFT) / (this.width - PLOT_LEFT - PLOT_RIGHT) * (this.to - this.from); }
  get height() { return HEAD + this.lanes.length * LANE + 4; }

  /** Shows a response from its beginning to its end. */
  show() {
    // All events at one time are told apart only on the axis of events.
    const { app, ready } = this, timed = app.response.timed && (ready.ms[ready.count - 1] > 0 || app.response.state === "live");
    this.axis = timed ? app.axis : "event";
    $("axis-time").disabled = !timed;
    $("axis-time").title = timed ? "" : "No times, or one time for all events, were recorded for this response";
    press("axis-time", this.axis === "time");
    press("axis-event", this.axis === "event");
    this.total = Math.max(this.axis === "time" ? ready.ms[ready.count - 1] || 1 : ready.count - 1, 1);
    Object.assign(this, { from: 0, to: this.total });
    this.relane();
  }

  /** As `show`, for a response that grew: a chosen range stays. */
  grow() {
    const whole = this.whole, { from, to } = this;
    this.show();
    if (!whole) this.zoom(from, to);
  }

  get whole() { return this.from <= 0 && this.to >= this.total; }

  /** Lays out the lanes again, for another client model. */
  relane() {
    this.lanes = timelineLanes(this.app);
    $("labels").replaceChildren(el("div", { class: "head first" }, el("span", {}, "as sent")), ...this.lanes.map(laneLabelRow));
    this.draw();
  }

  draw() {
    this.plot.style.height = `${this.height}px`;
    this.width = this.plot.clientWidth;
    this.colours = palette();
    this.paint();
    drawOverview(this);
    this.placeCursor();
  }

  paint() {
    drawPlot(this);
    this.placeDivergence();
    this.placeWindow();
  }

  zoom(a, b) {
    const least = Math.min(this.total, this.axis === "time" ? 4 : 6), size = Math.min(this.total, Math.max(least, b - a));
    this.from = Math.max(0, Math.min(this.total - size, a));
    this.to = this.from + size;
    this.pending ||= requestAnimationFrame(() => { this.pending = 0; this.paint(); this.placeCursor(); });
  }

  /** Zooms around a place on the axis, else around the selected event. */
  zoomBy(factor, around = this.value(this.app.row)) {
    const centre = around >= this.from && around <= this.to ? around : (this.from + this.to) / 2, from = centre - (centre - this.from) * factor;
    this.zoom(from, from + (this.to - this.from) * factor);
  }

  all() { this.zoom(0, this.total); }

  /** Moves to the selected event, with the range around it. */
  move() {
    const { app, plot, ready } = this;
    if (ready.count) {
      const value = this.value(app.row), half = (this.to - this.from) / 2;
      if (value < this.from || value > this.to) this.zoom(value - half, value + half);
      plot.setAttribute("aria-valuemax", String(ready.last));
      plot.setAttribute("aria-valuenow", String(ready.number[app.row]));
      plot.setAttribute("aria-valuetext", app.words(app.row));
    }
    this.placeCursor();
  }

  placeCursor() {
    const { app, ready } = this, cursor = $("cursor"), value = ready.count ? this.value(app.row) : -1;
    cursor.hidden = value < this.from || value > this.to;
    if (cursor.hidden) return;
    const at = this.x(value), diverges = app.divergence(), near = diverges === null ? Infinity : Math.abs(this.xOf(diverges) - at);
    cursor.style.left = `${at / this.width * 100}%`;
    cursor.dataset.label = String(ready.number[app.row]);
    cursor.classList.toggle("flip", at > this.width - 60);
    cursor.classList.toggle("low", near < 110 && (at > this.width - 60 || near > 1 || $("divergence").classList.contains("flip")));
  }

  placeDivergence() {
    const row = this.app.divergence(), at = row === null ? -1 : this.xOf(row), mark = $("divergence");
    mark.hidden = at < 0 || at > this.width;
    mark.style.left = `${at / this.width * 100}%`;  // a share of the width, which also holds in print
    mark.classList.toggle("flip", at < 100);
  }

  placeWindow() {
    const { whole } = this, { style } = $("window"), width = this.overview.clientWidth - PLOT_LEFT - PLOT_RIGHT;
    style.left = whole ? "0" : `${PLOT_LEFT + this.from / this.total * width}px`;
    style.width = whole ? "100%" : `${Math.max(4, (this.to - this.from) / this.total * width)}px`;
    $("window").classList.toggle("whole", whole);
    $("zoom-all").disabled = $("zoom-out").disabled = whole;
  }

  /** Paper is light and has its own width. */
  print() {
    if (!this.app.response) return;
    this.theme = document.documentElement.dataset.theme || "";
    document.documentElement.dataset.theme = "light";
    this.colours = palette();
    this.width = PAPER_WIDTH;
    this.paint();
    this.placeCursor();
  }

  afterPrint() {
    if (this.theme) document.documentElement.dataset.theme = this.theme; else delete document.documentElement.dataset.theme;
    if (this.app.response) this.draw();
  }
}

/** The lanes of a response: as sent, then as the chosen client model reads it, unless that is the same. */
function timelineLanes(app) {
  const { response } = app, reading = app.reading();
  const out = prepared(response).lanes.map((name) => ({ name, kind: "sent", label: laneLabel(response, name) }));
  if (!reading || (reading.same && !violatesProtocol(app.response))) return out;
  const theirs = traceLanes(response, reading.steps), shown = theirs.length > THEIR_LANES ? theirs.slice(0, THEIR_LANES - 1) : theirs;
  out.push({ kind: "head", label: `read by ${app.modelName(reading.model)}` });
  for (const lane of shown) out.push({ ...lane, kind: "theirs", label: `call ${lane.place}${lane.name ? ` ${lane.name}` : ""}` });
  const rest = theirs.slice(shown.length);
  if (rest.length) out.push({ kind: "theirs", many: true, events: rest.flatMap((lane) => lane.events), label: counted(rest.length, "more call") });
  return out;
}

function laneLabelRow(lane) {
  if (lane.kind === "head") return el("div", { class: "head" }, el("span", {}, lane.label));
  const call = lane.kind === "theirs" || laneKind(lane.name) === "call";
  return el("div", { class: `${call ? "call" : ""}${lane.dropped ? " dropped" : ""}`, title: lane.dropped || lane.label },
    el("i", lane.kind === "theirs" ? { class: "theirs" } : { style: { "--c": `var(--${laneColour(lane.name)})` } }),
    el("span", {}, lane.label), lane.dropped ? el("em", {}, "dropped") : null);
}
