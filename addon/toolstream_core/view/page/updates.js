// The connection of a live page to the proxy that serves it (docs/view.md, Live).

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
