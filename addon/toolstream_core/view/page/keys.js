// The keyboard.

const LETTERS = {
  g: () => app.goDivergence(), n: () => app.goFinding(1), p: () => app.goFinding(-1),
  j: () => app.show(app.at + 1), k: () => app.show(app.at - 1), w: () => app.goMisread(),
  "+": () => app.timeline.zoomBy(.5), "=": () => app.timeline.zoomBy(.5), "-": () => app.timeline.zoomBy(2), 0: () => app.timeline.all(),
  t: () => app.setAxis(app.axis === "time" ? "event" : "time"), r: () => $("raw").click(), f: () => $("fold").click(), c: () => $("copy-advice")?.click(),
  "/": () => $("find").focus(), "?": () => $("help").showModal(),
};
const MOVES = {
  ArrowLeft: (event) => app.step(event.shiftKey ? -10 : -1), ArrowRight: (event) => app.step(event.shiftKey ? 10 : 1),
  ArrowUp: () => app.list.moveRows(-1), ArrowDown: () => app.list.moveRows(1), PageUp: () => app.list.moveRows(-PAGE_ROWS), PageDown: () => app.list.moveRows(PAGE_ROWS),
  Home: () => app.go(0), End: () => app.go(prepared(app.response).count - 1),
};
const SIDEWAYS = new Set(["ArrowLeft", "ArrowRight"]), PAGES = new Set(["PageUp", "PageDown"]);

function onKey(event) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (!app.timeline) { if (key === "?") $("help").showModal(); return; }
  const act = actionOf(target, key);
  if (!act) return;
  event.preventDefault();
  act(event);
}

/** What a key does where the focus is. */
function actionOf(target, key) {
  if (key === "Escape" && target.id === "find") return clearFind;
  if (target.matches("input, select, textarea")) return null;
  const box = target.closest("#events-list, #plot"), scrolls = target.closest("#detail, pre, code");
  if (MOVES[key] && !scrolls && (box || SIDEWAYS.has(key) || (target === document.body && !PAGES.has(key)))) return MOVES[key];
  if (key === "Enter" && box) return () => app.list.unfold();
  return $("keys-on").checked ? LETTERS[key] : null;
}

function clearFind() {
  $("find").value = app.find = "";
  app.filter();
  $("events-list").focus();
}
