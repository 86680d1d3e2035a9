// A case of one client, opened in the view of its session.

const CASE_ERROR = 400;

/** Opens a case; `earlier`: as it was in the earlier run. */
function openCase(row, at, earlier = false) {
  const { one, before } = row.cells[at], shown = earlier || !one ? before : one, { client } = state.columns[at];
  const doc = (!earlier && recordedDocument(shown, at)) || caseDocument(shown, client);
  const here = new URLSearchParams(location.hash.slice(1));
  if (here.get("case") !== shown.id || here.get("client") !== String(at)) setHash("");
  state.open = { row, at, empty: !doc.responses.length };
  app.address = { client: at, case: shown.id };
  $("results").hidden = true;
  fill($("case"), caseBlocks(row, at, shown));
  document.querySelector(".skip").setAttribute("href", "#events-list");
  $("app").hidden = false;
  $("main").hidden = state.open.empty;
  if (state.open.empty) noRequest(); else begin(doc);
  fill($("about"), `${columnName(client)} · ${shown.id}`);
  $("back").focus({ preventScroll: true });
}

/** A case without a response: there is nothing to show as a session. */
function noRequest() {
  clearTimeout(app.remembering);
  fill($("conversations"), el("p", { class: "blank" }, "No request reached the proxy."));
  setHash(new URLSearchParams(app.address));
}

function caseBlocks(row, at, shown) {
  const { change } = row.cells[at], small = [
    shown.required ? "required" : "optional", shown.code, shown.spec && shown.spec !== shown.name && `fault ${shown.spec}`,
    typeof shown.exit_code === "number" && `exit code ${shown.exit_code}`, seconds(shown.seconds), shown.runs > 1 && `${shown.runs} runs`, shown.needs && `needs ${shown.needs}`,
  ];
  return [
    el("div", { class: "case-tools" }, button({ id: "back", "aria-keyshortcuts": "Escape", onclick: closeCase }, "Results"), button({ "aria-keyshortcuts": "[", "aria-label": "Previous case", onclick: () => stepCase(-1) }, "‹"), button({ "aria-keyshortcuts": "]", "aria-label": "Next case", onclick: () => stepCase(1) }, "›")),
    el("h2", { id: "case-title" }, row.name), el("p", {}, row.title),
    el("p", { class: "grade", "data-grade": shown.grade, title: MEANINGS[shown.grade] }, mark(shown.grade, shown.required), el("span", {}, el("b", {}, shown.grade), shown.reason && `: ${shown.reason}`)),
    shown.message && el("p", {}, shown.message),
    el("p", { class: "quiet" }, small.filter(Boolean).join(" · ")),
    change && change !== "new" && earlierNote(row, at, shown),
    shown.advice && [el("h3", {}, "Workaround"), command(shown.advice)],
    shown.rerun && [el("h3", {}, "Run it again"), command(shown.rerun)],
    shown.output && el("details", {}, el("summary", {}, "Output of the command"), el("pre", { tabindex: "0" }, shown.output)),
  ];
}

function earlierNote(row, at, shown) {
  const { one, before, change } = row.cells[at], isBefore = shown === before;
  return el("p", { class: "banner" }, CHANGES.includes(change) && changeMark(change), isBefore ? "This is the earlier run." : `Earlier run: ${before.grade}${before.reason ? `, ${before.reason}` : ""}. `, " ",
    one && before && button({ id: "other-run", onclick: () => openCase(row, at, !isBefore) }, isBefore ? "Show this run" : "Show the earlier run"));
}

function closeCase() {
  const { open } = state;
  state.open = null;
  clearTimeout(app.remembering);
  $("app").hidden = true;
  $("results").hidden = false;
  document.querySelector(".skip").setAttribute("href", "#matrix");
  fill($("about"), state.about);
  setHash("");
  const cell = open.row.line.querySelector(`[data-at="${open.at}"]`);
  if (cell && !open.row.line.hidden) focusCell(cell);
}

/** Opens the next or the previous case of this client among those that are shown. */
function stepCase(by) {
  const { row, at } = state.open, cell = row.line.querySelector(`[data-at="${at}"]`), next = cell && neighbor(cell, by < 0 ? "ArrowUp" : "ArrowDown");
  if (!next) return;
  focusCell(next);
  next.click();
}

/** The session of a case as it was recorded; undefined without one. */
function recordedDocument(shown, at) {
  const { cases = {}, ...shared } = state.sessions[at] ?? {};
  return Object.hasOwn(cases, shown.id) ? { ...shared, ...structuredClone(cases[shown.id]) } : undefined;  // the page writes events out in place
}

/** A case without a recorded session, as the document of one: its responses as the report has them, without times and readings. */
function caseDocument(shown, client) {
  const responses = list(shown.turns).map((turn) => caseResponse(turn, shown, client));
  return { generated: { files: [shown.id], live: false }, conversations: [{ title: shown.title || shown.name, responses: [...responses.keys()] }], responses, models: {}, projects: {}, defects: {} };
}

function caseResponse(turn, shown, client) {
  const calls = list(turn.calls), failed = typeof turn.status === "number" && turn.status >= CASE_ERROR, { request } = turn;
  const fragments = (number) => calls.flatMap((call, place) => (list(call.events).includes(number) ? [{ lane: `call-${place}` }] : []));
  const events = list(turn.events).map((raw, number) => ({ raw: String(raw), fragments: fragments(number) }));
  return {
    source: shown.id, host: "", path: "", status: turn.status, model: "", protocol: client.protocol ?? shown.id.split("/")[0], streamed: true, choices: new Set(calls.map((one) => one.choice)).size,
    state: turn.broken ? "truncated" : failed ? "error" : "complete", broken: turn.broken, error: failed ? `HTTP ${turn.status}` : null, finish: [], timed: false, changed: 0, pointers: [],
    bytes: events.reduce((sum, one) => sum + one.raw.length, 0), events, calls, lanes: calls.map((_, place) => `call-${place}`), findings: list(turn.findings).map((one) => ({ ...one, repair: null })), cut: turn.truncated,
    verdict: { ...caseVerdict(turn, calls), returned: list(request?.calls) },
    next_request: request ? { source: "", shared: 0, added: list(request.results) } : undefined,
  };
}

/** The verdict with a headline, and a reason that names the event. */
function caseVerdict(turn, calls) {
  const { verdict } = turn, problems = list(verdict?.problems);
  if (!verdict) return { verdict: calls.length ? "unknown" : "none", understood: null, headline: calls.length ? "The client sent no further request" : "The response has no tool call" };
  if (verdict.understood !== false) return { verdict: verdict.verdict, understood: verdict.understood, headline: "The client read the response as it was sent" };
  const words = problems.map((one) => `${typeof one.call === "number" ? `call ${one.call}: ` : ""}${one.message}`).join("; "), name = verdict.verdict.replaceAll("-", " ");
  const place = Number.isInteger(verdict.event) && !/event \d/.test(verdict.explanation || "") ? ` First misread event: event ${verdict.event}.` : "";
  return { verdict: verdict.verdict, understood: false, event: verdict.event, headline: `${name[0].toUpperCase()}${name.slice(1)}${words ? `: ${words}` : ""}`, reason: verdict.explanation ? `${sentence(verdict.explanation)}${place}` : place.trim(), fix: verdict.fix };
}
