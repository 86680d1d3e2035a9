// What a client model has of a response's calls after each event, from the steps of its trace. No DOM in here.

const CHECKPOINT = 256;

/** Plays one trace. The state is kept, so the next event costs its own changes; going back starts at a checkpoint. */
class Player {
  constructor(response, trace) {
    Object.assign(this, { response, trace, calls: [], step: 0, number: -1, checkpoints: [], shown: null });
  }

  /** The calls after event `number`, the changes that this event made, and whether the response ended with it. */
  at(number) {
    const ready = prepared(this.response), ended = number >= ready.last && this.response.state !== "live";
    if (this.shown && this.shown.number === number && this.shown.ready === ready && this.shown.ended === ended) return this.shown;
    if (number <= this.number) this.restore(number - 1);
    const changes = [];
    while (this.number < number) {
      const event = Math.min(number, this.nextEvent());
      if (event > this.number + 1) this.number = event - 1;
      const made = this.apply(ready, this.number + 1);
      if (this.number === number) changes.push(...made);
    }
    const calls = ended ? ending(this.calls, this.trace.result) : this.calls;
    this.shown = { number, ready, calls, changes, ended };
    return this.shown;
  }

  /** The next event that has a step, at least the one after the current event. */
  nextEvent() {
    const next = this.trace.steps[this.step];
    return next ? Math.max(next[0], this.number + 1) : Infinity;
  }

  apply(ready, event) {
    const { steps } = this.trace, made = [];
    for (; this.step < steps.length; this.step++) {
      const [first, place, what, count = 1] = steps[this.step];
      if (first > event) break;
      made.push(this.change(ready, event, what.open ? place + event - first : place, what));
      if (first + count > event + 1) break;
    }
    this.number = event;
    const latest = this.checkpoints[this.checkpoints.length - 1];
    if (event - (latest ? latest.number : -1) >= CHECKPOINT) this.checkpoints.push({ number: event, step: this.step, calls: this.calls.map(copy) });
    return made;
  }

  /** Goes back to the latest checkpoint that is not after event `number`. */
  restore(number) {
    const found = this.checkpoints.findLast((one) => one.number <= number) || { number: -1, step: 0, calls: [] };
    Object.assign(this, { number: found.number, step: found.step, calls: found.calls.map(copy) });
  }

  change(ready, event, place, what) {
    if (place < 0) return { kind: "skip", place };
    const entry = typeof what === "number" ? what : what.arguments;
    const text = typeof entry === "number" ? fragmentText(this.response, ready, event, entry) : entry;
    if (what.open) {
      const call = this.calls[place] = { place, id: what.id || "", name: what.name || "", arguments: text || "", old: 0, event, opened: event };
      return { kind: "open", place, name: call.name };
    }
    const call = this.calls[place];
    call.event = event;
    if (typeof what === "number" || what.append !== undefined) {
      const added = what.append ?? text;
      call.old = call.arguments.length;
      call.arguments += added;
      return { kind: "append", place, text: added, name: call.name };
    }
    const keys = Object.keys(what), kind = keys.some((key) => call[key]) ? "replace" : "set";
    call.old = text === undefined ? call.arguments.length : 0;
    for (const key of ["id", "name"]) if (what[key] !== undefined) call[key] = what[key];
    if (text !== undefined) call.arguments = text;
    return { kind, place, keys, name: call.name };
  }
}

const copy = (call) => ({ ...call });

/** The arguments of an event's call fragment, counted from 0. */
function fragmentText(response, ready, event, entry) {
  const found = (response.events[rowFor(ready, event)].fragments || []).filter(isCall)[entry];
  return found && typeof found.arguments === "string" ? found.arguments : "";
}

/** The calls at the end of the response: dropped ones, incomplete ones, arguments as the client changes them. */
function ending(calls, result) {
  const out = calls.map((call) => ({ ...call, done: true }));
  for (const one of result) for (let place = one.place; place < one.place + (one.count || 1); place++) {
    const call = out[place];
    if (!call) continue;
    if (one.arguments !== undefined) Object.assign(call, { before: call.arguments, arguments: one.arguments, old: sharedLength(call.arguments, one.arguments) });
    if (one.dropped) call.dropped = one.dropped;
    if (one.complete === false) call.incomplete = true;
  }
  return out;
}

function sharedLength(a, b) {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  return same;
}

const players = new WeakMap();

/** The state of a trace after an event; the calls change with the next one that is asked for. */
function stateAt(response, trace, number) {
  let player = players.get(trace);
  if (!player || player.response !== response) players.set(trace, player = new Player(response, trace));
  return player.at(number);
}

const ends = new WeakMap();

/** The calls at the end of a trace. Does not move the state that is shown. */
function callsAtEnd(response, trace) {
  const ready = prepared(response);
  if (ends.get(trace)?.ready !== ready) ends.set(trace, { ready, calls: new Player(response, trace).at(ready.last).calls });
  return ends.get(trace).calls;
}

/** What an event did to a model's calls, as a phrase. */
function changeWords(changes) {
  if (!changes.length) return "no tool call in this event";
  return changes.map((one) => {
    const call = `call ${one.place}${one.name ? ` ${one.name}` : ""}`;
    if (one.kind === "skip") return "ignores this event";
    if (one.kind === "open") return `opens call ${one.place}${one.name ? ` ${one.name}` : ", without a name"}`;
    if (one.kind === "append") return one.text ? `appends to ${call}` : `appends nothing to ${call}`;
    return `${one.kind}s ${one.keys.map((key) => `the ${key}`).join(" and ")} of call ${one.place}`;
  }).join("; ");
}

/** The lanes of a trace, one for each call: {place, name, dropped, events: [[row, lane as sent], …]}. */
function traceLanes(response, trace) {
  const ready = prepared(response), lanes = new Map();
  for (const [first, place, what, count = 1] of trace.steps) {
    if (place < 0) continue;
    for (let event = first; event < first + count; event++) {
      const at = what.open ? place + event - first : place, row = rowFor(ready, event);
      if (!lanes.has(at)) lanes.set(at, { place: at, events: [] });
      const lane = lanes.get(at), fragments = (response.events[row].fragments || []).filter(isCall);
      if (what.name) lane.name = what.name;
      lane.events.push([row, (fragments[typeof what === "number" ? what : 0] || fragments[0] || { lane: "stream" }).lane]);
    }
  }
  for (const one of trace.result) for (let at = one.place; at < one.place + (one.count || 1); at++) if (lanes.has(at)) lanes.get(at).dropped = one.dropped;
  return [...lanes.values()].sort((a, b) => a.place - b.place);
}

const known = new WeakMap();

/** The readings of a response by model: {model, trace, steps, same, correct, diverges}. `same`: reads as the protocol does. */
function readingsOf(response) {
  const { readings } = response;
  if (!readings) return new Map();
  if (known.has(readings)) return known.get(readings);
  const [protocol] = readings.models;
  const all = [...readings.models, ...readings.same.map((model) => ({ model, trace: protocol.trace, correct: protocol.correct }))];
  const found = new Map(all.map((one) => [one.model, { ...one, same: one.trace === protocol.trace, steps: readings.traces[one.trace] }]));
  const intended = found.get("intended");
  if (intended) intended.steps = { ...intended.steps, result: response.calls.flatMap((call, place) => (call.complete ? [] : [{ place, complete: false }])) };
  known.set(readings, found);
  return found;
}

/** Whether the stream violates the protocol: a client that follows the protocol ends with other calls than intended. */
function violatesProtocol(response) {
  const readings = readingsOf(response), ends = ["protocol", "intended"].map((model) => readings.get(model));
  if (ends[0].correct !== false || !ends[1]) return false;
  const [protocol, intended] = ends.map(({ steps }) => callsAtEnd(response, steps).map((call) => [call.name, call.arguments]));
  return JSON.stringify(protocol) !== JSON.stringify(intended);
}

/** The model that explains the client, else the protocol. */
function clientModel(response) { return (response.readings && response.readings.client) || "protocol"; }

/** Whether two arguments are the same JSON. No arguments are an empty object. */
function sameJson(a, b) { return canonical(a) === canonical(b); }

/** Arguments as text that is equal for equal JSON. Numbers that JavaScript cannot hold are compared as text. */
function canonical(text) {
  if (text === null || text === undefined || text === "") return "{}";
  if (/\d{16}/.test(text)) return String(text).replace(/\s/g, "");
  const sorted = (_, value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) : value);
  try { return JSON.stringify(JSON.parse(text), sorted); } catch { return String(text); }
}

/** The arguments of a returned call as text. */
function returnedText(call) { return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {}); }

/** Whether the client's model ends with exactly the calls that the client returned. */
function explainsReturned(response) {
  const reading = readingsOf(response).get(clientModel(response)), returned = response.verdict.returned || [];
  const calls = callsAtEnd(response, reading.steps).filter((call) => call && !call.dropped);
  return calls.length === returned.length && calls.every((call, k) => call.name === (returned[k].name || "") && sameJson(call.arguments, returnedText(returned[k])));
}
