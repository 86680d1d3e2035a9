// A live page: it grows by patches, and follows the newest event until another one is selected.

const live = {
  /** Applies a patch (docs/view.md) and draws once for each frame. */
  patch(patch) {
    if (patch.ended) { live.end(); return; }
    applyPatch(app.doc, patch);
    if (!app.timeline) { if (app.doc.responses.length) begin(app.doc); return; }
    live.drawing ||= requestAnimationFrame(() => { live.drawing = 0; live.draw(); });
  },

  draw() {
    const newest = app.doc.responses.length - 1, ready = prepared(app.response);
    drawSide(app);
    drawAbout();
    if (app.following && app.at !== newest) { app.show(newest, { row: Infinity, patched: true }); return; }
    const chosen = app.model !== "protocol" && readingsOf(app.response).has(app.model);
    app.model = chosen ? app.model : clientModel(app.response);
    drawVerdict(app);
    app.showSpan();
    app.timeline.grow();
    app.list.rebuild();
    app.interpretation.refresh();
    app.go(app.following ? ready.count - 1 : app.row, { unfold: false, patched: true });
  },

  show() {
    $("live").hidden = !app.doc.generated.live;
    $("live-text").textContent = "Live";
  },

  /** Whether the page keeps to the newest event. */
  follow(on) {
    app.following = on;
    if ($("live").dataset.state === "over") return;
    $("live").dataset.state = on ? "" : "behind";
    $("live-text").textContent = on ? "Live" : "Live: go to the newest";
  },

  end() {
    $("live").dataset.state = "over";
    $("live-text").textContent = "The client ended";
    announce("The client ended");
  },
};
