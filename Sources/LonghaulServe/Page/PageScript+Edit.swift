/// Changes of one transfer, and of the settings of its schedule.
let pageEdit = #"""
    /* Only what was changed is sent. */
    function editTransfer(t) {
      const rest = t.url.includes("REDACTED"),
        field = (name, label, value, more = {}) =>
        el("label", { className: more.full ? "full" : "" }, el("span", {}, label), el("input", { name,
          value: value ?? "", autocomplete: "off", ...more.input }));
      const form = el("form", { className: "grid" },
        field("url", "URL" + (rest ? " (secrets in it are hidden; leave it as it is to keep them)" : ""), t
        .url, { full: true }),
        field("limitRate", "At most, per second", t.options.limitRate ? size(t.options.limitRate).replace(
          / ?i?B$/, "").replace(" ", "") : "", { input: { placeholder: "none" } }),
        field("window", "Only at", t.window, { input: { placeholder: "01:00-06:00" } }),
        field("earliestBegin", "Not before", t
        .earliestBegin, { input: { placeholder: "22:00, tomorrow, +2h30m" } }),
        field("deadline", "Give up after", t.deadline, { input: { placeholder: "7d, or a time" } }),
        el("label", {}, el("span", {}, "Priority"), el("select", { name: "priority" }, ...Object.keys(levels).map(
          level => el("option", { value: level, selected: level === t.priority }, level)))),
        rank.has(t.id) ? field("place", "Place in the queue (1 to " + rank.size + ")", rank.get(t.id) +
        1, { input: { type: "number", min: 1, max: rank.size } }) : "",
        requirements(t.require, t.discretionary));
      const before = values(form);
      dialog("Edit " + fileOf(t), form, [["Back", null], ["Save", () => {
        const now = values(form),
          change = {};
        for (const [name, value] of Object.entries(now)) {
          if (name === "place" || JSON.stringify(value) === JSON.stringify(before[name])) continue;
          change[name] = value === "" ? null : value;
        }
        attempt(async () => {
          if (Object.keys(change).length) keep(await ask("v1/transfers/" + t.id, "PATCH", change));
          if (now.place && now.place !== before.place) {
            const order = [...rank.keys()].filter(id => id !== t.id),
              at = Math.max(0, Math.min(order.length, Number(now.place) - 1));
            await ask("v1/transfers/" + t.id + "/move", "POST", at < order.length ? { before: order[
                at] } : { after: order.at(-1) });
          }
          if (now.place || change.priority) await readOrder();
          await refreshPanel(true);
          draw();
          return fileOf(t) + " is changed";
        });
      }, "main"]], false);
    }
    """#
