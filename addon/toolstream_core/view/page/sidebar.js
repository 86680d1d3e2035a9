// The conversations and their responses.


/** The grade of a response: its sign and colour. */
function gradeOf(response) {
  const severities = response.findings.map((one) => one.severity);
  if (response.state === "live") return "live";
  if (response.verdict.understood === false) return "bad";
  if (severities.includes("error") || response.state === "error") return "error";
  if (severities.includes("warning")) return "warn";
  return response.verdict.understood ? "ok" : "none";
}

const VERDICT_WORDS = { none: "text only", unknown: "no later request", ok: "read as sent" };

function verdictWords({ state, verdict, error, broken }) {
  if (state === "live") return "receiving…";
  if (verdict.verdict === "none" && (error || broken)) return error ? "provider error" : "truncated";
  return VERDICT_WORDS[verdict.verdict] || verdict.verdict.replaceAll("-", " ");
}

function drawSide(app) {
  const { doc } = app, text = $("side-filter").value.trim().toLowerCase(), misread = $("side-misread").checked;
  const titles = new Map();
  for (const one of doc.conversations) titles.set(one.title, (titles.get(one.title) || 0) + 1);
  const groups = doc.conversations.map((conversation, number) => {
    const shown = conversation.responses.filter((at) => (!misread || doc.responses[at].verdict.understood === false) && (!text || searchText(conversation, doc.responses[at]).includes(text)));
    return shown.length ? conversationGroup(app, { conversation, number, shown, repeated: titles.get(conversation.title) > 1 }) : null;
  }).filter(Boolean);
  $("conversations").replaceChildren(...(groups.length ? groups : [el("p", { class: "blank" }, "No conversation matches.")]));
}

function searchText(conversation, response) {
  const { source, host, model, verdict, calls, findings } = response;
  return [conversation.title, source, host, model, verdict.verdict, ...calls.map((one) => one.name), ...findings.map((one) => one.name)].join(" ").toLowerCase();
}

/** A conversation. Several of one title are told apart by the file of the first response. */
function conversationGroup(app, { conversation, number, shown, repeated }) {
  const { title, repeats, responses } = conversation;
  return el("section", { class: "conversation", "aria-label": `Conversation ${number + 1}` },
    el("h2", { title }, title || "No prompt"), repeated ? el("p", { class: "file" }, fileName(app.doc.responses[responses[0]].source)) : null,
    repeats > 1 ? el("p", { class: "repeats" }, `Same misreading ${repeats} times`) : null,
    el("ol", {}, shown.map((at) => el("li", {}, responseButton(app, at, responses.indexOf(at) + 1)))));
}

function fileName(source) { return source.split("/").pop(); }

function responseButton(app, at, turn) {
  const response = app.doc.responses[at], grade = gradeOf(response), { calls, error, broken, events, timed } = response;
  const last = timed ? events.findLast((one) => one.ms !== undefined) : null;
  const about = calls.length ? calls.map((one) => one.name || "(no name)").join(", ") : error || (broken ? "disconnected" : `text, ${counted(events.length, "event")}`);
  return el("button", { type: "button", class: "turn", "data-grade": grade, "data-response": at, "aria-current": String(at === app.at), onclick: () => app.show(at) },
    signFor(grade, { bad: "misread", ok: "read as sent" }[grade] || grade), el("b", {}, `${turn}. ${verdictWords(response)}`),
    el("span", { class: "when" }, last ? duration(last.ms) : ""), el("small", {}, about));
}
