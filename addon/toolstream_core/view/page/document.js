// The document of docs/view.schema.json, prepared for the page. No DOM in here.

const STALL_MS = 400, STALL_TIMES = 10;
const MIN_FOLD = 3, MIN_CALL_FOLD = 12;
const GRADES = ["error", "warning", "note"];

/** The texts of all events. An event may give its text as [head, middle, tail] of the event before. */
function rawTexts(events) {
  const out = new Array(events.length);
  let before = "";
  for (let k = 0; k < events.length; k++) {
    const raw = events[k].raw;
    before = out[k] = typeof raw === "string" ? raw
      : before.slice(0, raw[0]) + raw[1] + (raw[2] ? before.slice(before.length - raw[2]) : "");
  }
  return out;
}

/** Writes fragments out. An event may give the text of its only fragment, which else is that of the event before. */
function writeOut(events, before) {
  for (const event of events) {
    if (typeof event.fragments === "string") {
      const [like] = before.fragments;
      event.fragments = [{ ...like, [like.text === undefined ? "arguments" : "text"]: event.fragments }];
    }
    before = event;
  }
}

/** The columns of a response: texts, times, numbers, lanes, findings and stalls by row. Computed once. */
function prepared(response) {
  if (response.ready) return response.ready;
  const { events } = response, count = events.length;
  const ms = new Float64Array(count), number = new Int32Array(count), lane = new Array(count), rowOf = new Map();
  let now = 0;
  for (let k = 0; k < count; k++) {
    const event = events[k];
    if (event.ms !== undefined) now = event.ms;
    ms[k] = now;
    number[k] = event.number === undefined ? k : event.number;
    // A comment has the number of the next event with data; the number means that event.
    if (!event.quiet || !rowOf.has(number[k])) rowOf.set(number[k], k);
    lane[k] = mainLane(event);
  }
  const ready = {
    raw: rawTexts(events), ms, number, lane, rowOf, count, last: count ? number[count - 1] : -1,
    lanes: response.lanes.filter((name) => laneKind(name) !== "stream"), stalls: new Map(stalls(ms, response.timed)), findings: new Map(),
  };
  for (const finding of response.findings) push(ready.findings, rowFor(ready, finding.event), finding);
  Object.defineProperty(response, "ready", { value: ready, configurable: true, enumerable: false });
  return ready;
}

function push(map, key, value) { if (map.has(key)) map.get(key).push(value); else map.set(key, [value]); }

/** The row of an event's number; the nearest row where no event has this number. */
function rowFor(ready, event) {
  const row = ready.rowOf.get(event);
  return row === undefined ? Math.max(0, Math.min(event ?? 0, ready.count - 1)) : row;
}

/** The lane in which the list and the overview show an event. */
function mainLane(event) {
  if (event.quiet) return "quiet";
  if (!event.fragments || !event.fragments.length) return "stream";
  const call = event.fragments.find(isCall);
  return (call || event.fragments[0]).lane;
}

const isCall = (fragment) => fragment.lane.startsWith("call-");

/** What a lane holds: call, text, reasoning or stream. */
function laneKind(name) { return /^(call|text|reasoning)\b/.exec(name)?.[1] ?? "stream"; }

/** The place of a call's lane among the response's calls. */
const callPlace = (lane) => Number(lane.slice("call-".length));

function laneLabel(response, name) {
  if (laneKind(name) !== "call") return name;
  const place = callPlace(name), call = response.calls[place], choice = call && response.choices > 1 ? `, choice ${call.choice}` : "";
  return `call ${place}${call && call.name ? ` ${call.name}` : ""}${choice}`;
}

/** Long gaps, compared with the usual one of this response: [row after the gap, milliseconds]. */
function stalls(ms, timed) {
  if (!timed || ms.length < 3) return [];
  const gaps = Array.from(ms.subarray(1), (at, k) => at - ms[k]);
  const usual = [...gaps].sort((a, b) => a - b)[gaps.length >> 1];
  const limit = Math.max(STALL_MS, usual * STALL_TIMES);
  return gaps.flatMap((gap, k) => (gap >= limit ? [[k + 1, gap]] : []));
}

/** Rows of the list: a number for each event, [first, last] for a folded run of similar events. */
function listRows(response, { open = new Set(), keep = new Set(), match = null, folds = true } = {}) {
  const { lane, count, findings, stalls: slow } = prepared(response), rows = [];
  const plain = (k) => !findings.has(k) && !keep.has(k) && !slow.has(k) && !response.events[k].received && foldable(response.events[k], lane[k]);
  for (let k = 0; k < count; k++) {
    if (match) { if (match(k)) rows.push(k); continue; }
    if (!folds || !plain(k)) { rows.push(k); continue; }
    let end = k;
    while (end + 1 < count && lane[end + 1] === lane[k] && plain(end + 1)) end++;
    const least = laneKind(lane[k]) === "call" ? MIN_CALL_FOLD : MIN_FOLD;
    if (end - k + 1 >= least && !open.has(k)) rows.push([k, end]);
    else for (let one = k; one <= end; one++) rows.push(one);
    k = end;
  }
  return rows;
}

/** Whether an event may be folded: text, comments, and fragments that only continue a call. */
function foldable(event, lane) {
  if (lane === "quiet") return true;
  if (!event.fragments || event.fragments.length !== 1) return false;
  const [said] = event.fragments;
  if (laneKind(lane) !== "call") return said.text !== undefined;
  return !said.phase && !said.name && !(typeof said.id === "string" && said.id) && said.arguments !== undefined;
}

const firstOf = (row) => (typeof row === "number" ? row : row[0]);
const lastOf = (row) => (typeof row === "number" ? row : row[1]);

/** The place of an event's row in a list's rows; -1 if a filter hides it. */
function placeOf(rows, row) {
  let low = 0, high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (row < firstOf(rows[middle])) high = middle - 1; else if (row > lastOf(rows[middle])) low = middle + 1; else return middle;
  }
  return -1;
}

function worstOf(findings) { return GRADES.find((grade) => findings.some((one) => one.severity === grade)) || "note"; }

/** The distance of the marks of an axis: 1, 2 or 5 times a power of ten, at least 1 millisecond or event. */
function niceStep(least) {
  const size = 10 ** Math.max(0, Math.floor(Math.log10(least)));
  return [1, 2, 5, 10].find((one) => one * size >= least * .999) * size;
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

function byteCount(count) {
  return count < 1000 ? `${count} B` : count < 1e6 ? `${(count / 1000).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

function counted(count, word) { return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`; }

/** Applies a patch of a live page: {response, begin?, events?, …}. Any other key replaces that key. */
function applyPatch(doc, patch) {
  const { conversations, models, defects, projects, response: at, begin, events, ...rest } = patch;
  if (conversations) doc.conversations = conversations;
  for (const [key, value] of Object.entries({ models, defects, projects })) if (value) Object.assign(doc[key], value);
  if (at === undefined) return;
  const response = begin ? (doc.responses[at] = begin) : doc.responses[at];
  if (begin) writeOut(response.events);
  if (events) {
    writeOut(events, response.events.at(-1));
    response.events.push(...events);
  }
  Object.assign(response, rest);
  delete response.ready;
}
