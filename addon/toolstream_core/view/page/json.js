// JSON as it is on the wire: its tokens with their pointers, which of them matter, and differences. No DOM in here.

const TOKEN = /\s+|"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/gy;
const MAX_TOKENS = 700;

/** Tokens of an event's text: {s, e, kind, pointer}. Text outside JSON is of kind "plain", with pointer null. */
function tokensOf(text) {
  const start = text.search(/[{[]/), out = [], stack = [];
  if (start < 0) return [{ s: 0, e: text.length, kind: "plain", pointer: null }];
  if (start) out.push({ s: 0, e: start, kind: "plain", pointer: null });
  let at = start, key = null;
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) break;
    const word = found[0], s = at, e = at += word.length, top = stack[stack.length - 1];
    let kind = tokenKind(word), pointer = top ? top.path + (top.list ? `/${top.index}` : key === null ? "" : `/${key}`) : "";
    if (kind === "string" && top && !top.list && key === null && /^\s*:/.test(text.slice(e, e + 8))) {
      key = word.slice(1, -1);
      kind = "key";
      pointer = `${top.path}/${key}`;
    } else if (word === "{" || word === "[") {
      stack.push({ path: pointer, list: word === "[", index: 0, key });
      key = null;
    } else if (word === "}" || word === "]") ({ path: pointer, key } = stack.pop() || { path: pointer, key });
    else if (word === "," && top) {
      if (top.list) top.index++;
      pointer = top.path;
      key = null;
    }
    out.push({ s, e, kind, pointer });
    if (!stack.length) break;
  }
  if (at < text.length) out.push({ s: at, e: text.length, kind: "plain", pointer: null });
  return out;
}

function tokenKind(word) {
  if (word[0] === '"') return "string";
  if (/^\s/.test(word)) return "space";
  if ("{}[],:".includes(word)) return "punct";
  return /^[tfn]/.test(word) ? "literal" : "number";
}

/** Marks tokens: `near` below one of the pointers (`*` is any key; none: everything), `hot` also below one of the keys. */
function marked(tokens, pointers, keys) {
  const patterns = pointers.map((one) => new RegExp(`^${one.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, "[^/]+")}(/|$)`));
  const wanted = new Set(keys);
  for (const one of tokens) {
    one.near = one.pointer !== null && (!patterns.length || patterns.some((pattern) => pattern.test(one.pointer)));
    one.hot = one.near && wanted.has(one.pointer.slice(one.pointer.lastIndexOf("/") + 1)) && one.kind !== "space";
  }
  return tokens;
}

/** Two texts as parts {text, kind: same | gone | new}, compared token by token. */
function difference(before, after) {
  // A key and a value with the same text differ: the key has a mark before it, which is removed again.
  const cut = (text) => tokensOf(text).map((one) => (one.kind === "key" ? "\u0000" : "") + text.slice(one.s, one.e));
  const a = cut(before), b = cut(after), out = [];
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const put = (token, kind) => {
    const text = token.replaceAll("\u0000", ""), last = out[out.length - 1];
    if (text && last && last.kind === kind) last.text += text; else if (text) out.push({ text, kind });
  };
  a.slice(0, head).forEach((one) => put(one, "same"));
  aligned(a.slice(head, a.length - tail), b.slice(head, b.length - tail), put);
  a.slice(a.length - tail).forEach((one) => put(one, "same"));
  return out;
}

/** Puts the tokens of two lists in order, those of their longest common subsequence as "same". */
function aligned(x, y, put) {
  if (x.length * y.length > MAX_TOKENS * MAX_TOKENS) { put(x.join(""), "gone"); put(y.join(""), "new"); return; }
  const width = y.length + 1, table = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) {
    table[i * width + j] = x[i] === y[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  }
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) { put(x[i], "same"); i++; j++; }
    else if (j >= y.length || (i < x.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) put(x[i++], "gone");
    else put(y[j++], "new");
  }
}
