// The verdict on a response: what happened, why, the fix, and a command that works around it.

const SHOWN_PROJECTS = 4;

function drawVerdict(app) {
  const { response, doc } = app, grade = gradeOf(response), box = $("verdict");
  const conversation = doc.conversations.find((one) => one.responses.includes(app.at));
  const shown = JSON.stringify([app.at, grade, headline(response), response.verdict, response.finish, response.broken, response.changed, response.state, conversation && conversation.repeats]);
  if (box.shown === shown) return;  // a live page keeps what is open, and announces nothing twice
  box.shown = shown;
  box.dataset.grade = grade === "error" ? "bad" : grade;
  const text = el("div", {}, el("h1", {}, prose(headline(response))));
  const reason = reasonOf(response), { fix } = response.verdict;
  if (reason) text.append(el("p", { class: "reason" }, prose(reason, (event) => app.goEvent(event))));
  if (fix) text.append(el("p", { class: "fix" }, ...prose(sentence(fix))));
  text.append(factsOf(app, conversation));
  const help = helpOf(app);
  box.toggleAttribute("data-alone", !help);
  box.replaceChildren(text, ...(help ? [help] : []));
}

/** A clause as a sentence. */
function sentence(clause) { return `${clause[0].toUpperCase()}${clause.slice(1)}${/[.!?]$/.test(clause) ? "" : "."}`; }

function headline({ state, calls, verdict }) {
  if (state !== "live") return verdict.headline;
  return calls.length ? `Receiving ${calls.map((one) => one.name || "a call").join(", ")}…` : "Receiving…";
}

function reasonOf({ verdict, findings }) {
  if (verdict.reason || verdict.cause) return sentence(verdict.reason || verdict.cause);
  if (verdict.understood === false) return "";
  const counts = GRADES.map((grade) => [grade, findings.filter((one) => one.severity === grade).length]).filter(([, count]) => count);
  if (!counts.length) return verdict.understood ? "No known defect in this stream." : "";
  const worst = findings.find((one) => one.severity === counts[0][0]);
  return `The stream has ${counts.map(([grade, count]) => counted(count, grade)).join(", ")}. At event ${worst.event}: ${worst.message}.`;
}

function factsOf(app, conversation) {
  const { response, doc } = app, { verdict } = response, facts = el("p", { class: "facts" });
  const fact = (...parts) => facts.append(el("span", {}, ...parts)), strong = (text) => facts.append(el("span", { class: "strong" }, text));
  const projects = verdict.projects || [];
  if (conversation && conversation.repeats > 1 && verdict.understood === false) strong(`${conversation.repeats} times in this conversation`);
  if (projects.length) fact("seen in ", projects.slice(0, SHOWN_PROJECTS).flatMap((name, k) => [k ? ", " : "", doc.projects[name] ? el("a", { href: doc.projects[name], rel: "noreferrer noopener" }, name) : name]));
  fact([response.model, response.protocol, response.host].filter(Boolean).join(" · "));
  if (response.finish.length) fact(`finish ${response.finish.join(", ")}`);
  if (response.choices > 1) fact(counted(response.choices, "choice"));
  if (response.streamed === false) fact("not streamed");
  if (response.transport === "websocket") fact("WebSocket");
  for (const { spec, changes } of response.faults || []) fact(`injected ${spec}: ${counted(changes, "change")}`);
  if (response.cut) fact("the report has no further events of this response");
  if (response.broken) strong("disconnected");
  if (response.changed) fact(`${counted(response.changed, "event")} rewritten for the client`);
  return facts;
}

function helpOf(app) {
  const { verdict } = app.response, { advice } = verdict;
  if (!advice || (!advice.length && verdict.understood !== false)) return null;
  const box = el("div", { class: "help" }), more = moreCommands(app.response);
  if (!advice.length) {
    box.append(el("h2", {}, "Workaround"), el("p", {}, "None found: with every repair and shape that was tried, this client still misreads the response."), more);
    return box;
  }
  const draw = () => {
    const [first, ...others] = advice, text = app.form === "run" ? first.run : `mitmdump -s "$(toolstream addon-path)" ${first.options}`;
    box.replaceChildren(
      el("div", { class: "bar" }, el("h2", {}, "Workaround"), el("span", { class: "grow" }), choiceOf("Form of the command", [["run", "toolstream run"], ["mitmdump", "mitmdump"]], app.form, (form) => { app.form = form; draw(); })),
      command(text, { id: "copy-advice" }),
      el("p", {}, verdict.verdict.endsWith("incomplete-call") ? "Tried: with it, this client returns no incomplete call." : "Tried: with it, this client returns the intended calls.", others.length ? ` So does ${others.map((one) => app.form === "run" ? one.run.slice("toolstream run ".length, -" -- CMD".length) : one.options).join(" or ")}.` : ""), more);
  };
  draw();
  return box;
}

function moreCommands({ source }) {
  const file = quoted(source.replace(/#\d+$/, ""));
  const rows = [["Keep this response as a test", `toolstream extract ${file} -o flows --name broken`], ["Reduce it to the events that matter", `toolstream shrink ${file} -o small.flow`], ["Write a report for the provider or the client", `toolstream report ${file} -o report.md`]];
  return el("details", {}, el("summary", {}, "More commands"), rows.flatMap(([words, text]) => [el("p", {}, words), command(text)]));
}

function quoted(text) { return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`; }
