// Shows a document, and connects the controls.

const LEGEND = [["error", "error: a client that follows the protocol cannot get the calls right"], ["warning", "warning: violates the protocol"], ["note", "note: valid, but breaks some clients"], ["bad", "the client misread this response"], ["ok", "read as sent"], ["none", "nothing to judge"]];

function drawAbout() {
  const { generated: { files }, conversations, responses } = app.doc, misread = responses.filter((one) => one.verdict.understood === false).length;
  const from = files.length === 1 ? files[0] : files.length ? counted(files.length, "file") : "";
  const counts = [from, counted(conversations.length, "conversation"), counted(responses.length, "response")].filter(Boolean).join(" · ");
  // The button comes first: a long path is cut off at the right.
  fill($("about"), ...(misread ? [el("button", { type: "button", class: "link", "aria-keyshortcuts": "w", title: "Go to the next misread response (w)", onclick: () => app.goMisread() }, `${misread} misread`), " · "] : []), counts);
}

/** Shows a document: the response and event of the address, else the first misread response. */
function begin(doc) {
  app.doc = doc;
  for (const response of doc.responses) writeOut(response.events);
  live.show();
  $("app").hidden = !doc.responses.length;
  $("empty").hidden = !!doc.responses.length;
  if (!doc.responses.length) { drawEmpty(doc); return; }
  drawAbout();
  app.timeline ??= new Timeline(app);
  app.list ??= new EventList(app);
  app.interpretation ??= new Interpretation(app);
  drawSide(app);
  const { at, event, model } = fromAddress(doc);
  app.show(at, { patched: doc.generated.live, row: event === null ? null : rowFor(prepared(doc.responses[at]), event), model });
}

/** What the address asks for. Values without a meaning are ignored. */
function fromAddress(doc) {
  const wanted = new URLSearchParams(location.hash.slice(1)), number = (key) => (/^\d+$/.test(wanted.get(key) || "") ? Number(wanted.get(key)) : null);
  const misread = doc.responses.findIndex((one) => one.verdict.understood === false), found = doc.responses.findIndex((one) => one.findings.length);
  const at = doc.responses[number("r")] ? number("r") : Math.max(0, misread >= 0 ? misread : found);
  return { at, event: number("e"), model: wanted.get("as") };
}

function drawEmpty({ generated }) {
  const [title, text, ...ways] = generated.live
    ? ["Waiting for the first response", "The proxy is ready. This page grows with the client's first request.", ["If the client does not use the proxy yet, start it with toolstream:", "toolstream run --view -- YOUR-CLIENT"]]
    : ["No LLM response in these files", "toolstream found no request to an LLM provider. mitmproxy stores streamed bodies only with this option:", ["", 'mitmdump -s "$(toolstream addon-path)" -w session.flow --set store_streamed_bodies=true'], ["Or start the client with toolstream and save its traffic:", "toolstream run --capture captures -- YOUR-CLIENT"]];
  $("empty").replaceChildren(el("h1", {}, title), el("p", {}, text), ...ways.flatMap(([words, line]) => [words ? el("p", {}, words) : "", command(line)]));
}

function connect(onKeyDown = onKey) {
  const on = (id, name, act) => $(id).addEventListener(name, act), theme = setting("theme");
  if (["light", "dark"].includes(theme)) document.documentElement.dataset.theme = theme;
  $("legend").replaceChildren(...LEGEND.map(([grade, words]) => el("li", {}, signFor(grade), words)));
  on("side-filter", "input", () => drawSide(app));
  on("side-misread", "change", () => drawSide(app));
  on("axis-time", "click", () => app.setAxis("time"));
  on("axis-event", "click", () => app.setAxis("event"));
  on("zoom-in", "click", () => app.timeline.zoomBy(.5));
  on("zoom-out", "click", () => app.timeline.zoomBy(2));
  on("zoom-all", "click", () => app.timeline.all());
  for (const one of document.querySelectorAll("[data-show]")) one.addEventListener("click", () => { app.only = one.dataset.show; app.filter(); });
  on("find", "input", () => { app.find = $("find").value.trim(); app.filter(); });
  on("raw", "click", () => { app.rawLines = !app.rawLines; app.filter(); });
  on("fold", "click", () => { app.folds = !app.folds; app.list.rebuild({ reset: true }); app.filter(); });
  on("live", "click", () => { if ($("live").dataset.state !== "over") app.show(app.doc.responses.length - 1, { row: Infinity }); });
  on("theme", "click", switchTheme);
  on("help-open", "click", () => $("help").showModal());
  on("help-close", "click", () => $("help").close());
  $("keys-on").checked = setting("keys") !== "off";
  on("keys-on", "change", () => setting("keys", $("keys-on").checked ? "on" : "off"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.timeline?.draw());
  addEventListener("keydown", onKeyDown);
}

function switchTheme() {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  setting("theme", root.dataset.theme);
  app.timeline?.draw();
}
