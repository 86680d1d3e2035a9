// The results of `toolstream check`, worked out from its report. No DOM in here.

// The worst first.
const CASE_GRADES = ["failed", "harness-failure", "unknown", "call-rejected", "not-strict", "skipped", "info", "ok"];
const MARKS = { failed: "✗", "harness-failure": "!", unknown: "?", "call-rejected": "×", "not-strict": "~", skipped: "–", info: "•", ok: "✓" };
const MEANINGS = {
  failed: "The client handled the response incorrectly.",
  "harness-failure": "The case could not be run: the client could not start or sent no request, or no fault was injected.",
  unknown: "The client returned a call that must not run, and nothing shows whether it ran.",
  "call-rejected": "The client returned a call, and its result shows that the tool rejected it.",
  "not-strict": "Permitted, but weaker: for example, the client retried first.",
  skipped: "The case did not run; the reason is given.",
  info: "No behaviour is required; the page shows what the client did.",
  ok: "The client handled the response correctly.",
};
// The worst first. Unknown reasons rank after these.
const REASONS = [
  "ran an incomplete call",
  "ran a call twice",
  "returned an incomplete call",
  "returned a call twice",
  "returned a call that was not sent",
  "returned without arguments",
  "wrong arguments",
  "lost a call",
  "split a call",
  "returned merged calls",
  "wrong id",
  "returned a call without a result",
  "wrong name",
  "retried in a loop",
  "gave up",
  "crashed",
];
// Reasons of earlier releases, in any version of the report.
const RENAMED = { "asked again and again": "retried in a loop" };
// Reasons of version 1 of the report.
const RENAMED_IN_2 = {
  "ran a half call": "returned an incomplete call",
  "ran a call twice": "returned a call twice",
  "ran a call that was not made": "returned a call that was not sent",
  "lost arguments": "returned without arguments",
  "merged calls": "returned merged calls",
};
const KINDS = ["healthy", "fault", "shape", "transit", "preset"];
const KIND_TITLES = {
  healthy: "Healthy responses",
  fault: "Faults",
  shape: "Shapes (valid encodings)",
  transit: "Timing and connection faults",
  preset: "Presets",
};
const CHANGES = ["worse", "better", "changed", "new", "gone"];
const CHANGE_MARKS = { worse: "▼", better: "▲", changed: "◆", new: "+", gone: "−" };
// Grades that can be compared; the others do not judge the client.
const BADNESS = { ok: 0, "not-strict": 1, failed: 2 };

const placeIn = (list, value) => (list.includes(value) ? list.indexOf(value) : list.length);
const list = (value) => (Array.isArray(value) ? value : []);
const caseKey = (one) => `${one.kind}/${one.name}`;

// One column for each client: `client`, and `earlier`, the same client in the earlier run, or null.
function columnsOf(report, other) {
  const clients = list(report.clients);
  const others = other ? list(other.clients) : [];
  const alone = clients.length === 1 && others.length === 1;
  return clients.map((client) => ({ client, earlier: earlierClient(client, others) ?? (alone ? others[0] : null) }));
}

function earlierClient(client, others) {
  const same = (one, keys) => keys.every((key) => JSON.stringify(one[key]) === JSON.stringify(client[key]));
  for (const keys of [["name", "protocol", "repair"], ["name", "protocol"], ["name"]]) {
    const found = others.find((one) => same(one, keys));
    if (found) return found;
  }
  return null;
}

// One row for each case, in the order of the kinds, then as they were run. `cells` has one element for each column:
// null, or the case now (`one`), the case in the earlier run (`before`; either may be null), and the `change`.
function rowsOf(columns) {
  const key = rowKey(columns);
  const rows = new Map();
  columns.forEach(({ client, earlier }, at) => {
    for (const one of list(client.cases)) cellOf(rows, key(one), one, columns.length, at).one = one;
    for (const one of list(earlier?.cases)) cellOf(rows, key(one), one, columns.length, at).before = one;
    for (const row of rows.values()) {
      if (row.cells[at]) row.cells[at].change = earlier ? changeOf(row.cells[at].one, row.cells[at].before) : null;
    }
  });
  return [...rows.values()].sort((a, b) => placeIn(KINDS, a.kind) - placeIn(KINDS, b.kind));
}

// Clients of several protocols share rows, as long as no client has two cases of one name.
function rowKey(columns) {
  const lists = columns.flatMap(({ client, earlier }) => [list(client.cases), list(earlier?.cases)]);
  const unique = lists.every((cases) => new Set(cases.map(caseKey)).size === cases.length);
  return unique ? caseKey : (one) => one.id;
}

function cellOf(rows, key, one, width, at) {
  if (!rows.has(key)) {
    const { kind, name, code, title, spec } = one;
    rows.set(key, { key, kind, name, code, title, spec, cells: Array(width).fill(null) });
  }
  const row = rows.get(key);
  row.cells[at] ??= { one: null, before: null, change: null };
  return row.cells[at];
}

// What became of a case since the earlier run: one of `CHANGES`, or "same".
function changeOf(now, before) {
  if (!before) return "new";
  if (!now) return "gone";
  const difference = (BADNESS[now.grade] ?? NaN) - (BADNESS[before.grade] ?? NaN);
  if (now.grade !== before.grade) return difference < 0 ? "better" : difference > 0 ? "worse" : "changed";
  if ((now.reason ?? null) === (before.reason ?? null)) return "same";
  const step = placeIn(REASONS, now.reason) - placeIn(REASONS, before.reason);
  return step > 0 ? "better" : step < 0 ? "worse" : "changed";
}

// Rows in groups with titles; `order` is "kind" or "worst".
function groupsOf(rows, order) {
  if (order === "worst") return [{ title: "", rows: [...rows].sort((a, b) => badness(a) - badness(b)) }];
  const kinds = [...new Set(rows.map((row) => row.kind))];
  return kinds.map((kind) => ({
    title: KIND_TITLES[kind] ?? String(kind),
    rows: rows.filter((row) => row.kind === kind),
  }));
}

// Small is bad: required failures first, then by grade, then by reason.
function badness(row) {
  const worth = ({ grade, reason, required }) =>
    placeIn(CASE_GRADES, grade) * 1000 + (required ? 0 : 500) + placeIn(REASONS, reason);
  const cases = row.cells.flatMap((cell) => (cell?.one ? [worth(cell.one)] : []));
  return Math.min(CASE_GRADES.length * 1000 + 999, ...cases);
}

const NO_FILTER = { text: "", grades: [], kind: "", need: "", change: "" };

// Whether a cell is what the filter asks for. The words of its text may stand anywhere in the row.
function cellMatches(row, cell, filter, name) {
  const one = cell?.one ?? cell?.before;
  if (!one) return false;
  if (filter.grades.length && !(cell.one && filter.grades.includes(one.grade))) return false;
  if (filter.need && filter.need !== (one.required ? "required" : "optional")) return false;
  if (filter.change && (filter.change === "any" ? !CHANGES.includes(cell.change) : cell.change !== filter.change)) {
    return false;
  }
  const text = [row.name, row.code, row.title, row.spec, one.id, one.grade, one.reason, one.message, name];
  const hay = text.filter((part) => typeof part === "string").join("\n").toLowerCase();
  return filter.text.toLowerCase().split(/\s+/).every((word) => hay.includes(word));
}

function rowMatches(row, filter, names) {
  if (filter.kind && row.kind !== filter.kind) return false;
  return row.cells.some((cell, at) => cellMatches(row, cell, filter, names[at]));
}

// How many of each: [[value, count], …] in the order of `order`, without those that do not occur.
function tally(values, order) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => placeIn(order, a) - placeIn(order, b));
}

function summaryOf(client) {
  const cases = list(client.cases);
  const failed = cases.filter((one) => one.grade === "failed");
  return {
    total: cases.length,
    failedRequired: failed.filter((one) => one.required).length,
    harness: cases.filter((one) => one.grade === "harness-failure").length,
    grades: tally(cases.map((one) => one.grade), CASE_GRADES),
    reasons: tally(failed.map((one) => one.reason).filter(Boolean), REASONS),
  };
}

function columnName(client) {
  const repair = list(client.repair);
  return repair.length ? `${client.name} + repair ${repair.join(", ")}` : String(client.name);
}

// The report in a file's text. Throws an Error with one plain line where it is none.
function parseReport(text) {
  let report;
  try {
    report = JSON.parse(text);
  } catch {
    throw new Error("This file is not JSON.");
  }
  if (![1, 2].includes(report?.version) || !Array.isArray(report.clients)) {
    throw new Error("This file is not the JSON of toolstream check (version 1 or 2).");
  }
  for (const one of report.clients.flatMap((client) => list(client.cases))) {
    if (report.version === 1) one.reason = RENAMED_IN_2[one.reason] ?? one.reason;
    one.reason = RENAMED[one.reason] ?? one.reason;
  }
  return report;
}
