// Starts the page of results: filters, keys, an earlier run, the address of an open case.

const CASE_KEYS = [["← → ↑ ↓", "move in the table; Home and End go to the ends of a row, with Ctrl to the first and last cell"], ["Enter", "open a case"], ["[ ]", "previous and next case of this client, while a case is open"], ["Esc", "back to the results"], ["/", "filter by text, in the results"]];

function addFrame() {
  const search = el("input", { type: "search", id: "text", placeholder: "Filter by text ( / )", "aria-label": "Filter by text", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false" });
  const select = (id, label, options = []) => el("select", { id, "aria-label": label }, options.map(([value, words]) => el("option", { value }, words)));
  const need = select("need", "Required or optional", [["", "required and optional"], ["required", "required only"], ["optional", "optional only"]]);
  const order = select("order", "Order", [["kind", "by kind"], ["worst", "worst first"]]);
  const file = el("input", { type: "file", id: "compare-file", accept: ".json,application/json", "aria-label": "JSON of an earlier run", hidden: true });
  const results = el("main", { id: "results", tabindex: "-1" },
    el("div", { class: "head" }, el("h1", {}, "toolstream check"), el("span", { class: "grow" }), button({ id: "compare" }, "Compare with an earlier run…"), file),
    el("p", { id: "notice", class: "banner", role: "alert", hidden: true }),
    el("section", { id: "clients", "aria-label": "Clients" }), el("section", { id: "changes", class: "banner", "aria-label": "Since the earlier run", hidden: true }),
    el("form", { id: "filters", role: "search", "aria-label": "Filter the cases" }, search, el("div", { id: "grades", role: "group", "aria-label": "Grades" }), select("kind", "Kind"), need, select("change", "Change since the earlier run"), order, button({ id: "clear" }, "Clear"), el("output", { id: "cases-shown", "aria-live": "polite" })),
    el("div", { id: "matrix", tabindex: "-1" }));
  $("empty").before(results);
  $("side").prepend(el("section", { id: "case", "aria-label": "Case" }));
  $("help-title").before(el("h2", {}, "Keys of the results"), el("dl", { class: "keys" }, CASE_KEYS.map(([keys, words]) => [el("dt", {}, keys.split(" ").map((key) => [el("kbd", {}, key), " "])), el("dd", {}, words)])),
    el("h2", {}, "Grades"), el("ul", { id: "grades-legend" }, CASE_GRADES.map((grade) => el("li", {}, mark(grade), el("span", {}, el("b", {}, grade), ` ${MEANINGS[grade]}`)))),
    el("p", { class: "quiet" }, "A filled mark is a required case, an outlined one is optional."));
}

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
