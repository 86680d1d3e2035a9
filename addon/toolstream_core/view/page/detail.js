// The selected event: its text with the deciding bytes marked, what the client received instead, its findings.

const SHORT = 44, SAME_SHORT = 60, LEAST_GAP = 24, MARKED_SHOWN = 60000;

function drawDetail(app) {
  const { response, row } = app, ready = prepared(response), box = $("detail");
  if (!ready.count) { box.replaceChildren(); return; }
  const raw = ready.raw[row], event = response.events[row];
  const wire = (...content) => el("pre", { class: "wire", style: { "--c": `var(--${laneColour(ready.lane[row])})` } }, ...content);
  const label = (text) => el("p", { class: "wire-label" }, text);
  const out = [detailHead(app)];
  if (!event.received) out.push(wire(wireText(app, row)));
  else if (!event.received.length) out.push(label("Sent by the provider, withheld from the client: its content was sent later or not at all."), wire(wireText(app, row)));
  else out.push(label(`Sent by the provider, and what the client received${asEvents(event.received_events)}: the difference is marked`), wire(differenceText(app, raw, event.received.join(""))));
  out.push(...(ready.findings.get(row) || []).map((finding) => findingBox(app, finding)));
  box.replaceChildren(...out);
  box.scrollTop = 0;
}

/** The numbers that the client gives to the events that it received instead. */
function asEvents(numbers) {
  return numbers.length ? ` as its ${numbers.length > 1 ? "events" : "event"} ${numbers.join(", ")}` : "";
}

function detailHead(app) {
  const { response, row } = app, ready = prepared(response), raw = ready.raw[row], gap = row ? ` (+${duration(ready.ms[row] - ready.ms[row - 1])})` : "";
  const toggle = (key, label) => el("button", { type: "button", class: "toggle", "data-toggle": key, "aria-pressed": String(app[key]), onclick: () => { app[key] = !app[key]; drawDetail(app); $("detail").querySelector(`[data-toggle=${key}]`).focus(); } }, label);
  const copier = el("button", { type: "button", id: "copy-raw", onclick: () => copyText(raw, copier, "Copy raw") }, "Copy raw");
  return el("div", { class: "detail-head" }, el("h2", {}, `Event ${ready.number[row]}`),
    el("span", { class: "quiet" }, [response.timed ? `at ${duration(ready.ms[row])}${gap}` : "", byteCount(new Blob([raw]).size)].filter(Boolean).join(" · ")),
    el("span", { class: "grow" }), toggle("complete", "Full"), toggle("indent", "Indent"), copier);
}

/** The text of an event; what does not concern calls is dimmed and shortened. */
function wireText(app, row) {
  const raw = prepared(app.response).raw[row];
  if (!app.indent) return colouredText(app, raw, row);
  const start = raw.search(/[{[]/);
  try { return colouredText(app, `${raw.slice(0, start)}${JSON.stringify(JSON.parse(raw.slice(start)), null, 2)}`, row); } catch { return colouredText(app, raw, row); }
}

function colouredText(app, raw, row) {
  const text = raw.trimEnd(), runs = [];
  for (const one of marked(tokensOf(text.slice(0, MARKED_SHOWN)), app.response.pointers, app.hotKeys(row))) {
    const kind = one.hot ? "hot near" : one.near ? `near ${one.kind}` : "far", word = text.slice(one.s, one.e), last = runs[runs.length - 1];
    if (last && last.kind === kind) last.text += word; else runs.push({ kind, text: word });
  }
  if (text.length > MARKED_SHOWN) runs.push({ kind: "far", text: text.slice(MARKED_SHOWN) });
  const shorten = !app.complete && runs.length > 1;
  return runs.flatMap((one, k) => (shorten && one.kind === "far" && one.text.length > SHORT ? shortened(app, one.text, k === 0, k === runs.length - 1) : [el("span", { class: one.kind }, one.text)]));
}

function differenceText(app, raw, received) {
  return difference(raw.trimEnd(), received.trimEnd()).flatMap((one, k) => {
    if (one.kind !== "same") return [el(one.kind === "gone" ? "del" : "ins", {}, one.text)];
    return one.text.length > SAME_SHORT && !app.complete ? shortened(app, one.text, k === 0) : [el("span", { class: "same" }, one.text)];
  });
}

/** A long text without its middle; a button shows everything. */
function shortened(app, text, first, last = false) {
  const head = first ? 6 : last ? 0 : 16, tail = last ? 0 : 20, middle = text.length - head - tail;
  if (middle < LEAST_GAP) return [el("span", { class: "far" }, text)];
  const button = el("button", { type: "button", class: "gap", "aria-label": `Show ${middle} more characters`, onclick: () => { app.complete = true; drawDetail(app); } }, `… ${middle} …`);
  return [el("span", { class: "far" }, text.slice(0, head)), button, el("span", { class: "far" }, tail ? text.slice(-tail) : "")];
}

function findingBox(app, finding) {
  const { code, name, severity, call, message } = finding, about = app.doc.defects[code];
  const place = call === null || call === undefined ? "" : ` · call ${call}`;
  return el("div", { class: "finding" }, signFor(severity, severity), el("div", {},
    el("p", {}, el("b", {}, name), el("span", { class: "quiet" }, ` ${code} ${severity}${place}: `), ...prose(`${message}.`)),
    about ? el("p", { class: "requirement" }, ...prose(`A correct client ${about.requirement}. `), el("span", { class: "quiet" }, "More: "), el("code", {}, `toolstream explain ${name}`)) : null,
    repairOf(app, finding)));
}

/** The repair of a finding: an option if it helps this client, or if nothing is known of the client. */
function repairOf(app, { name, repair }) {
  if (!repair) return null;
  const options = `--set toolstream_repair=${name}`;
  const advice = app.response.verdict.advice || [];
  if (!advice.length || advice.some((one) => one.options.includes(name))) return command(options);
  return el("p", { class: "quiet" }, "Its repair, ", el("code", {}, options), ", does not help this client; see the workaround.");
}
