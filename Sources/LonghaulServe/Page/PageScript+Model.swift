/// The transfers that the page knows: read by pages, then kept by events.
let pageModel = #"""
    const known = new Map(),
      rank = new Map(),
      picked = new Set();
    const live = ["running", "waiting", "paused"],
      over = ["completed", "failed", "cancelled"];
    const pageSize = 1000,
      endedMost = 20000;
    let status = null,
      settings = null,
      version = 0,
      endedRead = false,
      isReading = false,
      lastSweep = 0,
      sweepPage = 0;
    let limitInfo = null;

    const fileOf = t => (t.destination || t.source || t.url).split("/").pop() || t.url;
    /* Only what a row shows is kept. */
    function keep(t) {
      const old = known.get(t.id);
      const row = {
        id: t.id,
        kind: t.kind,
        state: t.state,
        url: t.url,
        name: fileOf(t),
        session: t.session,
        priority: t.priority,
        done: t.bytesDone,
        total: t.bytesTotal,
        rate: t.state === "running" ? t.bytesPerSecond : null,
        created: t.createdAt,
        finished: t.finishedAt,
        waits: t.waitingFor,
        error: t.error
      };
      if (!old || old.state !== row.state || old.priority !== row.priority || old.session !== row.session)
        version += 1;
      /* The list holds the same object. */
      if (old) return Object.assign(old, row);
      known.set(t.id, row);
      return row;
    }

    function forget(id) { if (known.delete(id)) { picked.delete(id);
        version += 1; } }

    function left(row) {
      return row.rate && row.total ? (row.total - row.done) / row.rate : null;
    }
    /* The time left, or why it is not running, in a few words. */
    function told(row) {
      switch (row.state) {
        case "running": { const s = left(row); return s === null ? "running" : span(s) + " left"; }
        case "waiting": {
          if (!row.waits.length) return "ready";
          const text = reason(row.waits[0]) + (row.waits.length > 1 ? " (+" + (row.waits.length - 1) + ")" : "");
          return row.error ? text + " after " + errorText(row.error) : text;
        }
        case "paused":
          return "paused";
        case "failed":
          return "failed " + relative(row.finished) + (row.error ? ": " + errorText(row.error) : "");
        default:
          return row.state + " " + relative(row.finished);
      }
    }

    async function readPages(states, most, each) {
      let after = "",
        read = 0;
      while (read < most) {
        const list = await ask("v1/transfers?view=row&state=" + states + "&limit=" + pageSize + after);
        for (const t of list.transfers) each(t);
        read += list.transfers.length;
        draw();
        if (!list.next) return;
        after = "&after=" + list.next;
      }
    }
    /* All in these states; what the server has no more goes. */
    async function readAll(states, most) {
      if (isReading) return;
      isReading = true;
      try {
        const seen = new Set();
        await readPages(states.join(","), most, t => { seen.add(t.id);
          keep(t); });
        const gone = [...known.values()].filter(row => states.includes(row.state) && !seen.has(row.id)).map(row =>
          row.id);
        await readSome(gone);
        await readOrder();
        lastSweep = Date.now();
      } finally { isReading = false;
        draw(); }
    }
    async function readEnded() {
      if (endedRead) return;
      endedRead = true;
      await readAll(over, endedMost);
    }
    /* Reads these again; ids that are unknown to the server are forgotten. */
    async function readSome(ids) {
      for (let i = 0; i < ids.length; i += 200) {
        const some = ids.slice(i, i + 200),
          list = await ask("v1/transfers?view=row&ids=" + some.join(","));
        const found = new Set(list.transfers.map(t => t.id));
        for (const t of list.transfers) keep(t);
        for (const id of some)
          if (!found.has(id)) forget(id);
      }
    }
    async function readOrder() {
      const order = (await ask("v1/order")).order;
      rank.clear();
      order.forEach((id, index) => rank.set(id, index));
      version += 1;
    }

    /* Once a second while something moves: what runs and what is on the screen.
       Everything else comes by events. */
    async function tick() {
      clearTimeout(tick.timer);
      let next = 5000;
      try {
        status = await ask("v1/status");
        const running = (await ask("v1/transfers?view=row&state=running&limit=200")).transfers;
        const ids = new Set(running.map(t => t.id));
        for (const t of running) keep(t);
        const stale = [...known.values()].filter(row => row.state === "running" && !ids.has(row.id)).map(row =>
          row.id);
        tick.turn = (tick.turn || 0) + 1;
        const seen = tick.turn % 2 ? [] : onScreen().filter(id => !ids.has(id));
        await readSome([...new Set([...stale, ...seen])]);
        await catchUp();
        sample();
        showFigures();
        draw();
        refreshPanel();
        $("fresh").textContent = "";
        if (status.counts.running) next = 1000;
        if (!follow.isOpen) follow();
      } catch (error) {
        put($("fresh"), "Not up to date: " + error.message);
        if ($("locked").hidden && !tick.hasFailed) say(error.message, true);
        tick.hasFailed = true;
        if (!$("locked").hidden) return;
        tick.timer = setTimeout(tick, 5000);
        return;
      }
      if (tick.hasFailed) { tick.hasFailed = false;
        say("connected again"); }
      if (!document.hidden) tick.timer = setTimeout(tick, next);
    }
    /* Counts that differ tell of transfers that came, went or changed without an event. */
    async function catchUp() {
      if (isReading) return;
      const own = {};
      for (const row of known.values()) own[row.state] = (own[row.state] || 0) + 1;
      const differs = state => (own[state] || 0) !== status.counts[state];
      if (live.some(differs)) {
        const list = await ask("v1/transfers?view=row&state=" + live.join(",") + "&limit=100");
        const before = known.size;
        for (const t of list.transfers) keep(t);
        if (known.size > before) await readOrder();
        if (Date.now() - lastSweep > 10000) readAll(live, 200000).catch(() => {});
      } else if (endedRead && status.counts.completed + status.counts.failed + status.counts.cancelled <
        endedMost && over.some(differs)) {
        if (Date.now() - lastSweep > 10000) readAll(over, endedMost).catch(() => {});
      }
    }

    /* Server-Sent Events by fetch, which can carry the secret. */
    async function follow() {
      follow.isOpen = true;
      try {
        const answer = await fetch(root +
    "v1/events?after=9007199254740991", { headers: headers({ Accept: "text/event-stream" }) });
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          text += value;
          const parts = text.split("\n\n");
          text = parts.pop();
          for (const part of parts) {
            const line = part.split("\n").find(line => line.startsWith("data: "));
            if (line) happened(JSON.parse(line.slice(6)));
          }
          draw();
        }
      } catch (error) { /* The next tick opens it again. */ }
      follow.isOpen = false;
    }

    function happened(event) {
      if (!event.transfer) return;
      const row = keep(event.transfer);
      if (open.id === row.id) refreshPanel(true);
      if (event.type === "transferFailed") say(row.name + ": " + told(row), true);
    }
    document.addEventListener("visibilitychange", () => { if (!document.hidden && $("locked").hidden) tick(); });
    """#
