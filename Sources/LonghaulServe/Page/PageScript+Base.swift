/// Requests, numbers, times and elements.
let pageBase = #"""
    "use strict";
    const $ = id => document.getElementById(id);
    /* A proxy may serve the page below a path of its own. */
    const root = location.pathname.replace(/\/?$/, "/");
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";

    /* Texts from elsewhere become text nodes, never markup. */
    function el(tag, properties = {}, ...children) {
      const node = document.createElement(tag);
      for (const [name, value] of Object.entries(properties)) {
        if (value === undefined || value === null) continue;
        if (name in node && !name.includes("-")) node[name] = value;
        else node.setAttribute(name, value);
      }
      node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ""));
      return node;
    }

    function put(node, text) { if (node.textContent !== text) node.textContent = text; }

    function show(node, isShown) { if (node.hidden === isShown) node.hidden = !isShown; }

    function button(text, action, more = {}) { return el("button", { type: "button", textContent: text,
        onclick: action, ...more }); }

    /* The view of a list is made anew; a button that has the focus keeps it. */
    function refill(id, nodes) {
      const box = $(id),
        focus = document.activeElement?.dataset?.key;
      box.replaceChildren(...nodes);
      if (focus) box.querySelector("[data-key=" + CSS.escape(focus) + "]")?.focus();
    }

    let noteTimer = null;

    function say(text, isBad = false) {
      clearTimeout(noteTimer);
      $("note").replaceChildren(...(text ? [el("div", { className: isBad ? "isBad" : "" }, (isBad ? "Failed: " :
        "") + local(text))] : []));
      noteTimer = setTimeout(() => $("note").replaceChildren(), isBad ? 12000 : 5000);
    }

    function headers(more) {
      const secret = sessionStorage.getItem("secret");
      return secret ? { ...more, Authorization: "Bearer " + secret } : more;
    }
    async function ask(path, method = "GET", body) {
      const given = body === undefined ? {} : { "Content-Type": "application/json" };
      const answer = await fetch(root + path, { method, headers: headers(given), body: body === undefined ?
          undefined : JSON.stringify(body) });
      if (answer.status === 401) { lock(); throw new Error("the server asks for its secret"); }
      const isJSON = (answer.headers.get("Content-Type") || "").startsWith("application/json");
      const value = isJSON ? await answer.json() : await answer.text();
      if (!answer.ok) throw new Error(isJSON && value.error ? value.error.message : answer.statusText ||
        "status " + answer.status);
      return value;
    }

    function lock() { show($("locked"), true); for (const name of Object.keys(views)) show($(name), false); }
    /* Runs a request of the person, and says how it went. */
    async function attempt(work, done) {
      try { const text = await work(); if (done || typeof text === "string") say(typeof text === "string" ? text :
          done); return true; } catch (error) { say(local(error.message), true); return false; }
    }

    function size(bytes) {
      if (bytes === null || bytes === undefined) return "";
      const units = ["B", "KiB", "MiB", "GiB", "TiB"];
      let value = bytes,
        unit = 0;
      while (value >= 1000 && unit < units.length - 1) { value /= 1024;
        unit += 1; }
      return (unit && value < 100 ? value.toFixed(value < 10 ? 2 : 1) : Math.round(value)) + " " + units[unit];
    }
    const rate = bytes => bytes === null || bytes === undefined ? "" : size(bytes) + "/s";

    function span(seconds) {
      const s = Math.round(seconds);
      if (!isFinite(s)) return "a long time";
      if (s < 60) return s + " s";
      if (s < 3600) return Math.round(s / 60) + " min";
      if (s < 36 * 3600) { const h = Math.floor(s / 3600),
          m = Math.round(s % 3600 / 60); return m && m < 60 && h < 10 ? h + " h " + m + " min" : Math.round(s /
          3600) + " h"; }
      return Math.round(s / 86400) + " days";
    }
    const exact = text => text ? new Date(text).toLocaleString(undefined, { dateStyle: "medium",
      timeStyle: "medium" }) : "";

    function relative(text) {
      const seconds = (new Date(text) - Date.now()) / 1000;
      if (Math.abs(seconds) < 5) return "now";
      return seconds > 0 ? "in " + span(seconds) : span(-seconds) + " ago";
    }
    /* A moment: relative to read, exact on hover, all in the zone of the browser. */
    function when(text) { return text ? el("time", { dateTime: text, title: exact(text) + " (" + zone + ")" },
        relative(text)) : ""; }
    /* Texts of the server have moments as in JSON, and advice for the command line: that goes. */
    function local(text) {
      const clauses = String(text).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, exact).split("; ");
      const kept = clauses.filter(clause => !clause.includes("`"));
      if (clauses.some(clause => clause.includes("set --url"))) kept.push("Edit… gives it another URL, then Retry");
      return (kept.length ? kept : clauses).join("; ").replaceAll("`", "");
    }
    const count = (number, noun) => number.toLocaleString() + " " + noun + (number === 1 ? "" : "s");

    const conditionWords = {
      power: "external power",
      battery: "a fuller battery",
      network: "a network",
      unmetered: "an unmetered network",
      idle: "an idle machine",
      saver: "no power saving",
      mounted: "a file system to be mounted"
    };
    const reasonWords = {
      ...conditionWords,
      storage: "room on the disk",
      backoff: "the next try",
      originCooldown: "its server to recover",
      concurrency: "its turn",
      originLimit: "a connection to its server",
      slot: "another job of its slot to end",
      engine: "an engine",
      input: "an answer of its program",
      host: "its program",
      trigger: "a change of the machine",
      transfers: "other transfers"
    };

    function reason(wait) {
      if (wait.reason === "earliestBegin") return "starts " + (wait.required ? relative(wait.required) : "later");
      if (wait.reason === "window") return wait.nextCheck ? "starts " + relative(wait.nextCheck) + " (window)" :
        "waits for its window";
      if (wait.reason === "backoff") return wait.nextCheck ? "next try " + relative(wait.nextCheck) :
        "waits for the next try";
      return "waits for " + (reasonWords[wait.reason] ?? wait.reason) + (wait.reason === "transfers" && wait
        .required ? " " + wait.required : "");
    }
    const errorWords = { dns: "host not found", io: "disk failure", network: "connection failed",
      noSpace: "disk full", tls: "TLS failure" };

    function errorText(error) {
      return (errorWords[error.code] ?? error.code.replace(/[A-Z]/g, c => " " + c.toLowerCase())) + (error
        .httpStatus ? " (" + error.httpStatus + ")" : "");
    }

    function dialog(title, content, buttons, isSmall = true) {
      const node = el("dialog", { className: isSmall ? "small" : "", "aria-labelledby": "dialogTitle" });
      const done = new Promise(resolve => {
        node.append(el("h2", { id: "dialogTitle" }, title), content, el("div", { className: "buttons" }, ...
          buttons.map(([text, value, style]) =>
            button(text, () => { if (value === null || value() !== false) node
            .close(); }, { className: style || "" }))));
        node.onclose = () => { node.remove();
          resolve(); };
      });
      document.body.append(node);
      node.showModal();
      return { node, done };
    }
    async function confirmed(title, text, verb) {
      let answer = false;
      await dialog(title, el("p", {}, text), [["Back", null], [verb, () => { answer = true; }, "main"]]).done;
      return answer;
    }
    """#
