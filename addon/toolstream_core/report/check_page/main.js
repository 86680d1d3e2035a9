// What the reader does: filters, keys, a second report, the address of an open case.

function setHash(text) {
  try {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  } catch {
    // Some viewers give a page no address of its own.
  }
}

function openFromHash() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const at = Number(wanted.get("client"));
  const row = state.rows.find(({ cells }) => (cells[at]?.one ?? cells[at]?.before)?.id === wanted.get("case"));
  if (row) openCase(row, at);
}

function notify(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

async function compareWith(file) {
  if (!file) return;
  try {
    showReports(state.report, parseReport(await file.text()));
    notify("");
  } catch (error) {
    notify(error.message);
  }
}

const isTyping = (target) => target.matches("input, select, textarea");

function onKey(event) {
  if (event.altKey || event.metaKey || byId("help").open) return;
  const cell = event.target.closest?.("button.cell");
  const moves = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key);
  if (event.key === "Escape") return onEscape(event);
  if (cell && moves) {
    event.preventDefault();
    const next = neighbor(cell, event.key, event.ctrlKey);
    if (next) focusCell(next);
    return;
  }
  if (event.ctrlKey || isTyping(event.target)) return;
  const action = {
    "/": () => byId("text").focus(),
    "?": () => byId("help").showModal(),
    n: () => state.open && step(1),
    p: () => state.open && step(-1),
  }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

// Esc closes the drawer; in the text filter it clears that, then goes back to the table.
function onEscape(event) {
  if (event.target === byId("text")) {
    event.preventDefault();
    if (state.filter.text) setText("");
    else byId("matrix").querySelector('button.cell[tabindex="0"]')?.focus();
  } else if (state.open) {
    closeDrawer();
  }
}

function switchTheme() {
  const root = document.documentElement;
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme ?? preferred) === "dark" ? "light" : "dark";
}

function start() {
  const { report, other } = JSON.parse(byId("data").textContent);
  fill(byId("legend"), GRADES.map((grade) => el("li", {}, mark(grade), el("span", {}, el("b", {}, grade), ` ${MEANINGS[grade]}`))));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("text").addEventListener("input", (event) => setFilter({ text: event.target.value }));
  for (const name of ["kind", "need", "change"]) {
    byId(name).addEventListener("change", (event) => setFilter({ [name]: event.target.value }));
  }
  byId("order").addEventListener("change", (event) => {
    state.order = event.target.value;
    drawTable();
  });
  byId("clear").addEventListener("click", () => setFilter({ ...NO_FILTER }));
  byId("theme").addEventListener("click", switchTheme);
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("help-close").addEventListener("click", () => byId("help").close());
  byId("compare").addEventListener("click", () => byId("compare-file").click());
  byId("compare-file").addEventListener("change", async (event) => {
    await compareWith(event.target.files[0]);
    // So that the same file can be chosen again.
    event.target.value = "";
  });
  document.addEventListener("keydown", onKey);
  showReports(report, other);
  openFromHash();
}

start();
