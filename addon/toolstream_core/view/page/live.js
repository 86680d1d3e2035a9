// A live page: it grows by patches, and follows the newest event until another one is selected.

const live = {
  /** Applies a patch (docs/view.md) and draws once for each frame. */
  patch(patch) {
    if (patch.ended) { live.end(); return; }
    if ($("live").dataset.state === "lost") live.follow(app.following);
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
    if ($("live").dataset.state !== "over") live.state(on ? "" : "behind", on ? "Live" : "Live: go to the newest");
  },

  /** Nothing more comes. A page that follows goes to the first misread response, as one that is opened does. */
  end() {
    const misread = app.doc.responses.findIndex((one) => one.verdict.understood === false);
    live.state("over", "The client ended");
    if (app.following && misread >= 0) {
      app.following = false;
      drawSide(app);
      drawAbout();
      app.show(misread, { patched: true });
    }
    announce("The client ended");
  },

  /** The proxy is not there. */
  lost() {
    if ($("live").dataset.state !== "over") live.state("lost", "No connection to the proxy");
  },

  state(state, text) {
    $("live").dataset.state = state;
    $("live-text").textContent = text;
  },
};

// The connection to the proxy that serves the page (docs/view.md, Live).
const updates = {
  KEY: "toolstream.token",
  AGAIN_MS: 1000,

  /** The token of the address, which is removed from it; after a reload the one that this tab had. */
  token() {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    if (!given) return sessionStorage.getItem(this.KEY);
    sessionStorage.setItem(this.KEY, given);
    history.replaceState(null, "", location.pathname);
    return given;
  },

  /** Reads patches as long as this tab is open. Each connection begins with everything so far. */
  async follow() {
    const token = this.token();
    for (;;) {
      try {
        const response = await fetch("updates", { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
        if (response.status === 401) { live.state("lost", "Open the address that toolstream printed"); return; }
        await this.read(response.body.pipeThrough(new TextDecoderStream()).getReader());
      } catch { /* the proxy is not there */ }
      live.lost();
      await new Promise((wait) => setTimeout(wait, this.AGAIN_MS));
    }
  },

  async read(reader) {
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.startsWith("data: ")) live.patch(JSON.parse(line.slice(6)));
    }
  },
};
