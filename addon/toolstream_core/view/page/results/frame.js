// The elements of the results page that the page of a session does not have.

const CASE_KEYS = [["← → ↑ ↓", "move in the table; Home and End go to the ends of a row, with Ctrl to the first and last cell"], ["Enter", "open a case"], ["[ ]", "previous and next case of this client, while a case is open"], ["Esc", "back to the results"], ["/", "filter by text, in the results"]];

function addFrame() {
  const search = el("input", { type: "search", id: "text", placeholder: "Filter by text ( / )", "aria-label": "Filter by text", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false" });
  const select = (id, label, options = []) => el("select", { id, "aria-label": label }, options.map(([value, words]) => el("option", { value }, words)));
  const need = select("need", "Required or optional", [["", "required and optional"], ["required", "required only"], ["optional", "optional only"]]);
  const order = select("order", "Order", [["kind", "by kind"], ["worst", "worst first"]]);
  const file = el("input", { type: "file", id: "compare-file", accept: ".json,application/json", "aria-label": "JSON of an earlier run", hidden: true });
  const results = el("main", { id: "results", tabindex: "-1" },
    el("div", { class: "head" }, el("h1", {}, "toolstream check"), el("span", { class: "grow" }), button({ id: "compare" }, "Compare with an earlier run…"), file),
    el("p", { id: "notice", class: "banner", role: "alert", hidden: true }),
    el("section", { id: "clients", "aria-label": "Clients" }), el("section", { id: "changes", class: "banner", "aria-label": "Since the earlier run", hidden: true }),
    el("form", { id: "filters", role: "search", "aria-label": "Filter the cases" }, search, el("div", { id: "grades", role: "group", "aria-label": "Grades" }), select("kind", "Kind"), need, select("change", "Change since the earlier run"), order, button({ id: "clear" }, "Clear"), el("output", { id: "cases-shown", "aria-live": "polite" })),
    el("div", { id: "matrix", tabindex: "-1" }));
  $("empty").before(results);
  $("side").prepend(el("section", { id: "case", "aria-label": "Case" }));
  $("help-title").before(el("h2", {}, "Keys of the results"), el("dl", { class: "keys" }, CASE_KEYS.map(([keys, words]) => [el("dt", {}, keys.split(" ").map((key) => [el("kbd", {}, key), " "])), el("dd", {}, words)])),
    el("h2", {}, "Grades"), el("ul", { id: "grades-legend" }, CASE_GRADES.map((grade) => el("li", {}, mark(grade), el("span", {}, el("b", {}, grade), ` ${MEANINGS[grade]}`)))),
    el("p", { class: "quiet" }, "A filled mark is a required case, an outlined one is optional."));
}
