/// The panel of one transfer: its facts, and why it is where it is.
let pagePanel = #"""
    const open = { id: null, stamp: "" };
    const eventWords = {
      transferCompleted: "completed",
      transferFailed: "failed",
      transferCancelled: "cancelled",
      transferWaiting: "waits",
      transferRestarted: "started over: its bytes were of no use",
      inputNeeded: "its program is asked",
      sessionFinished: "all of its session have ended"
    };
    const versionWords = { 10: "HTTP/1.0", 11: "HTTP/1.1", 20: "HTTP/2", 30: "HTTP/3" };
    const plain = name => name.replace(/^transfer/, "").replace(/[A-Z]/g, c => " " + c.toLowerCase()).trim();

    async function openPanel(id, isFocused = false) {
      if (id === undefined || id === null) return;
      open.id = id;
      open.stamp = "";
      open.editing = false;
      show($("panel"), true);
      await refreshPanel(true);
      if (isFocused) $("panel").querySelector("button")?.focus();
    }

    function closePanel() { show($("panel"), false);
      open.id = null;
      grid.focus();
      draw(); }
    /* Read again when the transfer has changed, and every few seconds while it moves. */
    async function refreshPanel(isForced = false) {
      if ($("panel").hidden || open.id === null || open.editing) return;
      const id = open.id,
        row = known.get(id),
        stamp = row ? [row.state, row.done, row.priority, row.waits.map(w => w.reason)].join() : "";
      if (!isForced && stamp === open.stamp && (tick.turn || 0) % 5) return;
      if ($("panel").contains(document.activeElement) && document.activeElement.matches("input,select,textarea"))
        return;
      open.stamp = stamp;
      try {
        const t = await ask("v1/transfers/" + id),
          why = live.includes(t.state) && t.state !== "running" ? await ask("v1/transfers/" + id + "/why") : null;
        if (open.id === id) showPanel(t, why);
      } catch (error) { if (open.id === id) $("panel").replaceChildren(panelTop("Transfer " + id), el(
        "p", { className: "bad" }, error.message)); }
    }

    function panelTop(title) {
      return el("div", { className: "top" }, el("h2", {}, title), button("✕", closePanel, { "aria-label": "Close",
        title: "Close (Esc)", className: "bare" }));
    }

    function copyButton(text) {
      return button("Copy", () => attempt(async () => {
        /* The clipboard belongs to secure pages; elsewhere a selection is copied. */
        if (navigator.clipboard && isSecureContext) await navigator.clipboard.writeText(text);
        else {
          const field = el("textarea", { value: text, className: "off" });
          document.body.append(field);
          field.select();
          const isDone = document.execCommand("copy");
          field.remove();
          if (!isDone) throw new Error("the browser does not copy");
        }
      }, "copied"), { className: "bare" });
    }
    const servable = t => t.kind === "download" && t.state === "completed" && settings &&
      settings.directories.some(d => t.destination.startsWith(d.endsWith("/") ? d : d + "/"));
    /* A link cannot carry the secret: it has a ticket for a minute. */
    async function saveFile(t) {
      await attempt(async () => {
        let query = "";
        if (sessionStorage.getItem("secret")) query = "?ticket=" + (await ask("v1/transfers/" + t.id +
          "/file", "POST")).ticket;
        const link = el("a", { href: root + "v1/transfers/" + t.id + "/file" + query, download: fileOf(
          t) });
        document.body.append(link);
        link.click();
        link.remove();
      });
    }

    function facts(pairs, className = "") {
      return el("dl", { className }, ...pairs.filter(([, value]) => value !== null && value !== undefined &&
          value !== "" && value !== false)
        .flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, ...[value].flat())]));
    }

    function whyList(t, why) {
      const items = [],
        line = (isOK, ...content) => items.push(el("li", {}, el("span", { className: isOK ? "good" : "warn",
            role: "img", "aria-label": isOK ? "holds" : "does not hold" },
          isOK ? "✓" : "✗"), el("span", {}, ...content)));
      const waits = (why ?? t).waitingFor,
        missing = new Set(waits.map(w => w.reason));
      if (t.state === "running") line(true, "It runs.");
      if (t.state === "completed") line(true, "It is complete.");
      if (t.state === "cancelled") line(false, "It was cancelled.");
      if (t.state === "paused") line(false, "It is paused until it is resumed.");
      if (t.error) line(false, (t.state === "failed" ? "It failed: " : "The last attempt failed: ") + local(t.error
        .message));
      for (const w of waits) line(false, reason(w)[0].toUpperCase() + reason(w).slice(1),
        w.required && !["earliestBegin", "transfers"].includes(w.reason) ? ": needs " + local(w.required) : "",
        w.current && !["earliestBegin", "window"].includes(w.reason) ? ", now " + local(w.current) : "", w.since ?
        el("span", { className: "soft" }, " – since ", when(w.since)) : "");
      if (live.includes(t.state)) {
        for (const name of t.require)
          if (!missing.has(name) && conditionWords[name]) line(true, "Required: " + conditionWords[name]);
        for (const name of t.prefer)
          if (!missing.has(name) && conditionWords[name]) line(true, "Preferred: " + conditionWords[name] + (t
            .preferencesWaived ? " (no longer waited for)" : ""));
        if (t.earliestBegin && !missing.has("earliestBegin")) line(true, "Its earliest start has passed");
        if (t.window && !missing.has("window")) line(true, "Its window " + t.window + " is open");
        if (!missing.has("network")) line(true, "A network is there");
        if (!missing.has("engine")) line(true, "An engine runs");
      }
      return el("ul", { className: "plain why" }, items);
    }

    function showPanel(t, why) {
      const panel = $("panel"),
        name = fileOf(t),
        last = t.attemptRecords.at(-1),
        file = t.destination || t.source,
        top = panel.scrollTop;
      const part = t.bytesTotal ? Math.floor(100 * t.bytesDone / t.bytesTotal) + " %, " : "";
      const able = actions.filter(a => a.of.includes(t.state)).map(a => button(a.text, () => act(a, [t
      .id]), { className: a.verb === "cancel" ? "danger" : "" }));
      const nodes = [panelTop(name),
        el("p", { className: styles[t.state] || "" }, el("b", {}, live.includes(t.state) && t.state !== "paused" ? t
          .state + " – " : ""), told(keep(t))),
        settings && settings.readOnly ? "" : el("div", { className: "buttons" }, ...able, t.state === "completed" ?
          "" : button("Edit…", () => editTransfer(t))),
        servable(t) ? el("div", { className: "buttons" }, button("Save the file", () => saveFile(
        t), { className: "main" })) : "",
        el("h3", {}, "Why"), whyList(t, why),
        why && why.forecast.text ? el("p", { className: "soft" }, "Forecast: " + local(why.forecast.text)) : "",
        el("h3", {}, "Facts"), facts([
          ["URL", [el("code", {}, t.url), " ", copyButton(t.url)]],
          [t.kind === "upload" ? "Source" : "File", [el("code", {}, file), " ", copyButton(file)]],
          ["Progress", part + size(t.bytesDone) + (t.bytesTotal ? " of " + size(t.bytesTotal) : "")],
          ["Rate", t.bytesPerSecond ? rate(t.bytesPerSecond) : ""], ["On the wire", size(t.bytesFetched)],
          ["Server", (last ? last.url : t.url).split("/")[2]], ["Address", last && last.peer], ["Protocol", last &&
            versionWords[last.httpVersion]],
          ["Connections", t.requests ? count(t.requests, "request") + " under way" : t.kind === "download" ?
            "at most " + (t.options.connections === "auto" ? "as the server bears" : t.options.connections) : ""
            ],
          ["Validator", t.validator], ["Checksum", t.checksum],
          ["Mirrors", t.options.mirrors.length ? t.options.mirrors.join(", ") : ""],
          ["Session", t.session], ["Priority", t.priority + (t.discretionary ? ", at a good moment" : "")],
          ["Place", rank.has(t.id) ? "number " + (rank.get(t.id) + 1) + " of " + rank.size : ""],
          ["Rate limit", t.options.limitRate ? rate(t.options.limitRate) : ""], ["Window", t.window], ["Not before",
            when(t.earliestBegin)], ["Deadline", when(t.deadline)],
          ["Enqueued", when(t.createdAt)], ["Started", when(t.startedAt)], ["Ended", when(t.finishedAt)],
          ["Attempts", t.attempts + (t.restarts ? ", started over " + t.restarts + " times" : "")], ["Id", String(t
            .id)],
        ])];
      if (t.attemptRecords.length) nodes.push(el("h3", {}, "Attempts"), el("div", { className: "scroll",
        tabIndex: 0, role: "region", "aria-label": "Attempts" }, el("table", {},
        el("thead", {}, el("tr", {}, ...["Begun", "Took", "Bytes", "Result"].map(text => el(
        "th", { scope: "col" }, text)))),
        el("tbody", {}, ...[...t.attemptRecords].reverse().map(a => el("tr", {}, el("td", {}, when(a
            .startedAt)),
          el("td", {}, a.endedAt ? span((new Date(a.endedAt) - new Date(a.startedAt)) / 1000) : "runs"),
          el("td", {}, size(a.bytes)),
          el("td", { title: a.message ? a.message : "" }, [a.outcome === "completed" ? "completed" :
            plain(a.outcome || "runs"), a.httpStatus ? "status " + a.httpStatus : "",
            versionWords[a.httpVersion] || "", a.peer || "", a.message ? local(a.message) : ""].filter(Boolean).join(
            ", "))))))));
      if (t.events.length) nodes.push(el("h3", {}, "Events"), el("ul", { className: "plain" }, ...[...t.events]
        .reverse().map(e =>
          el("li", {}, when(e.at), " – ", eventWords[e.type] || plain(e.type), e.detail && e.detail.message ?
            ": " + local(e.detail.message) : ""))));
      if (t.response) nodes.push(el("h3", {}, "Answer of the server"), el("pre", { tabIndex: 0 }, (t.response
        .status ? "status " + t.response.status + "\n" : "") + (t.response.body ?? "")));
      const focus = panel.contains(document.activeElement) ? [...panel.querySelectorAll("button")].indexOf(document
        .activeElement) : -1;
      panel.replaceChildren(...nodes.filter(Boolean));
      panel.scrollTop = top;
      if (focus >= 0)[...panel.querySelectorAll("button")].at(Math.min(focus, panel.querySelectorAll("button")
        .length - 1))?.focus();
    }
    panelKeys();

    function panelKeys() { $("panel").addEventListener("keydown", event => { if (event.key === "Escape") { event
            .stopPropagation();
          closePanel(); } }); }
    """#
