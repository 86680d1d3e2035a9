// Helpers for elements. Text of the document is inserted as text, never as markup.

const $ = (id) => document.getElementById(id);
const SVG = new Set(["svg", "path", "rect", "circle"]);
const COPIED_MS = 1600;
const COLOURS = ["paper", "panel", "ink", "quiet", "faint", "line", "edge", "bad", "warn", "note", "ok", "stall", "text", "reasoning", "call-0", "call-1", "call-2", "call-3", "call-4", "call-5"];
const CALL_COLOURS = 6;
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff]/gu;

function el(tag, attributes = {}, ...children) {
  const made = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "style") for (const [name, one] of Object.entries(value)) made.style.setProperty(name, one);
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : spelled(value));
  }
  made.append(...present(children));
  return made;
}

/** Gives an element other children. */
function fill(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

/** Children without absent ones; text in a form that shows every character. */
function present(children) {
  return children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false && one !== "").map((one) => (one instanceof Node ? one : spelled(one)));
}

/** Text whose invisible characters are spelled out: none of them can hide or turn the text around it. */
function spelled(text) { return String(text).replace(INVISIBLE, (one) => one === "\r" ? "\\r" : `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`); }

function press(id, on) { $(id).setAttribute("aria-pressed", String(on)); }

/** Announces a text to screen readers. */
function announce(text) { $("announced").textContent = text; }

/** The page's colours as the browser computes them, for canvases. */
function palette() {
  const probe = document.body.appendChild(document.createElement("i")), out = {};
  for (const name of COLOURS) {
    probe.style.color = `var(--${name})`;
    out[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return out;
}

function laneColour(name) {
  const kind = laneKind(name);
  return kind === "call" ? `call-${callPlace(name) % CALL_COLOURS}` : kind === "stream" ? "quiet" : kind;
}

const CROSS = "M4.2 4.2l5.6 5.6M9.8 4.2l-5.6 5.6", BANG = "M7 5v3.2M7 10.3v.2";
const SIGNS = {
  ok: { path: "M3 7.5 6 10.5 11.2 4", colour: "ok" },
  bad: { path: CROSS, form: "square", colour: "bad" }, error: { path: CROSS, form: "square", colour: "bad" },
  warn: { path: BANG, form: "triangle", colour: "warn" }, warning: { path: BANG, form: "triangle", colour: "warn" },
  note: { path: "M7 6.3v4M7 3.8v.2", form: "dot", colour: "note" },
  none: { path: "M3.5 7h7", colour: "faint" }, live: { form: "ring", colour: "ok" },
};
const FORMS = {
  square: () => el("rect", { x: 0.5, y: 0.5, width: 13, height: 13, rx: 2.5 }),
  triangle: () => el("path", { d: "M7 .8 13.6 12.6H.4Z" }),
  dot: () => el("circle", { cx: 7, cy: 7, r: 6.5 }),
  ring: () => el("circle", { class: "ring", cx: 7, cy: 7, r: 4 }),
};

/** The sign of a grade. Its form differs as well as its colour. */
function signFor(grade, label) {
  const { path, form, colour } = SIGNS[grade] || SIGNS.none;
  const svg = el("svg", { class: "sign", viewBox: "0 0 14 14", role: label ? "img" : null, "aria-label": label || null, "aria-hidden": label ? null : "true", style: { "--c": `var(--${colour})` } });
  if (form) svg.append(FORMS[form]());
  if (path) svg.append(el("path", { class: form ? "cut" : "stroke", d: path }));
  return svg;
}

/** A command with a button that copies it. */
function command(text, { id = null, label = "Copy" } = {}) {
  const button = el("button", { type: "button", id, "aria-label": `${label}: ${text}`, onclick: () => copyText(text, button, label) }, label);
  return el("div", { class: "command" }, el("code", { tabindex: "0", role: "group", "aria-label": `Command: ${text}` }, text), button);
}

async function copyText(text, button, label) {
  let done = true;
  try { await navigator.clipboard.writeText(text); } catch {
    const area = el("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  button.textContent = done ? "Copied" : "Not copied";
  announce(done ? "Copied" : "Not copied. Select the text and copy it");
  setTimeout(() => { button.textContent = label; }, COPIED_MS);
}

/** A sentence: `code` between backticks, and a button for "event N" where `go` is given. */
function prose(text, go = null) {
  return text.split(/(`[^`]*`|\bevent \d+)/).map((part) => {
    if (part.startsWith("`")) return el("code", {}, part.slice(1, -1));
    const found = go && /^event (\d+)$/.exec(part);
    return found ? el("button", { type: "button", class: "link", onclick: () => go(Number(found[1])) }, part) : part;
  });
}

/** A group of buttons of which one is pressed: [[name, label], …]. */
function choiceOf(label, options, chosen, choose) {
  return el("div", { class: "choice", role: "group", "aria-label": label },
    options.map(([name, words]) => el("button", { type: "button", "aria-pressed": String(name === chosen), onclick: () => choose(name) }, words)));
}

/** A setting that the browser keeps; pages from disk may have no storage. */
function setting(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(`toolstream.${key}`);
    localStorage.setItem(`toolstream.${key}`, value);
  } catch { /* the page works without it */ }
  return null;
}
