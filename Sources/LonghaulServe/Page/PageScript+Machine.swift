/// The machine's conditions, the settings, and the start of the page.
let pageMachine = #"""
    const conditionNames = { power: "Power", battery: "Battery", network: "Network", idle: "Idle",
      saver: "Power saving", mounted: "Mounted" };
    const valueWords = { external: "external", battery: "on battery", unmetered: "unmetered", metered: "metered",
      offline: "offline", on: "on", off: "off" };
    const sourceWords = {
      upower: "UPower",
      networkmanager: "NetworkManager",
      logind: "logind",
      powerprofiles: "the power profile",
      sysfs: "the kernel (sysfs)",
      rtnetlink: "the kernel (rtnetlink)",
      proc: "input devices (/proc)",
      mountinfo: "the kernel (mountinfo)",
      environment: "the environment of the engine",
      store: "an override by hand",
      none: "no source"
    };

    function effect(c) {
      if (c.value === null) return "Nothing on this machine tells it.";
      if (c.condition === "power") return c.value === "external" ? "Work that requires external power may run." :
        "Work that requires external power waits.";
      if (c.condition === "battery") return "Work with a battery level above " + c.value + " % waits.";
      if (c.condition === "network") return c.value === "offline" ? "Everything waits for a network." : c.value ===
        "metered" ? "Work that requires an unmetered network waits." : "Nothing waits for the network.";
      if (c.condition === "idle") return c.value ? "Work that requires an idle machine may run." :
        "The machine is in use: work that requires an idle one waits.";
      if (c.condition === "mounted") return "Work that requires another file system waits.";
      return c.value === "on" ? "Discretionary work waits while power is saved." :
        "Nothing waits for the end of power saving.";
    }
    async function loadMachine() {
      const conditions = (await ask("v1/conditions")).conditions;
      const rows = conditions.map(c => {
        const waiting = [...known.values()].filter(row => row.state === "waiting" && row.waits.some(w => w
          .reason === c.condition || c.condition === "network" && w.reason === "unmetered")).length;
        const value = c.value === null ? "unknown" : c.condition === "battery" ? c.value + " %" : typeof c
          .value === "boolean" ? c.value ? "yes" : "no" : Array.isArray(c.value) ? c.value.join(", ") ||
          "none that is asked for" : (valueWords[c.value] ?? c.value) + (c.name ? " (" + c.name + ")" : "");
        return el("tr", {}, el("th", { scope: "row" }, conditionNames[c.condition] ?? c.condition), el(
            "td", {}, value), el("td", {}, effect(c)),
          el("td", {}, waiting ? count(waiting, "transfer") + (waiting === 1 ? " waits" : " wait") +
            " for it" : "none waits"), el("td", {}, sourceWords[c.source] ?? c.source), el("td", {}, when(c
            .since)));
      });
      $("machineText").replaceChildren(el("h2", {}, "Conditions of the machine"), el("p", { className: "soft" },
          "What transfers and jobs wait for."),
        el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Conditions" }, el(
          "table", {}, el("thead", {}, el("tr", {}, ...["Condition", "Now", "What follows", "Waiting",
            "Known from", "Since"].map(text => el("th", { scope: "col" }, text)))),
          el("tbody", {}, rows))),
        el("h3", {}, "Engine"), facts([["State", status && status.engine ? "runs as " + status.engine.mode +
            " (process " + status.engine.pid + ")" : "none runs: nothing moves"],
          ["Since", status && status.engine ? when(status.engine.since) : ""], ["Next look", status ? when(status
            .nextWake) : ""]]));
    }
    const optionNames = {
      connections: "Connections of a download",
      ifExists: "If the file exists",
      limitRate: "Rate of one transfer",
      minRate: "Slowest rate",
      retries: "Tries after a failure",
      remoteTime: "Keep the server's time",
      spread: "Spread of starts",
      waiveAfter: "Preferences are waited for",
      yield: "Yield the line",
      priority: "Priority",
      onDuplicate: "Equal requests",
      auth: "Authentication",
      privateAddresses: "Private addresses"
    };

    function optionText(name, value) {
      if (typeof value === "boolean") return value ? "yes" : "no";
      if (["limitRate", "minRate"].includes(name)) return rate(value);
      if (["spread", "waiveAfter"].includes(name)) return value ? span(value) : "";
      return Array.isArray(value) ? value.join(", ") : String(value);
    }
    async function loadSettings() {
      settings = await ask("v1/settings");
      limitInfo = await ask("v1/limit");
      const set = limitInfo.rateLimit,
        limits = settings.limits;
      const list = Object.entries(settings.defaults).filter(([name, value]) => optionNames[name] && value !==
        null && value !== false).map(([name, value]) => [optionNames[name], optionText(name, value)]);
      const rateForm = el("form", { className: "grid", onsubmit: event => { event.preventDefault(); const v =
              values(event.target);
            setLimit(v.rate || "off", v.for).then(loadSettings); } },
        el("label", {}, el("span", {}, "Rate of all transfers, per second"), el("input", { name: "rate",
          placeholder: "no limit", value: "", autocomplete: "off" })),
        el("label", {}, el("span", {}, "For"), el("select", { name: "for" }, ...[["", "until changed"], ["15m",
          "15 minutes"], ["1h", "1 hour"], ["4h", "4 hours"], ["12h", "12 hours"]].map(([value, text]) =>
          el("option", { value }, text)))),
        el("div", { className: "buttons full" }, el("button", { className: "main" }, "Set"), button(
          "As configured", () => setLimit(null).then(loadSettings), { disabled: !set })));
      $("settingsText").replaceChildren(
        el("h2", {}, "Settings"), el("p", { className: "soft" }, settings.configuration ? ["From ", el(
            "code", {}, settings.configuration), ". Changes of the file hold once it is read again."].flat() :
          "There is no configuration file: these are the defaults.").cloneNode(true),
        el("h3", {}, "Rate"), el("p", {}, set ? (set.bytesPerSecond ? rate(set.bytesPerSecond) : "No limit") +
          ", set by hand" : limitInfo.configured ? rate(limitInfo.configured) + " now, as configured" :
          "No limit", set && set.until ? [", ends ", when(set.until)] : ""),
        settings.readOnly ? "" : rateForm,
        el("h3", {}, "Limits"), facts([["Configured rate", limits.rate ? rate(limits.rate) : "no limit"],
          ["By time of day", limits.rates.map(part => part.window + ": " + (part.bytesPerSecond ? rate(part
            .bytesPerSecond) : "no limit")).join("; ")],
          ["At once", count(limits.running, "transfer")], ["Per server", limits.perOrigin ? count(limits.perOrigin,
            "request") : "6 connections; over HTTP/2 one with up to 64 streams"]]),
        el("h3", {}, "Retention"), facts([["History", "ended transfers stay listed for " + span(settings
            .retention.ended)], ["Bytes", "of failed and cancelled transfers are kept for " + span(settings
            .retention.parts)],
          ["Events", "stay for " + span(settings.retention.events) + " once they are acknowledged"]]),
        el("h3", {}, "Defaults of new transfers"), facts(list, "far"),
        el("h3", {}, "Server"), facts([["Directories", settings.directories.map(d => el("div", {}, el(
            "code", {}, d)))], ["Changes", settings.readOnly ? "none: the server is read-only" : "allowed"],
          ["Jobs", settings.changesJobs ? "may be created and changed" : "may be seen and run, not changed"], [
            "Secret", settings.secret ? "asked for" : "none: every user of the machine may use the server"], [
            "Version", settings.version]]));
    }
    """#

let pageStart = #"""
    const views = { transfers: [null, "Transfers"], jobs: [loadJobs, "Jobs"], bundles: [loadBundles, "Bundles"],
      folders: [loadFolders, "Folders"], machine: [loadMachine, "Machine"], settings: [loadSettings, "Settings"] };
    let view = null,
      viewTimer = null;

    function turnTo() {
      const name = location.hash.slice(1) in views ? location.hash.slice(1) : "transfers";
      view = name;
      for (const node of $("views").children) { if (node.hash === "#" + name) node.setAttribute("aria-current",
          "page");
        else node.removeAttribute("aria-current"); }
      show($("locked"), false);
      for (const other of Object.keys(views)) show($(other), other === name);
      $("skip").href = name === "transfers" ? "#grid" : "#" + name;
      draw();
      loadView();
    }
    /* Jobs and conditions are read again while they are looked at. */
    async function loadView() {
      clearTimeout(viewTimer);
      const name = view,
        load = views[name][0];
      if (!load) return;
      const isBusy = document.querySelector("dialog[open]") || $(name).contains(document.activeElement) &&
        document.activeElement.matches("input,select,textarea");
      if (!isBusy && !document.hidden) { try { await load(); } catch (error) { say(error.message, true); } }
      const pace = name === "jobs" ? [...jobs, ...tasks].some(job => job.state === "running") ? 1000 : 4000 : name ===
        "settings" ? 0 : 5000;
      if (view === name && pace && $("locked").hidden) viewTimer = setTimeout(loadView, pace);
    }
    async function begin() {
      try {
        settings = await ask("v1/settings");
        limitInfo = await ask("v1/limit");
      } catch (error) { if (!$("locked").hidden) return;
        say(error.message, true); }
      if (settings && settings.readOnly) { show($("addOpen"), false); for (const node of $("limit").elements) node
          .disabled = true; }
      turnTo();
      tick();
      readAll(live, 200000).catch(error => say(error.message, true));
    }
    for (const [name, [, text]] of Object.entries(views)) $("views").append(el("a", { href: "#" + name }, text));
    buildTable();
    buildPlot();
    $("addOpen").onclick = () => addTransfers();
    $("keysOpen").onclick = showKeys;
    put($("zone"), "Times are those of " + zone + ".");
    addEventListener("hashchange", () => { if ($("locked").hidden) turnTo(); });
    $("secret").addEventListener("submit", event => {
      event.preventDefault();
      sessionStorage.setItem("secret", event.target.secret.value);
      event.target.reset();
      show($("locked"), false);
      begin();
    });
    begin();
    """#
