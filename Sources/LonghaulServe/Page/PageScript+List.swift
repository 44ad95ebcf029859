/// Selection, keys, order, and changes of what is selected.
let pageList = #"""
    /* Selection */
    function pick(id, { range = false, toggle = false } = {}) {
      if (range && anchor !== null && place.has(anchor)) {
        const [a, b] = [place.get(anchor), place.get(id)].sort((x, y) => x - y);
        if (!toggle) picked.clear();
        for (let i = a; i <= b; i += 1) picked.add(list[i].id);
      } else if (toggle) {
        if (!picked.delete(id)) picked.add(id);
        anchor = id;
      } else { picked.clear();
        picked.add(id);
        anchor = id; }
      cursor = id;
      reveal(id);
      if (!$("panel").hidden && open.id !== id && picked.has(id)) openPanel(id);
      draw();
    }

    function reveal(id) {
      const y = place.get(id) * rowHeight();
      if (y < grid.scrollTop) grid.scrollTop = y;
      else if (y + rowHeight() + headHeight() > grid.scrollTop + grid.clientHeight) grid.scrollTop = y +
      rowHeight() + headHeight() - grid.clientHeight;
    }

    function rowAt(event) { const node = event.target.closest(".row"); return node ? Number(node.dataset.id) :
      null; }
    grid.addEventListener("mousedown", event => { if (event.shiftKey && rowAt(event) !== null) event
      .preventDefault(); });
    grid.addEventListener("click", event => {
      const id = rowAt(event);
      if (id === null) return;
      const isBox = event.target.type === "checkbox" || event.target.contains(rowNodes.get(id)?.parts.box);
      if (isNarrow && !isBox) { pick(id);
        openPanel(id); return; }
      pick(id, { range: event.shiftKey, toggle: isBox || event.ctrlKey || event.metaKey });
      grid.focus({ preventScroll: true });
    });
    grid.addEventListener("dblclick", event => { const id = rowAt(event); if (id !== null && event.target.type !==
        "checkbox") openPanel(id, true); });
    grid.addEventListener("scroll", draw, { passive: true });
    grid.addEventListener("focus", () => { if ((cursor === null || !place.has(cursor)) && list.length) { cursor =
          list[0].id;
        draw(); } });
    grid.addEventListener("keydown", event => {
      if (event.target !== grid) return;
      const at = cursor !== null && place.has(cursor) ? place.get(cursor) : -1,
        page = Math.max(1, Math.floor(grid.clientHeight / rowHeight()) - 2);
      const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -list.length, End: list
          .length };
      if (event.altKey && ["ArrowUp", "ArrowDown"].includes(event.key)) { event.preventDefault(); return moveBy(
          event.key === "ArrowUp" ? -1 : 1); }
      if (event.key in steps && list.length) {
        event.preventDefault();
        const id = list[Math.max(0, Math.min(list.length - 1, at + steps[event.key]))].id;
        if (event.ctrlKey && !event.shiftKey) { cursor = id;
          reveal(id); return draw(); }
        return pick(id, { range: event.shiftKey });
      }
      if (event.key === " " && at >= 0) { event.preventDefault(); return pick(cursor, { toggle: true }); }
      if (event.key === "a" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); for (const row of
            list) picked.add(row.id); return draw(); }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") { if (!$("panel").hidden) closePanel();
        else picked.clear(); return draw(); }
      if (event.key === "Enter" && at >= 0) { event.preventDefault(); return openPanel(cursor, true); }
      const action = actions.find(a => a.keys.includes(event.key));
      if (action) { event.preventDefault(); if (!picked.size && at >= 0) picked.add(cursor);
        act(action); }
    });

    /* Changes of what is selected */
    const actions = [
      { verb: "pause", text: "Pause", done: "paused", keys: ["p"], of: ["running", "waiting"] },
      { verb: "resume", text: "Resume", done: "resumed", keys: ["r"], of: ["paused"] },
      { verb: "now", text: "Run now", done: "started despite the schedule", keys: ["n"], of: ["waiting",
        "paused"] },
      { verb: "retry", text: "Retry", done: "tried again", keys: ["t"], of: ["failed", "cancelled"] },
      {
        verb: "cancel",
        text: "Cancel…",
        done: "cancelled",
        keys: ["c", "Delete"],
        of: live,
        ask: "Bytes that have come are deleted.",
        title: "Cancel"
      },
      {
        verb: "remove",
        text: "Remove…",
        done: "removed from the list",
        keys: ["x", "Delete"],
        of: over,
        ask: "They leave the list and the history. Completed files stay.",
        title: "Remove"
      },
    ];
    async function act(action, ids = [...picked]) {
      const able = ids.filter(id => action.of.includes(known.get(id)?.state));
      if (!able.length) {
        const other = actions.find(a => a !== action && a.keys.some(key => action.keys.includes(key)) && ids.some(
          id => a.of.includes(known.get(id)?.state)));
        return other ? act(other, ids) : say("nothing selected can be " + action.done);
      }
      if (action.ask && !await confirmed(action.title + " " + (able.length === 1 ? known.get(able[0]).name :
            count(able.length, "transfer")) + "?",
          action.ask, action.title)) return grid.focus();
      await attempt(async () => {
        let done = 0;
        const refused = [];
        for (let i = 0; i < able.length; i += pageSize) {
          const answer = await ask("v1/actions", "POST", { action: action.verb, ids: able.slice(i, i +
              pageSize) });
          for (const result of answer.results) {
            if (result.error) refused.push(result.error.message);
            else { done += 1; if (action.verb === "remove") forget(result.id); }
          }
        }
        if (action.verb !== "remove") await readSome(able.length > 400 ? onScreen() : able);
        if (able.length > 400) lastSweep = 0;
        tick();
        const text = count(done, "transfer") + " " + action.done + (refused.length ? "; " + refused.length +
          " refused: " + refused[0] : "");
        if (refused.length) throw new Error(text);
        return text;
      });
      grid.focus();
    }
    const toolButtons = actions.map(action => button(action.text, () => act(action), {
      title: "Key: " + action.keys[0],
      className: action.verb === "cancel" ? "danger" : ""
    }));
    const detail = button("Details", () => openPanel([...picked].at(-1), true), { title: "Key: Enter" });
    const upButton = button("↑", () => moveBy(-1), { "aria-label": "Earlier in the queue",
      title: "Earlier in the queue: Alt ↑" });
    const downButton = button("↓", () => moveBy(1), { "aria-label": "Later in the queue",
      title: "Later in the queue: Alt ↓" });
    const chosen = el("span", { className: "soft" }),
      cleanButton = button("Clean up…", () => cleanUp());

    function showTools() {
      const states = new Set([...picked].map(id => known.get(id)?.state)),
        isFixed = settings && settings.readOnly;
      actions.forEach((action, i) => {
        toolButtons[i].disabled = isFixed || !action.of.some(state => states.has(state));
        show(toolButtons[i], action.of.some(state => filters.find(f => f[0] === filter)[2].includes(state)));
      });
      detail.disabled = picked.size === 0;
      const movable = sort === "order" && picked.size > 0 && [...states].every(state => ["waiting", "paused"]
        .includes(state));
      upButton.disabled = downButton.disabled = isFixed || !movable;
      show(upButton, filter !== "history" && filter !== "failed");
      show(downButton, !upButton.hidden);
      show(cleanButton, filter === "history" || filter === "failed");
      $("tools").classList.toggle("none", picked.size === 0);
      put(chosen, (picked.size ? picked.size.toLocaleString() + " of " : "") + count(list.length, "transfer") + (
        picked.size ? " selected" : ""));
    }
    async function cleanUp() {
      const age = el("select", { "aria-label": "Ended" }, ...[["0", "at any time"], ["1", "more than a day ago"],
          ["7", "more than a week ago"], ["30", "more than 30 days ago"]]
        .map(([value, text]) => el("option", { value }, text)));
      const boxes = over.map(state => el("label", {}, el("input", { type: "checkbox", value: state,
        checked: state === "completed" }), state));
      let ids = null;
      await dialog("Clean up the history", el("div", {}, el("p", {},
          "Removes transfers from the list. Completed files stay. A removed transfer cannot be retried."),
        el("fieldset", {}, el("legend", {}, "Which"), ...boxes), el("p", {}, "Ended ", age)), [["Back", null],
        ["Remove", () => {
          const states = new Set(boxes.map(box => box.firstChild).filter(box => box.checked).map(box => box
            .value));
          const before = new Date(Date.now() - Number(age.value) * 86400000).toISOString();
          ids = [...known.values()].filter(row => states.has(row.state) && row.finished && row.finished <=
            before).map(row => row.id);
        }, "main"]]).done;
      if (ids && !ids.length) return say("nothing is that old");
      if (ids) { const remove = actions.at(-1);
        act({ ...remove, ask: null }, ids); }
    }

    /* Order */
    async function moveTo(ids, target, isAfter) {
      if (settings && settings.readOnly) return;
      await attempt(async () => {
        let other = target,
          after = isAfter;
        for (const id of ids) {
          if (id === other) continue;
          await ask("v1/transfers/" + id + "/move", "POST", after ? { after: other } : { before: other });
          other = id;
          after = true;
        }
        await readOrder();
        draw();
        reveal(ids[0]);
      });
    }

    function moveBy(step) {
      if (sort !== "order") return say("the order can be changed while the list has it: press Order");
      const ids = (picked.size ? [...picked] : cursor === null ? [] : [cursor]).filter(id => place.has(id)).sort((a,
        b) => place.get(a) - place.get(b));
      if (!ids.length) return;
      const edge = step < 0 ? place.get(ids[0]) - 1 : place.get(ids.at(-1)) + 1,
        other = list[edge];
      if (!other || !["waiting", "paused"].includes(other.state)) return say("it is at the end of those that wait");
      return moveTo(ids, other.id, step > 0);
    }
    grid.addEventListener("dragstart", event => {
      const id = rowAt(event);
      if (id === null) return;
      if (!picked.has(id)) pick(id);
      dragged = [...picked].sort((a, b) => place.get(a) - place.get(b));
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", known.get(id).name);
    });

    function clearDrop() { for (const node of rowNodes.values()) node.classList.remove("above", "below"); }
    const isUpper = (event, node) => event.clientY < node.getBoundingClientRect().top + node.offsetHeight / 2;
    grid.addEventListener("dragover", event => {
      const node = event.target.closest(".row");
      if (!dragged || !node) return;
      event.preventDefault();
      clearDrop();
      node.classList.add(isUpper(event, node) ? "above" : "below");
    });
    grid.addEventListener("drop", event => {
      const node = event.target.closest(".row"),
        ids = dragged;
      clearDrop();
      dragged = null;
      if (!ids || !node) return;
      event.preventDefault();
      moveTo(ids, Number(node.dataset.id), !isUpper(event, node));
    });
    grid.addEventListener("dragend", () => { clearDrop();
      dragged = null; });
    """#
