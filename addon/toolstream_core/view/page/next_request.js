// Text of a response, and the client's next request compared with the intended calls.

const TEXT_SHOWN = 4000, ARGUMENTS_SHOWN = 400;

/** The reasoning and the text of a response, joined. */
function textSections({ events, lanes }) {
  return lanes.filter((lane) => laneKind(lane) === "text" || laneKind(lane) === "reasoning").map((lane) => {
    let text = "";
    for (const event of events) {
      for (const one of event.fragments || []) if (one.lane === lane && one.text) text += one.text;
      if (text.length > TEXT_SHOWN) break;
    }
    return el("section", { class: "evidence", "aria-label": lane }, el("h2", {}, lane[0].toUpperCase() + lane.slice(1)),
      el("p", { class: "said" }, text.slice(0, TEXT_SHOWN) + (text.length > TEXT_SHOWN ? " …" : "")));
  });
}

/** The section about the next request; none where nothing has to come back. */
function nextRequest(app) {
  const { response } = app, { verdict, next_request: next } = response, title = "Next request of the client";
  const open = response.state === "live" || verdict.verdict === "unknown";
  if (!next && !open) return [];
  if (!next) return [el("section", { class: "evidence", "aria-label": title }, el("h2", {}, title), el("p", { class: "quiet" }, app.doc.generated.live ? "It will show how the client interpreted this response." : "No later request was recorded."))];
  const rows = returnedRows(response);
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Intended call"), el("th", { scope: "col" }, "Returned by the client")));
  const client = response.readings && response.readings.client;
  return [el("section", { class: "evidence", "aria-label": title }, el("h2", {}, title),
    rows.length ? el("table", {}, head, el("tbody", {}, rows)) : null,
    client && verdict.understood === false ? agreement(response) : null,
    el("details", {}, el("summary", {}, `${counted(next.added.length, "new message")} of ${fileName(next.source)}`), el("pre", { tabindex: "0" }, JSON.stringify(next.added, null, 2))))];
}

/** Intended and returned calls, paired by id, else by name. */
function returnedRows({ calls, verdict }) {
  const returned = verdict.returned || [], used = new Set();
  const take = (match) => {
    const at = returned.findIndex((one, k) => !used.has(k) && match(one));
    if (at >= 0) used.add(at);
    return returned[at];
  };
  const byId = calls.map((call) => call.id && take((one) => one.id === call.id));
  const pairs = calls.map((call, k) => [call, byId[k] || take((one) => one.name === call.name)]);
  returned.forEach((one, k) => { if (!used.has(k)) pairs.push([null, one]); });
  const choices = new Set(pairs.filter(([call, one]) => call && one).map(([call]) => call.choice));
  return pairs.map(([call, one]) => returnedRow(call, one, !call || !choices.size || choices.has(call.choice)));
}

/** `wanted`: a client uses one of several choices; calls of the others need not come back. */
function returnedRow(call, one, wanted) {
  const text = one && returnedText(one), same = call && one && call.name === one.name && sameJson(call.arguments, text);
  const code = (name, words, wrong) => el("code", { class: wrong ? "lost" : null }, `${name || "(no name)"} ${clip(words || '""')}`);
  return el("tr", {}, el("td", {}, call ? code(call.name, call.arguments, false) : el("span", { class: "quiet" }, "none")),
    el("td", {}, one ? code(one.name, text, !same) : el("span", { class: wanted ? "lost" : "quiet" }, wanted ? "not returned" : `choice ${call.choice} was not used`)));
}

function clip(text) { return text.length > ARGUMENTS_SHOWN ? `${text.slice(0, 250)} … ${text.slice(-120)}` : text; }

/** Whether the client model gives exactly what was returned; the page compares them itself. */
function agreement(response) {
  const exact = explainsReturned(response);
  return el("p", { class: exact ? "agrees" : "quiet" }, exact ? "✓ The model of this client returns exactly these calls." : "The model of this client returns these calls, except for details.");
}
