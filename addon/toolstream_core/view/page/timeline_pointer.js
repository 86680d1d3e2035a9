// Pointers on the timeline: a click selects an event, a drag zooms into a range.

const DRAG = 5, MARK_REACH = 12, LANE_REACH = 9, LANE_STEPS = 60, HOVER_REACH = 40;

function connectPlot(timeline) {
  const { plot, app } = timeline, brush = $("brush"), hover = $("hover");
  let began = null;
  const local = (event) => { const box = plot.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  plot.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    began = local(event);
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    const [x, y] = local(event);
    if (!began) { showHover(timeline, x, y); return; }
    if (brush.hidden && Math.abs(x - began[0]) <= DRAG) return;
    brush.hidden = false;
    hover.hidden = true;
    brush.style.left = `${Math.min(x, began[0])}px`;
    brush.style.width = `${Math.abs(x - began[0])}px`;
  });
  plot.addEventListener("pointerup", (event) => {
    if (!began) return;
    const [x, y] = local(event), [from] = began, dragged = !brush.hidden;
    began = null;
    brush.hidden = true;
    if (dragged) timeline.zoom(timeline.valueAt(Math.min(from, x)), timeline.valueAt(Math.max(from, x)));
    else if (timeline.ready.count) app.go(hitRow(timeline, x, y));
  });
  plot.addEventListener("pointercancel", () => { began = null; brush.hidden = true; });
  plot.addEventListener("pointerleave", () => { hover.hidden = true; });
  plot.addEventListener("dblclick", () => timeline.all());
  plot.addEventListener("wheel", (event) => wheel(timeline, event, local(event)[0]), { passive: false });
}

function wheel(timeline, event, x) {
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    timeline.zoomBy(Math.exp(event.deltaY * .004), timeline.valueAt(x));
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !timeline.whole) {
    event.preventDefault();
    const by = event.deltaX / timeline.width * (timeline.to - timeline.from);
    timeline.zoom(timeline.from + by, timeline.to + by);
  }
}

function nearestRow(timeline, x) {
  const { ready } = timeline, value = timeline.valueAt(x);
  let low = 0, high = ready.count - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeline.value(middle) < value) low = middle + 1; else high = middle;
  }
  return low > 0 && value - timeline.value(low - 1) < timeline.value(low) - value ? low - 1 : low;
}

/** The row under the pointer: above the lanes a finding, in a lane an event of this lane if one is close. */
function hitRow(timeline, x, y) {
  const { ready } = timeline, near = nearestRow(timeline, x), lane = timeline.lanes[Math.floor((y - HEAD) / LANE)];
  let best = near, reach = y < HEAD ? MARK_REACH : LANE_REACH;
  const closer = (row) => {
    const away = Math.abs(timeline.xOf(row) - x);
    if (away < reach) { best = row; reach = away; }
  };
  if (y < HEAD) for (const row of ready.findings.keys()) closer(row);
  else if (lane && lane.name) for (let row = Math.max(0, near - LANE_STEPS); row < Math.min(ready.count, near + LANE_STEPS); row++) if (ready.lane[row] === lane.name) closer(row);
  return best;
}

function showHover(timeline, x, y) {
  const { app, ready, width, plot } = timeline, hover = $("hover");
  if (!ready.count) return;
  const k = hitRow(timeline, x, y), found = y < HEAD ? ready.findings.get(k) : null;
  hover.textContent = spelled(found ? found.map((one) => `${one.name}: ${one.message}`).join("\n") : `${ready.number[k]}  ${app.words(k)}`);
  hover.hidden = Math.abs(timeline.xOf(k) - x) > HOVER_REACH;
  const wide = Math.min(hover.offsetWidth, width - 8), below = y + 16 + hover.offsetHeight <= plot.clientHeight;
  hover.style.left = `${Math.max(4, Math.min(width - wide - 4, x + 12))}px`;
  hover.style.top = `${below ? y + 16 : Math.max(0, y - hover.offsetHeight - 8)}px`;
}

/** The overview: a drag moves the window or one of its edges; elsewhere it makes a new window. */
function connectOverview(timeline) {
  const { overview } = timeline;
  let grip = null;
  const valueOf = (event) => (event.clientX - grip.left - PLOT_LEFT) / grip.width * timeline.total;
  const drags = {
    window: (value) => timeline.zoom(grip.from + value - grip.value, grip.to + value - grip.value),
    left: (value) => timeline.zoom(Math.min(value, grip.to), grip.to),
    right: (value) => timeline.zoom(grip.from, Math.max(value, grip.from)),
    new: (value) => { if (Math.abs(value - grip.value) / timeline.total * grip.width > DRAG) timeline.zoom(Math.min(value, grip.value), Math.max(value, grip.value)); },
  };
  overview.addEventListener("pointerdown", (event) => {
    const box = overview.getBoundingClientRect();
    grip = { drag: drags[event.target.dataset.drag || "new"], from: timeline.from, to: timeline.to, width: box.width - PLOT_LEFT - PLOT_RIGHT, left: box.left };
    grip.value = valueOf(event);
    overview.setPointerCapture(event.pointerId);
  });
  overview.addEventListener("pointermove", (event) => { if (grip) grip.drag(valueOf(event)); });
  for (const name of ["pointerup", "pointercancel"]) overview.addEventListener(name, () => { grip = null; });
}
