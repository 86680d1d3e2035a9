// Summary, filters and table of the results.

const state = { report: null, columns: [], rows: [], sessions: [], compared: false, filter: { ...NO_FILTER }, order: "kind", open: null };

const button = (attributes, ...children) => el("button", { type: "button", ...attributes }, ...children);
const mark = (grade, required = true) =>
  el("span", { class: "mark", "data-grade": grade, "data-need": required ? "required" : "optional", "aria-hidden": "true" }, MARKS[grade] ?? "?");
const seconds = (value) => (typeof value === "number" ? `${value.toFixed(value < 10 ? 1 : 0)} s` : "");

function showReports(report, other) {
  state.report = report;
  state.columns = columnsOf(report, other);
  state.rows = rowsOf(state.columns);
  state.compared = Boolean(other);
  if (state.open) closeCase();
  document.body.classList.toggle("single", state.columns.length === 1);
  showAbout(report);
  fill($("clients"), state.columns.map(clientCard));
  showChanges(other);
  fillFilters();
  drawTable();
}

function showAbout(report) {
  const cases = state.columns.reduce((sum, { client }) => sum + list(client.cases).length, 0);
  const parts = [
    counted(cases, "case"),
    report.started && `started ${report.started}`,
    report.seconds !== undefined && `took ${seconds(report.seconds)}`,
    report.seed !== undefined && `seed ${report.seed}`,
    report.toolstream && `toolstream ${report.toolstream}`,
    report.mitmproxy && `mitmproxy ${report.mitmproxy}`,
  ];
  state.about = parts.filter(Boolean).join(" · ");
  fill($("about"), state.about);
}

function clientCard({ client }) {
  const summary = summaryOf(client);
  const bar = summary.grades.map(([grade, count]) => {
    const piece = el("span", { "data-grade": grade });
    piece.style.flexGrow = count;
    return piece;
  });
  return el("article", { class: "client", "data-state": stateOf(summary) },
    el("h2", {}, columnName(client)),
    el("p", { class: "quiet" }, client.protocol ?? "protocol unknown"),
    el("p", { class: "result" }, resultText(summary)),
    el("div", { class: "grades-bar", "aria-hidden": "true" }, bar),
    el("ul", { class: "counts" }, summary.grades.map(([grade, count]) => el("li", {}, mark(grade), `${count} ${grade}`))),
    summary.reasons.length > 0 && el("ul", { class: "reasons", "aria-label": "Failures by severity" },
      summary.reasons.map(([reason, count]) => el("li", {}, button({ class: "chip", onclick: () => setText(reason) }, `${reason} `, el("b", {}, count))))),
    el("code", { class: "client-command" }, list(client.command).join(" ")),
  );
}

const stateOf = ({ failedRequired, harness }) => (failedRequired ? "failed" : harness ? "harness-failure" : "ok");

function resultText({ failedRequired, harness, total }) {
  if (!total) return "No case was run.";
  const failed = failedRequired ? `${counted(failedRequired, "required case")} failed.` : "No required case failed.";
  return harness ? `${failed} ${counted(harness, "case")} could not be run.` : failed;
}

function showChanges(other) {
  $("changes").hidden = !other;
  if (!other) return;
  const gone = list(other.clients).filter((client) => !state.columns.some(({ earlier }) => earlier === client));
  const all = state.rows.flatMap((row) => row.cells.map((cell) => cell?.change)).filter((one) => CHANGES.includes(one));
  const counts = tally(all, CHANGES);
  fill(
    $("changes"),
    el("b", {}, showsRepair() ? "Changes with repair, compared to the run without it" : "Since the earlier run"),
    ` (${other.started ?? "date unknown"}, toolstream ${other.toolstream ?? "unknown"}): `,
    gone.length > 0 && `${gone.map(columnName).join(", ")} missing in this run; `,
    counts.length ? counts.map(([change, count]) => [changeMark(change), `${count} ${change}  `]) : "nothing changed",
  );
}

const showsRepair = () =>
  state.columns.some(({ client, earlier }) => earlier && list(client.repair).length > 0 && !list(earlier.repair).length);

const changeMark = (change) =>
  el("span", { class: "change", "data-change": change, title: change }, CHANGE_MARKS[change], el("span", { class: "unseen" }, change));

function fillFilters() {
  const cases = state.columns.flatMap(({ client }) => list(client.cases));
  const grades = tally(cases.map((one) => one.grade), CASE_GRADES);
  fill($("grades"), grades.map(([grade, count]) =>
    button({ class: "chip", "data-grade": grade, "aria-pressed": "false", title: MEANINGS[grade], onclick: () => toggleGrade(grade) }, mark(grade), `${grade} ${count}`)));
  const kinds = [...new Set(state.rows.map((row) => row.kind))];
  fillSelect("kind", [["", "all kinds"], ...kinds.map((kind) => [kind, KIND_TITLES[kind] ?? kind])]);
  fillSelect("change", [["", "changed or unchanged"], ["any", "changed"], ...CHANGES.map((change) => [change, change])]);
  $("change").hidden = !state.compared;
  showFilter();
}

const fillSelect = (id, options) => fill($(id), options.map(([value, text]) => el("option", { value }, text)));

// Make the controls say what the filter is.
function showFilter() {
  const { text, grades, kind, need, change } = state.filter;
  Object.assign($("text"), { value: text });
  for (const chip of $("grades").children) chip.setAttribute("aria-pressed", grades.includes(chip.dataset.grade));
  $("kind").value = kind;
  $("need").value = need;
  $("change").value = change;
}

function setFilter(filter) {
  Object.assign(state.filter, filter);
  showFilter();
  applyFilter();
}

const setText = (text) => setFilter({ text });

function toggleGrade(grade) {
  const { grades } = state.filter;
  setFilter({ grades: grades.includes(grade) ? grades.filter((one) => one !== grade) : [...grades, grade] });
}

function drawTable() {
  const single = state.columns.length === 1;
  const heads = state.columns.map(({ client, earlier }) =>
    el("th", { scope: "col" }, single ? "Result" : columnName(client), !single && el("small", {}, client.protocol ?? "", state.compared && !earlier && " new client")));
  const table = el("table", { role: "grid", "aria-label": "Cases and results" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Case"), heads, single && [el("th", { scope: "col" }, "What happened"), el("th", { scope: "col", class: "time" }, "Time")])),
    groupsOf(state.rows, state.order).map((group) => groupBody(group, single)));
  fill($("matrix"), table);
  const first = table.querySelector("button.cell");
  if (first) first.tabIndex = 0;
  applyFilter();
}

function groupBody({ title, rows }, single) {
  const width = state.columns.length + (single ? 3 : 1);
  return el("tbody", {},
    title && el("tr", { class: "group" }, el("th", { colspan: width, scope: "rowgroup" }, title)),
    rows.map((row) => caseRow(row, single)));
}

function caseRow(row, single) {
  const now = row.cells.map((cell) => cell?.one ?? cell?.before).find(Boolean);
  const line = el("tr", { "data-key": row.key },
    el("th", { scope: "row" },
      el("span", { class: "name" }, row.name), row.code && el("span", { class: "code" }, row.code),
      !row.cells.some((cell) => (cell?.one ?? cell?.before)?.required) && el("span", { class: "tag" }, "optional"),
      el("span", { class: "quiet" }, row.title)),
    row.cells.map((cell, at) => el("td", {}, cell && cellButton(row, at, single))),
    single && [el("td", { class: "what" }, now?.reason && el("b", {}, now.reason), now?.reason && now?.message && ": ", now?.message, single && earlierWords(row.cells[0])), el("td", { class: "time" }, seconds(now?.seconds))]);
  row.line = line;
  return line;
}

// What a case that changed was before, for the list of one client.
function earlierWords({ one, before, change }) {
  if (!one || !before || !CHANGES.includes(change)) return null;
  return el("span", { class: "quiet before" }, `before: ${before.reason ?? before.grade}`);
}

function cellButton(row, at, single) {
  const { one, before, change } = row.cells[at];
  const shown = one ?? before;
  const grade = one ? shown.grade : "gone";
  const words = single || !shown.reason ? grade : shown.reason;
  const label = [columnName(state.columns[at].client), row.name, grade, shown.reason, shown.required ? "required" : "optional", CHANGES.includes(change) ? change : null];
  return button({ class: "cell", tabindex: -1, "data-id": shown.id, "data-grade": grade, "data-at": at, "aria-label": label.filter(Boolean).join(", "), title: shown.message, onclick: () => openCase(row, at) },
    one && mark(grade, shown.required), el("span", { class: "words" }, words), CHANGES.includes(change) && changeMark(change));
}

function applyFilter() {
  const names = state.columns.map(({ client }) => columnName(client));
  let count = 0;
  for (const row of state.rows) {
    const matches = rowMatches(row, state.filter, names);
    row.line.hidden = !matches;
    count += matches;
    row.cells.forEach((cell, at) => {
      const dim = matches && cell && !cellMatches(row, cell, state.filter, names[at]);
      row.line.querySelector(`[data-at="${at}"]`)?.classList.toggle("dim", Boolean(dim));
    });
  }
  for (const body of $("matrix").querySelectorAll("tbody")) {
    body.hidden = ![...body.rows].some((line) => !line.hidden && !line.classList.contains("group"));
  }
  $("cases-shown").textContent = count === state.rows.length ? counted(count, "case") : `${count} of ${counted(state.rows.length, "case")}`;
  keepReachable();
}

// Exactly one cell, and one that is shown, can be reached with the Tab key.
function keepReachable() {
  const cells = [...$("matrix").querySelectorAll("button.cell")];
  const shown = cells.filter((cell) => !cell.closest("tr").hidden);
  const current = shown.find((cell) => cell.tabIndex === 0) ?? shown[0];
  for (const cell of cells) cell.tabIndex = cell === current ? 0 : -1;
}

function focusCell(cell) {
  for (const other of $("matrix").querySelectorAll('button.cell[tabindex="0"]')) other.tabIndex = -1;
  cell.tabIndex = 0;
  cell.focus();
}

// The cell that a key leads to from another one, or null.
function neighbor(cell, key, far) {
  const lines = [...$("matrix").querySelectorAll("tr[data-key]")].filter((line) => !line.hidden && !line.closest("tbody").hidden);
  const grid = lines.map((line) => [...line.querySelectorAll("button.cell")]);
  const at = lines.indexOf(cell.closest("tr"));
  const across = grid[at].indexOf(cell);
  if (key === "ArrowLeft") return grid[at][across - 1];
  if (key === "ArrowRight") return grid[at][across + 1];
  if (key === "Home") return (far ? grid[0] : grid[at])[0];
  if (key === "End") return (far ? grid.at(-1) : grid[at]).at(-1);
  const beyond = key === "ArrowUp" ? grid.slice(0, at).reverse() : grid.slice(at + 1);
  return beyond.flat().find((other) => other.dataset.at === cell.dataset.at);
}
