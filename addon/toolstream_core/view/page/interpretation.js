// Two interpretations of the response side by side, stepped with the selected event.

const CARDS = 16, FIRST_CARDS = 3, CARD_TEXT = 200, NAMED_CALLS = 6, NAMED_PROJECTS = 3;
const STEP_ICONS = { first: "M2.5 2v8M9.5 2 5 6l4.5 4", back: "M8 2 3.5 6 8 10", on: "M4 2l4.5 4L4 10", last: "M9.5 2v8M2.5 2 7 6l-4.5 4" };

class Interpretation {
  constructor(app) { Object.assign(this, { app, box: $("interpretation"), parts: null, left: "protocol", leftOf: null }); }

  build() {
    const { app, box } = this, { response } = app;
    this.parts = null;
    if (!response.readings) { fill(box, response.calls.length ? intendedCalls(app) : noReadings(response), textSections(response), nextRequest(app)); return; }
    if (this.leftOf !== response) Object.assign(this, { leftOf: response, left: this.defaultLeft() });
    const side = (label, picker) => {
      const about = el("p", { class: "about" }), does = el("p", { class: "does-now" }), cards = el("div", {});
      return { picker, about, does, cards, node: el("section", { class: "reader", "aria-label": label }, el("header", {}, picker, about), does, cards) };
    };
    this.parts = { shape: this.shape(), bar: this.stepper(), left: side("Reference", this.leftPicker()), right: side("Client model", modelPicker(app)) };
    box.replaceChildren(this.parts.bar.node, el("div", { class: "pair" }, this.parts.left.node, this.parts.right.node), ...nextRequest(app));
    this.update();
  }

  /** As `build`, but an open picker and the focus stay where only events were added. */
  refresh() { if (this.parts && this.parts.shape === this.shape()) this.update(); else this.build(); }

  /** What decides whether the panel has to be built anew. */
  shape() {
    const { response } = this.app, { models, client } = response.readings || { models: [] };
    return JSON.stringify([this.app.at, response.state, client, models.map((one) => [one.model, one.correct]), !!response.next_request, response.verdict.verdict]);
  }

  /** The protocol; the intended calls where the stream violates the protocol. */
  defaultLeft() {
    return violatesProtocol(this.app.response) ? "intended" : "protocol";
  }

  leftPicker() {
    const options = [["protocol", "Protocol"], ["intended", "Intended calls"]].filter(([name]) => readingsOf(this.app.response).has(name));
    const select = el("select", { id: "reference", "aria-label": "Compare with", onchange: () => { this.left = select.value; this.update(); } }, options.map(([value, words]) => el("option", { value }, words)));
    select.value = this.left;
    return select;
  }

  stepper() {
    const { app } = this, at = el("span", { class: "at", "aria-live": "off" });
    const step = (icon, key, words, act) => el("button", { type: "button", "aria-label": words, title: `${words} (${key})`, onclick: act }, el("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, el("path", { d: STEP_ICONS[icon] })));
    const go = el("button", { type: "button", class: "go", "aria-keyshortcuts": "g", onclick: () => app.goDivergence() }, "First difference ", el("kbd", {}, "g"));
    return { at, go, node: el("div", { class: "stepper" }, el("h2", {}, "Interpretation"), el("span", { class: "grow" }), step("first", "Home", "First event", () => app.go(0)), step("back", "←", "Previous event", () => app.step(-1)), at, step("on", "→", "Next event", () => app.step(1)), step("last", "End", "Last event", () => app.go(prepared(app.response).count - 1)), go) };
  }

  update() {
    if (!this.parts) return;
    const { app, parts } = this, { response } = app, ready = prepared(response), number = ready.number[app.row] ?? 0, reading = app.reading();
    const mine = stateAt(response, readingsOf(response).get(this.left).steps, number), theirs = stateAt(response, reading.steps, number);
    const { diverges } = reading;
    parts.bar.at.textContent = `${number} of ${ready.last}`;
    parts.bar.go.hidden = !diverges;
    parts.right.picker.value = app.model;
    fill(parts.left.about, this.aboutLeft());
    fill(parts.right.about, prose(this.aboutRight()));
    const here = diverges && diverges.event === number, said = sentenceOf(mine), now = sentenceOf(theirs);
    const other = here && now === said ? now + dropsLater(theirs, callsAtEnd(response, reading.steps)) : now;
    fill(parts.left.does, said);
    fill(parts.right.does, other + (here && diverges.value ? ` (${diverges.value})` : ""));
    parts.right.does.classList.toggle("odd", said !== other);
    parts.left.cards.replaceChildren(...cardsOf(app, mine, null));
    parts.right.cards.replaceChildren(...cardsOf(app, theirs, mine));
  }

  aboutLeft() {
    const { response } = this.app, fault = violatesProtocol(response) && response.findings.find((one) => one.severity === worstOf(response.findings));
    const intended = this.left === "intended";
    if (fault) return [el("span", { class: "fault" }, intended ? `The calls as toolstream reassembles them. The stream violates the protocol (${fault.name}): a client that follows the protocol gets other calls, too.` : `The stream violates the protocol (${fault.name}): a client that follows the protocol does not get the intended calls.`)];
    return [intended ? "The calls as toolstream reassembles them, from index, id and name together." : response.protocol === "openai-chat" ? "Each fragment belongs to the call with its index, as the protocol requires." : "Each fragment belongs to the call that it names, as the protocol requires."];
  }

  aboutRight() {
    const { app } = this, { response, doc } = app, about = doc.models[app.model];
    if (app.model === response.readings.client && app.model === "protocol") return "It follows the protocol.";
    if (app.model === "protocol") {
      const wrong = [...readingsOf(response).values()].filter((one) => one.correct === false && one.model !== "protocol").length;
      return wrong ? `${counted(wrong, "client model")} would misread this response: choose one to see where.` : "No known client model misreads this response.";
    }
    const words = about.description.join(" and ");
    return app.model === response.readings.client ? `It ${words}.` : `${about.client ? clientName(about) : seenIn(about)}: ${words}.`;
  }
}

/** What an event did, and at the end of the response which calls there are. */
function sentenceOf(state) {
  const words = changeWords(state.changes), text = words[0].toUpperCase() + words.slice(1);
  if (!state.ended) return text;
  const kept = state.calls.filter((call) => call && !call.dropped && !call.incomplete), named = kept.slice(0, NAMED_CALLS).map((call) => `call ${call.place}${call.name ? ` ${call.name}` : ""}`);
  if (kept.length > named.length) named.push(counted(kept.length - named.length, "more call"));
  return `${text}. At the end: ${named.length ? named.join(" and ") : "no complete call"}`;
}

/** Which of the calls that an event changed the client drops at the end of the response. */
function dropsLater({ changes }, end) {
  const dropped = changes.map(({ place }) => end[place] && end[place].dropped).find(Boolean);
  return dropped ? `. At the end, the client ${dropped}` : "";
}

/** The calls of a response whose readings are not known. */
function intendedCalls(app) {
  const calls = app.response.calls.map((call, place) => ({ ...call, place, opened: -1, old: 0, incomplete: call.complete === false }));
  return el("section", { class: "evidence", "aria-label": "Intended calls" }, el("h2", {}, "Intended calls"), cardsOf(app, { calls, changes: [], ended: true }, null));
}

function noReadings({ state, error, status }) {
  const [title, text] = state === "error" ? ["The provider returned an error", error || `HTTP ${status}`]
    : state === "live" ? ["No tool call so far", "Interpretations appear with the first fragment of a tool call."] : ["No tool call in this response", "Clients cannot interpret it differently."];
  return el("div", { class: "blank" }, el("h2", {}, title), el("p", {}, text));
}

function clientName({ client }) { return `${client.name} ${client.version}`; }
function seenIn({ projects }) { return projects.length ? projects.slice(0, NAMED_PROJECTS).join(", ") : "No known project"; }

/** The picker of client models: this client, measured client versions, then single deviations, by what they do here. */
function modelPicker(app) {
  const { response, doc } = app, mine = clientModel(response), all = [...readingsOf(response).values()].filter((one) => one.model !== "intended");
  const select = el("select", { id: "model", "aria-label": "Client model", onchange: () => app.readAs(select.value) });
  const about = (one) => doc.models[one.model];
  const label = (one) => (about(one).client ? clientName(about(one)) : `${about(one).projects.length ? `${seenIn(about(one))}: ` : ""}${about(one).description.join("; ")}`);
  const option = (one) => el("option", { value: one.model, title: about(one).description.join("; ") }, label(one).replaceAll("`", ""));
  const group = (words, some) => { if (some.length) select.append(el("optgroup", { label: `${words} (${some.length})` }, some.map(option))); };
  const others = all.filter((one) => one.model !== mine && one.model !== "protocol");
  if (mine !== "protocol") select.append(el("optgroup", { label: "Explains this client" }, el("option", { value: mine }, "This client")));
  select.append(el("option", { value: "protocol" }, mine === "protocol" && response.readings.client ? "This client: follows the protocol" : "Protocol"));
  for (const [kind, some] of [["Client versions", others.filter((one) => about(one).client)], ["Deviations", others.filter((one) => !about(one).client)]]) {
    some.sort((a, b) => about(b).projects.length - about(a).projects.length);
    group(`${kind} that misread this response`, some.filter((one) => !one.same && one.correct === false));
    group(`${kind} that differ, with the intended calls`, some.filter((one) => !one.same && one.correct !== false));
    group(`${kind} without effect here`, some.filter((one) => one.same));
  }
  select.value = app.model;
  return select;
}

/** A card for each call; of many calls the first and the last ones. */
function cardsOf(app, state, reference) {
  const calls = state.calls.filter(Boolean), touched = new Set(state.changes.map((one) => one.place));
  const shown = calls.length > CARDS ? [...calls.slice(0, FIRST_CARDS), ...calls.slice(FIRST_CARDS - CARDS)] : calls;
  const nodes = shown.map((call) => callCard(app, { call, state, reference, now: touched.has(call.place) }));
  if (calls.length > shown.length) nodes.splice(FIRST_CARDS, 0, el("p", { class: "more" }, `… ${counted(calls.length - shown.length, "more call")} …`));
  return nodes.length ? nodes : [el("p", { class: "more" }, "No call yet.")];
}

function callCard(app, { call, state, reference, now }) {
  const twin = reference && reference.calls[call.place], odd = !!reference && (!twin || twin.name !== call.name || twin.arguments !== call.arguments || (!!call.id && call.id !== twin.id));
  const label = call.dropped ? "dropped" : call.incomplete ? "incomplete" : state.ended ? "complete" : now ? "now" : "open";
  const looks = { now, odd, dropped: call.dropped, over: state.ended, fine: !odd && !call.incomplete && !call.dropped };
  return el("article", { class: ["card", ...Object.keys(looks).filter((one) => looks[one])].join(" "), style: { "--c": `var(--${laneColour(sentLane(app.response, call))})` }, "aria-label": `call ${call.place} ${call.name || "without a name"}` },
    el("header", {}, el("span", { class: "quiet" }, String(call.place)), el("span", { class: `name${call.name ? "" : " none"}` }, call.name || "no name"),
      el("span", { class: `id${call.id ? "" : " none"}`, title: call.id }, call.id || (state.ended || odd ? "no id" : "")), el("span", { class: "state" }, label)),
    el("pre", {}, argumentText(call, now || (state.ended && call.before !== undefined))), cardNote(call, !reference));
}

/** Why a call is not what was sent, where the client or the stream changed it at the end. */
function cardNote(call, isReference) {
  const note = (text) => el("p", { class: "note" }, ...prose(text));
  if (call.dropped) return note(`The client ${call.dropped}.`);
  if (call.incomplete) return note(isReference ? "The stream ended inside the arguments: a client must not run this call." : "The arguments are not valid JSON.");
  if (call.before === undefined || call.before === call.arguments) return null;
  if (call.arguments.startsWith(call.before)) return note(`Added by the client: ${call.arguments.slice(call.before.length)}`);
  return note(`Changed by the client: it had ${call.before.length > 60 ? `…${call.before.slice(-60)}` : call.before || "no arguments"}`);
}

/** The lane in which the fragment was sent that opened a call. */
function sentLane(response, call) {
  const event = call.opened < 0 ? null : response.events[rowFor(prepared(response), call.opened)], found = ((event && event.fragments) || []).find(isCall);
  return found ? found.lane : `call-${call.place}`;
}

/** Arguments from their end, with the new part marked. */
function argumentText(call, now) {
  const text = call.arguments, old = now ? call.old : text.length, cut = Math.max(0, text.length - CARD_TEXT), from = Math.max(cut, old);
  return [cut ? el("span", { class: "quiet" }, `… ${counted(cut, "character")} before …`) : null, text.slice(cut, from), from < text.length ? el("mark", {}, text.slice(from)) : null];
}
