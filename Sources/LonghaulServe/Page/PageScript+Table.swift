/// The table: a window of rows, sorted and filtered.
let pageTable = #"""
    const columns = [["name", "Name"], ["progress", "Progress"], ["size", "Size", "middle num"], ["rate", "Rate",
        "middle num"],
      ["left", "Time left or reason"], ["session", "Session", "wide"], ["priority", "Priority", "wide"]];
    const filters = [["open", "Unfinished", live], ["running", "Running", ["running"]], ["waiting", "Waiting", [
        "waiting"]],
      ["paused", "Paused", ["paused"]], ["failed", "Failed", ["failed"]], ["history", "History", over]];
    const marks = { running: "▶", waiting: "○", paused: "‖", completed: "✓", failed: "✕", cancelled: "–" };
    const styles = { failed: "bad", completed: "good", paused: "soft", cancelled: "soft", waiting: "",
    running: "" };
    const levels = { high: 0, normal: 1, low: 2 },
      stateOrder = { running: 0, waiting: 1, paused: 1, failed: 2, completed: 3, cancelled: 3 };
    let filter = "open",
      session = "",
      query = "",
      sort = "order",
      isDown = false;
    let list = [],
      listed = "",
      cursor = null,
      anchor = null,
      rowNodes = new Map(),
      isNarrow = false,
      dragged = null;
    const grid = $("grid"),
      rowBox = el("div", { id: "rows", role: "rowgroup" }),
      empty = el("p", { className: "empty", hidden: true });

    const rowHeight = () => isNarrow ? 68 : 32;
    const headHeight = () => isNarrow ? 0 : 30;

    function keyOf(row) {
      switch (sort) {
        case "name":
          return row.name.toLowerCase();
        case "progress":
          return row.total ? row.done / row.total : row.state === "completed" ? 1 : 0;
        case "size":
          return row.total ?? row.done;
        case "rate":
          return row.rate ?? -1;
        case "left":
          return row.state === "running" ? left(row) ?? 1e12 : 1e13;
        case "session":
          return row.session;
        case "priority":
          return levels[row.priority];
      }
    }

    function compare(a, b) {
      if (sort !== "order") {
        const x = keyOf(a),
          y = keyOf(b);
        if (x < y) return isDown ? 1 : -1;
        if (x > y) return isDown ? -1 : 1;
      }
      const states = stateOrder[a.state] - stateOrder[b.state];
      if (states) return states;
      if (a.finished && b.finished) return a.finished < b.finished ? 1 : a.finished > b.finished ? -1 : b.id - a.id;
      return (rank.get(a.id) ?? 1e9) - (rank.get(b.id) ?? 1e9) || a.id - b.id;
    }
    /* The list is made again when what it depends on has changed; figures that a sort depends on, once a second. */
    function arrange() {
      const moving = ["progress", "rate", "left", "size"].includes(sort) ? Math.floor(Date.now() / 1000) : 0;
      const stamp = [version, filter, session, query, sort, isDown, moving].join("\n");
      if (stamp === listed) return;
      listed = stamp;
      const states = new Set(filters.find(f => f[0] === filter)[2]),
        words = query.toLowerCase().split(/\s+/).filter(Boolean);
      list = [];
      for (const row of known.values()) {
        if (!states.has(row.state) || session && row.session !== session) continue;
        if (words.length) {
          const text = (row.name + " " + row.url + " " + row.session + " " + (row.error ? row.error.message + " " +
            errorText(row.error) : "") + " " + row.id).toLowerCase();
          if (!words.every(word => text.includes(word))) continue;
        }
        list.push(row);
      }
      list.sort(compare);
      place.clear();
      list.forEach((row, index) => place.set(row.id, index));
      for (const id of picked)
        if (!place.has(id)) picked.delete(id);
    }
    const place = new Map();

    function makeRow(id) {
      const cells = ["check", "mark", "name", "progress", "size", "rate", "left", "session", "priority"].map(() =>
        el("div", { role: "gridcell" }));
      const [check, mark, name, progress, bytes, speed, text, group, level] = cells;
      const box = el("input", { type: "checkbox", tabIndex: -1 }),
        fill = el("b"),
        percent = el("span");
      check.append(box);
      progress.className = "track";
      progress.append(el("i", { "aria-hidden": "true" }, fill), percent);
      mark.className = "mark";
      name.className = "name";
      bytes.className = "middle num";
      speed.className = "middle num";
      group.className = level.className = "wide";
      const node = el("div", { role: "row", id: "t" + id, className: "row" }, ...cells);
      node.parts = { box, mark, name, fill, percent, bytes, speed, text, group, level };
      node.dataset.id = id;
      return node;
    }

    function fillRow(node, row, index) {
      const p = node.parts,
        isPicked = picked.has(row.id);
      const name = "row s-" + row.state + (cursor === row.id ? " cursor" : "");
      if (!node.classList.contains("above") && !node.classList.contains("below") && node.className !== name) node
        .className = name;
      node.style.transform = "translateY(" + index * rowHeight() + "px)";
      node.setAttribute("aria-rowindex", index + 2);
      node.setAttribute("aria-selected", isPicked);
      node.draggable = sort === "order" && ["waiting", "paused"].includes(row.state) && !isNarrow;
      p.box.checked = isPicked;
      p.box.setAttribute("aria-label", "Select " + row.name);
      put(p.mark, marks[row.state]);
      p.mark.className = "mark " + styles[row.state];
      p.mark.title = row.state;
      put(p.name, (row.kind === "upload" ? "↑ " : "") + row.name);
      p.name.title = row.url;
      const part = row.total ? Math.min(1, row.done / row.total) : row.state === "completed" ? 1 : 0;
      p.fill.style.width = (part * 100).toFixed(1) + "%";
      put(p.percent, row.total || row.state === "completed" ? Math.floor(part * 100) + " %" : row.done ? "?" : "");
      put(p.bytes, row.state === "completed" || !row.done ? size(row.total ?? (row.done || null)) : size(row.done) +
        " of " + (row.total ? size(row.total) : "?"));
      put(p.speed, row.state === "running" ? rate(row.rate ?? 0) : "");
      const text = told(row);
      put(p.text, isNarrow ? [text, row.state === "running" ? rate(row.rate) : "", row.done || row.total ? size(row
          .total ?? row.done) : "", row.priority === "normal" ? "" : row.priority].filter(Boolean).join(" · ") :
        text);
      p.text.className = styles[row.state];
      p.text.title = row.error ? local(row.error.message) : text;
      put(p.group, row.session);
      p.group.title = row.session;
      put(p.level, row.priority);
    }
    let isDrawing = false;
    /* Rows on the screen and some around them; the others are room. */
    function draw() {
      if (isDrawing) return;
      isDrawing = true;
      requestAnimationFrame(() => {
        isDrawing = false;
        arrange();
        const h = rowHeight(),
          top = Math.max(0, Math.floor((grid.scrollTop - headHeight()) / h) - 6);
        const end = Math.min(list.length, top + Math.ceil(grid.clientHeight / h) + 12),
          wanted = new Set();
        rowBox.style.height = list.length * h + "px";
        grid.setAttribute("aria-rowcount", list.length + 1);
        for (let index = top; index < end; index += 1) wanted.add(list[index].id);
        if (cursor !== null && place.has(cursor)) wanted.add(cursor);
        for (const [id, node] of rowNodes)
          if (!wanted.has(id)) { node.remove();
            rowNodes.delete(id); }
        const ids = [...wanted].sort((a, b) => place.get(a) - place.get(b));
        let before = null;
        for (const id of ids) {
          let node = rowNodes.get(id);
          if (!node) { node = makeRow(id);
            rowNodes.set(id, node); }
          fillRow(node, known.get(id), place.get(id));
          const next = before ? before.nextSibling : rowBox.firstChild;
          if (next !== node) rowBox.insertBefore(node, next);
          before = node;
        }
        if (cursor !== null && rowNodes.has(cursor)) grid.setAttribute("aria-activedescendant", "t" + cursor);
        else grid.removeAttribute("aria-activedescendant");
        show(empty, list.length === 0);
        if (!list.length) put(empty, isReading ? "Reading…" : query || session ? "No transfer matches." :
          filter === "open" ? "Nothing is in the queue. Add… records a transfer." : "There is none.");
        showTools();
      });
    }
    const onScreen = () => [...rowNodes.keys()];

    /* Sorting and filters */
    const headCells = columns.map(([key, text, style]) => {
      const node = el("div", { role: "columnheader", className: style || "" }, button(text, () => sortBy(key)));
      node.key = key;
      return node;
    });
    const orderButton = button("#", () => sortBy(
    "order"), { title: "Order of the queue", "aria-label": "Order of the queue" });

    function sortBy(key) {
      if (sort === key && key !== "order") isDown = !isDown;
      else { sort = key;
        isDown = ["rate", "progress", "size"].includes(key); }
      showSort();
      draw();
    }

    function showSort() {
      for (const node of headCells) {
        const text = columns.find(c => c[0] === node.key)[1],
          isSorted = sort === node.key;
        put(node.firstChild, text + (isSorted ? isDown ? " ▾" : " ▴" : ""));
        if (isSorted) node.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        else node.removeAttribute("aria-sort");
      }
      orderButton.style.color = sort === "order" ? "var(--accent)" : "";
    }

    function choose(name) {
      filter = name;
      for (const node of $("chips").children) node.setAttribute("aria-pressed", node.dataset.name === name);
      if (name === "history" || name === "failed") readEnded().catch(error => say(error.message, true));
      grid.scrollTop = 0;
      draw();
    }

    function showFigures() {
      const c = status.counts,
        numbers = { open: c.running + c.waiting + c.paused, history: c.completed + c.failed + c.cancelled, ...c };
      for (const node of $("chips").children) put(node.lastChild, numbers[node.dataset.name].toLocaleString());
      const sums = { download: 0, upload: 0 };
      for (const row of known.values())
        if (row.state === "running") sums[row.kind] += row.rate || 0;
      put($("down"), "↓ " + rate(sums.download));
      put($("up"), "↑ " + rate(sums.upload));
      put($("counts"), c.running + " running, " + c.waiting.toLocaleString() + " waiting" + (c.failed ? ", " + c
        .failed.toLocaleString() + " failed" : ""));
      put($("engine"), status.engine ? "engine runs (" + status.engine.mode + ")" :
      "no engine runs: nothing moves");
      document.title = (sums.download + sums.upload ? rate(sums.download + sums.upload) + " – " : "") + "Longhaul";
      const names = new Set();
      for (const row of known.values()) names.add(row.session);
      const wanted = ["", ...[...names].sort()],
        select = $("sessions");
      if (wanted.join("\n") !== [...select.options].map(o => o.value).join("\n")) {
        select.replaceChildren(...wanted.map(name => el("option", { value: name }, name || "All sessions")));
        select.value = session = names.has(session) ? session : "";
      }
    }

    function buildTable() {
      grid.append(el("div", { role: "rowgroup" }, el("div", { role: "row",
      className: "head", "aria-rowindex": "1" },
        el("div", { role: "columnheader" }, el("span", { className: "off" }, "Selected")), el(
        "div", { role: "columnheader" }, orderButton), ...headCells)), rowBox, empty);
      $("chips").append(...filters.map(([name, text]) => {
        const node = button("", () => choose(name), { "aria-pressed": name === filter });
        node.dataset.name = name;
        node.append(text + " ", el("span"));
        return node;
      }));
      $("tools").append(...toolButtons, upButton, downButton, detail, cleanButton, chosen);
      $("sessions").addEventListener("change", event => { session = event.target.value;
        draw(); });
      $("search").addEventListener("input", event => { query = event.target.value;
        grid.scrollTop = 0;
        draw(); });
      $("search").addEventListener("keydown", event => { if (event.key === "Escape") { event.target.value = query =
            "";
          draw();
          grid.focus(); } });
      new ResizeObserver(() => { isNarrow = grid.clientWidth < 520;
        grid.classList.toggle("cards", isNarrow);
        draw(); }).observe(grid);
      showSort();
    }
    """#
