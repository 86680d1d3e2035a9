// What the timeline draws on its canvases.

const OVERVIEW_HEIGHT = 20, FONT = 11, GRADE_COLOUR = { error: "bad", warning: "warn", note: "note" };
const SANS = getComputedStyle(document.body).fontFamily;

/** A canvas for so many CSS pixels, cleared. */
function inkOf(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2), ink = canvas.getContext("2d");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  ink.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ink;
}

function line(ink, [x1, y1, x2, y2], colour, { alpha = 1, wide = 1 } = {}) {
  Object.assign(ink, { globalAlpha: alpha, strokeStyle: colour, lineWidth: wide });
  ink.beginPath();
  ink.moveTo(Math.round(x1) + .5, Math.round(y1) + .5);
  ink.lineTo(Math.round(x2) + .5, Math.round(y2) + .5);
  ink.stroke();
  ink.globalAlpha = 1;
}

function write(ink, text, x, y, colour, { align = "left", weight = 400 } = {}) {
  Object.assign(ink, { font: `${weight} ${FONT}px ${SANS}`, fillStyle: colour, textAlign: align });
  ink.fillText(text, x, y);
}

function drawPlot(view) {
  const { lanes, width, height, colours, ready } = view, ink = inkOf(view.canvas, width, height);
  if (view.axis === "time") drawStalls(ink, view);
  drawAxis(ink, view);
  lanes.forEach((lane, place) => {
    const middle = HEAD + place * LANE + LANE / 2;
    if (lane.kind === "head") { line(ink, [0, middle + 5, width, middle + 5], colours.line); return; }
    line(ink, [0, middle + LANE / 2, width, middle + LANE / 2], colours.line, { alpha: .6 });
    if (lane.kind === "theirs") drawTheirLane(ink, view, lane, middle); else drawSentLane(ink, view, lane, middle);
  });
  drawFinishes(ink, view);
  if (view.app.response.state === "truncated" && ready.count) drawTear(ink, view);
  drawFindings(ink, view);
}

function drawStalls(ink, view) {
  const { ready, width, height, colours } = view;
  for (const [row, gap] of ready.stalls) {
    const a = view.xOf(row - 1), b = view.xOf(row);
    if (b < 0 || a > width || b - a < 4) continue;
    ink.save();
    ink.beginPath();
    ink.rect(a + 2, HEAD, b - a - 4, height - HEAD);
    ink.clip();
    ink.fillStyle = colours.stall;
    ink.fill();
    Object.assign(ink, { strokeStyle: colours.line, lineWidth: 1 });
    ink.beginPath();
    for (let at = Math.max(a, 0) - height; at < Math.min(b, width); at += 7) { ink.moveTo(at, height); ink.lineTo(at + height, 0); }
    ink.stroke();
    ink.restore();
    const label = b - a > 130 ? `no event for ${duration(gap)}` : b - a > 48 ? duration(gap) : "";
    write(ink, label, (a + b) / 2, 28, colours.warn, { align: "center", weight: 600 });
  }
}

function drawAxis(ink, view) {
  const { from, to, width, height, colours, axis } = view, step = niceStep((to - from) / Math.max(2, width / 110));
  for (let value = Math.ceil(from / step) * step; value <= to + 1e-9; value += step) {
    const at = view.x(value);
    line(ink, [at, HEAD - 4, at, height], colours.line, { alpha: .6 });
    if (at > 12 && at < width - 16) write(ink, axis === "time" ? clock(value) : String(Math.round(value)), at, 44, colours.quiet, { align: "center" });
  }
  line(ink, [0, HEAD - 4, width, HEAD - 4], colours.line);
}

function clock(ms) { return ms < 60000 ? duration(ms).replace(/\.?0+ s$/, " s") : `${Math.floor(ms / 60000)}:${String(Math.round(ms % 60000 / 1000)).padStart(2, "0")} min`; }

/** A lane as sent: its stretches, a tick for each event; a call has a head and an end. */
function drawSentLane(ink, view, lane, middle) {
  const { colours } = view, { response } = view.app, call = laneKind(lane.name) === "call", colour = colours[laneColour(lane.name)];
  const rows = rowsOfLane(response, lane.name);
  if (!rows.length) return;
  const spans = call ? [[rows[0], rows[rows.length - 1]]] : stretches(rows);
  for (const [a, b] of spans) drawBar(ink, view, a, b, middle, colour);
  drawTicks(ink, view, rows.map((row) => [row, colour]), middle);
  if (!call) return;
  drawHead(ink, view.xOf(rows[0]), middle, colour, colours.panel);
  if (response.state === "live") return;
  const meant = response.calls[callPlace(lane.name)], complete = !!meant && meant.complete;
  drawTail(ink, view.xOf(spans[0][1]), middle, complete ? colour : colours.bad, complete);
}

const laneRows = new WeakMap();

/** The rows with a fragment in a lane. */
function rowsOfLane(response, name) {
  const ready = prepared(response);
  if (!laneRows.has(ready)) {
    const lanes = new Map();
    response.events.forEach((event, row) => { for (const lane of new Set((event.fragments || []).map((one) => one.lane))) push(lanes, lane, row); });
    laneRows.set(ready, lanes);
  }
  return laneRows.get(ready).get(name) || [];
}

/** Rows one after another as [first, last]. */
function stretches(rows) {
  const out = [];
  for (const row of rows) {
    const last = out[out.length - 1];
    if (last && row === last[1] + 1) last[1] = row; else out.push([row, row]);
  }
  return out;
}

function drawBar(ink, view, a, b, middle, colour, alpha = .16) {
  const from = view.xOf(a), to = view.xOf(b);
  Object.assign(ink, { globalAlpha: alpha, fillStyle: colour });
  ink.fillRect(from - 1, middle - 6, Math.max(3, to - from + 2), 12);
  ink.globalAlpha = 1;
}

/** A tick for each [row, colour], at most one for each pixel. */
function drawTicks(ink, view, rows, middle) {
  let before = -9;
  for (const [row, colour] of rows) {
    const at = view.xOf(row);
    if (at < -2 || at > view.width + 2 || Math.abs(at - before) < .6) continue;
    before = at;
    ink.fillStyle = colour;
    ink.fillRect(at - .75, middle - 5, 1.5, 10);
  }
}

function drawHead(ink, at, middle, colour, fill) {
  ink.beginPath();
  ink.arc(at, middle, 4.5, 0, 7);
  Object.assign(ink, { fillStyle: fill, lineWidth: 2, strokeStyle: colour });
  ink.fill();
  ink.stroke();
}

function drawTail(ink, at, middle, colour, complete) {
  const points = complete ? [[4, -6], [4, 6]] : [[3, -7], [6, -2.5], [2, 2], [5, 7]];
  Object.assign(ink, { lineWidth: 2, strokeStyle: colour });
  ink.beginPath();
  for (const [x, y] of points) ink.lineTo(at + x, middle + y);
  ink.stroke();
}

/** A lane of the client model. Fragments keep the colour of the call for which they were sent. */
function drawTheirLane(ink, view, lane, middle) {
  const { colours } = view, rows = lane.events.map(([row, name]) => [row, colours[laneColour(name)]]);
  if (!rows.length) return;
  if (!lane.many) {
    const [[first, colour]] = rows, [last] = rows[rows.length - 1];
    drawBar(ink, view, first, last, middle, lane.dropped ? colours.bad : colour, lane.dropped ? .1 : .16);
    if (lane.dropped) line(ink, [view.xOf(first) - 4, middle, view.xOf(last) + 8, middle], colours.bad, { wide: 1.5 });
    drawTicks(ink, view, rows, middle);
    drawHead(ink, view.xOf(first), middle, lane.dropped ? colours.bad : colour, colours.panel);
  } else drawTicks(ink, view, rows, middle);
}

/** Finish reasons and errors, with their words where no finding is in the way. */
function drawFinishes(ink, view) {
  const { ready, width, height, colours } = view, taken = [...ready.findings.keys()].map((row) => view.xOf(row));
  for (const row of rowsOfLane(view.app.response, "stream")) for (const one of view.app.response.events[row].fragments) {
    if (!one.finish && one.error === undefined) continue;
    const at = view.xOf(row), left = at < 120;
    const free = one.finish && !taken.some((other) => at - other > -8 && at - other < 104);
    if (free) taken.push(at);
    if (free) write(ink, `finish ${one.finish}`, left ? at - 2 : Math.min(at + 2, width - 4), 28, colours.quiet, { align: left ? "left" : "right" });
    line(ink, [at, HEAD - 18, at, height], one.error !== undefined ? colours.bad : colours.faint, { alpha: .8 });
  }
}

/** A torn edge behind the last event of a truncated response. */
function drawTear(ink, view) {
  const { height, colours } = view, at = view.xOf(view.ready.count - 1) + 9;
  Object.assign(ink, { strokeStyle: colours.bad, lineWidth: 1.5 });
  ink.beginPath();
  for (let y = HEAD - 4, side = 2.5; y <= height; y += 6, side = -side) ink.lineTo(at + side, y);
  ink.stroke();
}

function drawFindings(ink, view) {
  for (const [row, found] of view.ready.findings) {
    const at = view.xOf(row), worst = worstOf(found), colour = view.colours[GRADE_COLOUR[worst]];
    if (at < -8 || at > view.width + 8) continue;
    drawSign(ink, at, 24, worst, colour);
    line(ink, [at, 30, at, HEAD - 4], colour, { alpha: .9 });
  }
}

function drawSign(ink, x, y, grade, colour) {
  ink.fillStyle = colour;
  ink.beginPath();
  if (grade === "error") ink.rect(x - 4.5, y - 4.5, 9, 9);
  else if (grade === "warning") for (const [dx, dy] of [[0, -5.5], [5.5, 4.5], [-5.5, 4.5]]) ink.lineTo(x + dx, y + dy);
  else ink.arc(x, y, 4.5, 0, 7);
  ink.fill();
}

/** How many events there are at each place, in the lanes' colours, and the findings. */
function drawOverview(view) {
  const { ready, colours } = view, width = view.overview.clientWidth, ink = inkOf(view.small, width, OVERVIEW_HEIGHT), buckets = new Map();
  const x = (k) => PLOT_LEFT + view.value(k) / view.total * (width - PLOT_LEFT - PLOT_RIGHT);
  for (let k = 0; k < ready.count; k++) {
    const place = Math.round(x(k)), bucket = buckets.get(place) || buckets.set(place, new Map()).get(place);
    bucket.set(ready.lane[k], (bucket.get(ready.lane[k]) || 0) + 1);
  }
  const most = Math.max(1, ...[...buckets.values()].map((bucket) => [...bucket.values()].reduce((sum, count) => sum + count, 0)));
  ink.globalAlpha = .85;
  for (const [place, bucket] of buckets) {
    let y = OVERVIEW_HEIGHT;
    for (const [lane, count] of bucket) {
      const tall = Math.max(2, count / most * 17);
      ink.fillStyle = colours[laneColour(lane)];
      ink.fillRect(place - .5, y - tall, 1.5, tall);
      y -= tall;
    }
  }
  ink.globalAlpha = 1;
  for (const [row, found] of ready.findings) {
    ink.fillStyle = colours[GRADE_COLOUR[worstOf(found)]];
    ink.fillRect(x(row) - 1.5, 0, 3, 4);
  }
}
