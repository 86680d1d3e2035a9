// The drawer: one case of one client, drawn when it is opened.

// A value of a request; absent, null and empty are three things.
function kept(value) {
  if (value === undefined) return el("i", { class: "quiet" }, "absent");
  if (value === null) return el("i", { class: "quiet" }, "null");
  if (value === "") return el("i", { class: "quiet" }, "empty");
  return el("code", {}, typeof value === "string" ? value : JSON.stringify(value));
}

function openCase(row, at, earlier = false) {
  const { one, before, change } = row.cells[at];
  const shown = earlier || !one ? before : one;
  state.open = { row, at };
  const drawer = byId("drawer");
  fill(
    drawer,
    drawerHead(row, at, shown),
    el("div", { class: "facts" }, facts(shown)),
    change && change !== "new" && earlierNote(row, at, shown),
    shown.advice && commandBlock("Passes with", shown.advice),
    commandBlock("Run it again", shown.rerun),
    shown.output && el("details", {}, el("summary", {}, "Output of the command"), el("pre", {}, shown.output)),
    list(shown.turns).length ? list(shown.turns).map(turnBlock) : el("p", { class: "quiet" }, "No request reached the proxy."),
  );
  drawer.hidden = false;
  drawer.scrollTop = 0;
  drawer.focus({ preventScroll: true });
  setHash(`client=${at}&case=${encodeURIComponent(shown.id)}`);
}

function drawerHead(row, at, shown) {
  return el("div", { class: "drawer-head" },
    el("div", {}, el("p", { class: "quiet" }, `${columnName(state.columns[at].client)} · ${shown.id}`), el("h2", { id: "drawer-title" }, row.name), el("p", {}, row.title)),
    el("div", { class: "tools" }, button({ click: () => step(-1), "aria-keyshortcuts": "p" }, "Previous"), button({ click: () => step(1), "aria-keyshortcuts": "n" }, "Next"), button({ id: "drawer-close", click: closeDrawer, "aria-keyshortcuts": "Escape" }, "Close")));
}

function facts(shown) {
  const small = [
    shown.required ? "required" : "optional",
    shown.code,
    shown.spec && shown.spec !== shown.name && `fault ${shown.spec}`,
    typeof shown.exit_code === "number" && `exit code ${shown.exit_code}`,
    shown.seconds !== undefined && seconds(shown.seconds),
    shown.runs > 1 && `${shown.runs} runs`,
    shown.needs && `needs ${shown.needs}`,
  ];
  return [
    el("p", { class: "grade", "data-grade": shown.grade }, mark(shown.grade, shown.required), el("span", {}, el("b", {}, shown.grade), shown.reason && `: ${shown.reason}`)),
    shown.message && el("p", {}, shown.message),
    el("p", { class: "quiet" }, small.filter(Boolean).join(" · ")),
    el("p", { class: "quiet" }, MEANINGS[shown.grade] ?? ""),
  ];
}

function earlierNote(row, at, shown) {
  const { one, before, change } = row.cells[at];
  const isBefore = shown === before;
  const text = isBefore ? "This is the earlier run." : `Earlier run: ${before.grade}${before.reason ? `, ${before.reason}` : ""}. `;
  return el("p", { class: "banner" }, CHANGES.includes(change) && changeMark(change), text, " ",
    one && button({ click: () => openCase(row, at, !isBefore) }, isBefore ? "Show this run" : "Show the earlier run"));
}

function commandBlock(title, command) {
  if (!command) return null;
  const copy = button({ class: "copy", click: () => copyText(command, copy) }, "Copy");
  return el("div", { class: "run" }, el("h3", {}, title), el("div", { class: "copyable" }, el("code", {}, command), copy));
}

async function copyText(text, copy) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    copy.focus();
  }
  copy.textContent = done ? "Copied" : "Select and copy";
  setTimeout(() => (copy.textContent = "Copy"), 2000);
}

function turnBlock(turn, at) {
  const verdict = turn.verdict?.verdict;
  return el("section", { class: "turn", "aria-label": `Turn ${at + 1}` },
    el("h3", {}, `Turn ${at + 1}`,
      el("span", { class: "quiet" }, [turn.status && ` status ${turn.status}`, plural(list(turn.events).length, "event"), turn.broken && `disconnected: ${turn.broken}`].filter(Boolean).join(" · ")),
      verdict && el("span", { class: "verdict", "data-good": String(turn.verdict.understood !== false) }, verdict)),
    turn.verdict && explanation(turn.verdict),
    el("div", { class: "panes" }, streamPane(turn), requestPane(turn)));
}

function explanation(verdict) {
  const problems = list(verdict.problems);
  const why = verdict.explanation || (list(verdict.explained).length ? `Explained by: ${verdict.explained.join(", ")}` : "");
  if (!problems.length && !why) return null;
  return el("div", { class: "why" },
    problems.length > 0 && el("ul", {}, problems.map((one) => el("li", {}, el("b", {}, one.verdict), `${typeof one.call === "number" ? ` (call ${one.call})` : ""}: ${one.message}`))),
    why && el("p", {}, why),
    typeof verdict.event === "number" && verdict.understood === false && el("p", {}, "First misread event: ", button({ class: "link", click: (clicked) => showEvent(clicked.target, verdict.event) }, `event ${verdict.event}`)));
}

function showEvent(from, number) {
  const line = from.closest(".turn").querySelector(`[data-event="${Number(number)}"]`);
  line?.scrollIntoView({ block: "center" });
  line?.focus({ preventScroll: true });
}

function streamPane(turn) {
  const { lines, rest } = eventsOf(turn);
  return el("div", { class: "pane" },
    el("h4", {}, "Response"),
    lines.length ? el("ol", { class: "events", start: 0 }, lines.map(eventLine)) : el("p", { class: "quiet" }, "No events."),
    turn.truncated && el("p", { class: "quiet" }, "The report has no further events of this response."),
    rest.length > 0 && el("ul", {}, rest.map(findingLine)));
}

function eventLine({ number, text, calls, findings, parts }) {
  return el("li", { "data-event": number, tabindex: -1, class: parts && "parts" },
    el("span", { class: "number" }, number),
    el("div", {},
      calls.map((call) => el("span", { class: "call", "data-call": call % 6 }, `call ${call}`)),
      el("pre", {}, String(text).replace(/\s+$/, "")),
      findings.length > 0 && el("ul", {}, findings.map(findingLine)),
      parts && el("p", { class: "parts-note" }, parts)));
}

const findingLine = (one) =>
  el("li", { class: "finding", "data-severity": one.severity }, el("b", {}, `${one.severity} ${one.name}`), ` ${one.code ?? ""}: ${one.message}`);

function requestPane(turn) {
  const pairs = pairsOf(turn.calls, turn.request?.calls);
  return el("div", { class: "pane" },
    el("h4", {}, "Next request"),
    !turn.request && el("p", { class: "quiet" }, "The client sent no further request."),
    pairs.map((pair, at) => pairTable(pair, at, Boolean(turn.request))),
    list(turn.request?.results).map(resultBlock));
}

function pairTable({ sent, back, differs }, at, followed) {
  const fields = ["id", "name", "arguments"];
  const differing = (field) => followed && (differs.includes(field) || differs.includes("call"));
  const title = sent ? `call ${at}${sent.complete === false ? " (incomplete)" : ""}${sent.kind === "server" ? " (run by the provider)" : ""}` : "a call that was not sent";
  return el("table", { class: "pair" },
    el("caption", {}, title),
    el("thead", {}, el("tr", {}, el("td", {}), el("th", { scope: "col" }, "sent"), el("th", { scope: "col" }, "returned"))),
    el("tbody", {}, fields.map((field) =>
      el("tr", { class: differing(field) ? "differs" : null },
        el("th", { scope: "row" }, field, differing(field) && el("span", { class: "unseen" }, " differs")),
        el("td", {}, sent ? kept(sent[field]) : "–"), el("td", {}, back ? kept(back[field]) : "–")))));
}

function resultBlock(result) {
  const parts = typeof result === "object" && result !== null ? result : { id: result };
  return el("p", { class: "tool-result" }, "result for ", kept(parts.id || parts.name), parts.text !== undefined && [": ", kept(parts.text)]);
}

function closeDrawer() {
  const { open } = state;
  byId("drawer").hidden = true;
  state.open = null;
  setHash("");
  const cell = open?.row.line.querySelector(`[data-at="${open.at}"]`);
  if (cell && !open.row.line.hidden) focusCell(cell);
}

// Open the next or the previous case of the same client among those that are shown.
function step(by) {
  const { row, at } = state.open;
  const cell = row.line.querySelector(`[data-at="${at}"]`);
  const next = cell && neighbor(cell, by < 0 ? "ArrowUp" : "ArrowDown");
  if (!next) return;
  focusCell(next);
  next.click();
}
