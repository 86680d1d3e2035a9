// Starts the page of results: filters, keys, an earlier run, the address of an open case.

function setHash(parameters) {
  const text = String(parameters);
  try { history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search); } catch { /* not every place allows it */ }
}

function openFromAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1)), at = Number(wanted.get("client"));
  const row = state.rows.find(({ cells }) => (cells[at]?.one ?? cells[at]?.before)?.id === wanted.get("case"));
  if (row) openCase(row, at);
}

function notify(text) {
  fill($("notice"), text);
  $("notice").hidden = !text;
}

async function compareWith(file) {
  if (!file) return;
  try {
    showReports(state.report, parseReport(await file.text()));
    notify("");
  } catch (error) { notify(error.message); }
}

function onResultsKey(event) {
  if (event.altKey || event.metaKey || $("help").open) return;
  if (state.open) { onCaseKey(event); return; }
  const cell = event.target.closest("button.cell"), moves = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key);
  const letters = { "/": () => $("text").focus(), "?": () => $("help").showModal() };
  const act = cell && moves ? () => { const next = neighbor(cell, event.key, event.ctrlKey); if (next) focusCell(next); }
    : event.key === "Escape" && event.target.id === "text" ? leaveFilter : event.ctrlKey || event.target.matches("input, select, textarea") ? null : letters[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

/** While a case is open, other keys are those of the session. */
function onCaseKey(event) {
  const keys = { Escape: closeCase, "[": () => stepCase(-1), "]": () => stepCase(1), ...(state.open.empty && { "?": () => $("help").showModal() }) };
  const act = event.target.matches("input, select, textarea") || event.ctrlKey ? null : keys[event.key];
  if (!act && !state.open.empty) onKey(event);
  if (!act) return;
  event.preventDefault();
  act();
}

/** Clears the text filter, then goes back to the table. */
function leaveFilter() {
  if (state.filter.text) setText(""); else $("matrix").querySelector('button.cell[tabindex="0"]')?.focus();
}

function beginResults({ report, other, sessions }) {
  state.sessions = list(sessions);
  addFrame();
  connect(onResultsKey);
  $("app").hidden = true;
  const on = (id, name, act) => $(id).addEventListener(name, act);
  on("filters", "submit", (event) => event.preventDefault());
  on("text", "input", (event) => setFilter({ text: event.target.value }));
  for (const name of ["kind", "need", "change"]) on(name, "change", (event) => setFilter({ [name]: event.target.value }));
  on("order", "change", (event) => { state.order = event.target.value; drawTable(); });
  on("clear", "click", () => setFilter({ ...NO_FILTER }));
  on("compare", "click", () => $("compare-file").click());
  on("compare-file", "change", async (event) => {
    await compareWith(event.target.files[0]);
    event.target.value = "";  // the same file can be chosen again
  });
  showReports(report, other);
  openFromAddress();
}

beginResults(JSON.parse($("data").textContent));
