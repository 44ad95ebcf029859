/// Forms: new transfers, conditions, and the list of keys.
let pageForms = #"""
    /* Fields of a form as a request has them; what is hidden does not count. */
    function values(form) {
      const result = {};
      for (const node of form.elements) {
        if (!node.name || node.disabled || node.closest("[hidden]")) continue;
        if (node.type === "checkbox") {
          if (node.dataset.list === undefined) result[node.name] = node.checked;
          else { result[node.name] ??= []; if (node.checked) result[node.name].push(node.value); }
        } else if (node.dataset.list !== undefined) {
          (result[node.name] ??= []).push(...node.value.split(",").map(part => part.trim()).filter(Boolean));
        } else if (node.type !== "radio" || node.checked) result[node.name] = node.value.trim();
      }
      return result;
    }

    /* What has no box of its own is a list in a text, with commas between. */
    const listField = (name, label, all, boxes, placeholder) => el("label", { className: "full" }, el("span", {},
      label), el("input", { name, "data-list": "", placeholder, autocomplete: "off",
      value: all.filter(value => !boxes.includes(value)).join(", ") }));

    function requirements(required, isDiscretionary, more = []) {
      const box = (value, text) => el("label", {}, el("input", { type: "checkbox", name: "require",
        value, "data-list": "", checked: required.includes(value) }), text);
      return el("fieldset", { className: "full" }, el("legend", {}, "Only with"), box("power", "external power"),
        box("unmetered", "an unmetered network"),
        box("idle", "an idle machine"), el("label", {}, el("input", { type: "checkbox", name: "discretionary",
          checked: isDiscretionary }), "at a good moment"), ...more, listField("require", "And by name", required,
          ["power", "unmetered", "idle"], "network=home|office, mounted=backup, battery=40"));
    }

    function addTransfers(text = "") {
      const field = (name, label, placeholder, kind) => {
        const node = el("label", {}, el("span", {}, label), el("input", { name, placeholder,
          autocomplete: "off" }));
        if (kind) node.dataset.kind = kind;
        return node;
      };
      const kind = el("select", { name: "kind" }, el("option", { value: "download" }, "Download"), el(
      "option", { value: "upload" }, "Upload"));
      const form = el("form", { className: "grid" },
        el("label", { className: "full" }, el("span", {}, "URLs, one per line"), el("textarea", { name: "url",
          rows: 3, value: text, required: true })),
        el("label", {}, el("span", {}, "Kind"), kind),
        field("source", "File to send", "", "upload"), field("directory", "Directory", settings ? settings
          .directories[0] : "", "download"), field("destination", "File name", "as in the URL", "download"),
        el("label", {}, el("span", {}, "Priority"), el("select", { name: "priority" }, ...["normal", "high",
          "low"].map(level => el("option", {}, level)))),
        field("session", "Session", "default"), field("earliestBegin", "Not before", "22:00, tomorrow, +2h30m"),
        field("window", "Only at", "01:00-06:00"),
        field("deadline", "Give up after", "7d"), field("limitRate", "At most, per second", "2M"), field(
          "checksum", "Checksum", "sha256:…", "download"), requirements([], false));
      const fit = () => { for (const node of form.querySelectorAll("[data-kind]")) show(node, node.dataset.kind ===
          kind.value); };
      kind.onchange = fit;
      fit();
      let box = null;
      const save = () => {
        const { url, ...rest } = values(form), common = {};
        for (const [name, value] of Object.entries(rest))
          if (value !== "" && value !== false && !(Array.isArray(value) && !value.length)) common[name] = value;
        if (common.kind === "download") delete common.kind;
        if (common.priority === "normal") delete common.priority;
        const urls = url.split("\n").map(line => line.trim()).filter(Boolean);
        if (!urls.length) { form.url.focus(); return false; }
        attempt(async () => {
          const answer = await ask("v1/transfers", "POST", urls.map(url => ({ url, ...common })));
          for (const t of answer.transfers) keep(t);
          await readOrder();
          box.node.close();
          tick();
          return count(answer.transfers.length, "transfer") + " added";
        });
        return false;
      };
      form.onsubmit = event => { event.preventDefault();
        save(); };
      box = dialog("Add transfers", form, [["Back", null], ["Add", save, "main"]], false);
      form.url.focus();
    }
    const keyList = [["↑ ↓, Page ↑ ↓, Home, End",
      "move; with Shift, select a range; with Ctrl, keep the selection"], ["Space", "select or unselect"], [
        "Ctrl A", "select all"],
      ["Enter", "open the details"], ["Esc", "close the details, or select nothing"], ["p, r, n",
        "pause, resume, run now"], ["t", "retry"], ["c", "cancel"], ["x", "remove"],
      ["Alt ↑, Alt ↓", "earlier or later in the queue; or drag a row"], ["/", "search"], ["a", "add transfers"], ["?",
        "this list"]];

    function showKeys() { dialog("Keys", facts(keyList.map(([keys, text]) => [keys, text])), [["Close", null,
        "main"]]); }
    addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input,select,textarea") ||
        document.querySelector("dialog[open]")) return;
      if (event.key === "/" && !$("transfers").hidden) { event.preventDefault();
        $("search").focus(); }
      if (event.key === "?") showKeys();
      if (event.key === "a" && !$("transfers").hidden && !(settings && settings.readOnly)) { event
          .preventDefault();
        addTransfers(); }
    });
    /* A link that is dropped or pasted on the page is a transfer to add. */
    function linksOf(data) { return (data.getData("text/uri-list") || data.getData("text/plain")).split("\n")
        .filter(line => /^(https?|ftps?|sftp):\/\//.test(line)).join("\n"); }
    addEventListener("paste", event => {
      if (event.target.matches("input,textarea") || $("transfers").hidden || document.querySelector(
          "dialog[open]")) return;
      const links = linksOf(event.clipboardData);
      if (links) addTransfers(links);
    });
    """#
