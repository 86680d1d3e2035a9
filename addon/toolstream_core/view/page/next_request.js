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
  if (!next && !verdict.next && !open) return [];
  if (!next && !verdict.next) return [el("section", { class: "evidence", "aria-label": title }, el("h2", {}, title), el("p", { class: "quiet" }, app.doc.generated.live ? "It will show how the client interpreted this response." : "No later request was recorded."))];
  const rows = returnedRows(response);
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Intended call"), el("th", { scope: "col" }, "Returned by the client")));
  const client = response.readings && response.readings.client;
  return [el("section", { class: "evidence", "aria-label": title }, el("h2", {}, title),
    rows.length ? el("table", {}, head, el("tbody", {}, rows)) : null,
    client && verdict.understood === false ? agreement(response) : null,
    next ? el("details", {}, el("summary", {}, `${counted(next.added.length, "new message")}${next.source ? ` of ${fileName(next.source)}` : ""}`), el("pre", { tabindex: "0" }, JSON.stringify(next.added, null, 2))) : null)];
}

/** Intended and returned calls side by side: equal ids first, then equal names, then the rest in order. */
function pairsOf(calls, returned) {
  const left = [...returned];
  const take = (fits) => {
    const at = left.findIndex(fits);
    return at < 0 ? null : left.splice(at, 1)[0];
  };
  const pairs = calls.map((call) => ({ call, back: call.id ? take((one) => one.id === call.id) : null }));
  const open = pairs.filter(({ call, back }) => !back && isDue(call));
  for (const pair of open) pair.back = take((one) => one.name === pair.call.name);
  for (const pair of open) pair.back ??= take(() => true);
  return [...pairs, ...left.map((back) => ({ call: null, back }))];
}

/** Whether a client has to return a call: it runs the call, and the call is complete. */
function isDue(call) { return call.kind !== "server" && call.complete !== false; }

/** What of a returned call differs from the intended one. */
function differences({ call, back }) {
  if (!back && !isDue(call)) return [];
  if (!call || !back || !isDue(call)) return ["id", "name", "arguments"];
  return [
    ...(typeof back.id === "string" && back.id !== call.id ? ["id"] : []),
    ...(back.name === call.name ? [] : ["name"]),
    ...(sameJson(call.arguments, returnedText(back)) ? [] : ["arguments"]),
  ];
}

function returnedRows({ calls, verdict }) {
  const pairs = pairsOf(calls, verdict.returned || []), used = new Set(pairs.filter(({ call, back }) => call && back).map(({ call }) => call.choice));
  return pairs.map((pair) => el("tr", {}, el("td", {}, pair.call ? callCode(pair.call, pair.call.arguments, []) : el("span", { class: "quiet" }, "none")), el("td", {}, pair.back ? callCode(pair.back, returnedText(pair.back), differences(pair)) : notReturned(pair.call, used))));
}

/** A call on one line; what differs from the intended call is marked, its id only then shown. */
function callCode({ id, name }, text, differs) {
  const lost = (key, words) => el("span", { class: differs.includes(key) ? "lost" : null }, words);
  return el("code", {}, lost("name", name || "(no name)"), " ", lost("arguments", clip(text || '""')), differs.length === 1 && differs[0] === "id" ? lost("id", ` id ${id || '""'}`) : null);
}

/** Why a call was not returned, if there is a reason. `used`: the choices that the client used. */
function notReturned(call, used) {
  const reason = call.kind === "server" ? "run by the provider" : call.complete === false ? "incomplete: not returned" : used.size && !used.has(call.choice) ? `choice ${call.choice} was not used` : null;
  return el("span", { class: reason ? "quiet" : "lost" }, reason || "not returned");
}

function clip(text) { return text.length > ARGUMENTS_SHOWN ? `${text.slice(0, 250)} … ${text.slice(-120)}` : text; }

/** Whether the client model gives exactly what was returned; the page compares them itself. */
function agreement(response) {
  const exact = explainsReturned(response);
  return el("p", { class: exact ? "agrees" : "quiet" }, exact ? "✓ The model of this client returns exactly these calls." : "The model of this client returns these calls, except for details.");
}
