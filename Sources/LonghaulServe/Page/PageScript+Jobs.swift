/// Jobs: when they run, how the last runs ended, what they print.
let pageJobs = #"""
    const shownLog = { name: null, run: null };
    let jobs = [],
      tasks = [];

    function runStyle(run) {
      if (!run.endedAt) return ["r-run", "▸", "runs"];
      if (run.exitStatus === 0) return ["r-good", "✓", "succeeded"];
      if (run.expiration || run.missedTransfer) return ["r-other", "!", run.expiration ? "was ended: " + plain(run
        .expiration) : "did not begin: transfer " + run.missedTransfer + " did not complete"];
      return ["r-bad", "✕", run.exitStatus !== null ? "failed, exit status " + run.exitStatus : run.signal ?
        "failed, signal " + run.signal : "failed"];
    }
    /* "in 3 h, when on power" */
    function nextRun(job) {
      if (job.state === "running") return "runs now";
      if (job.state === "paused") return "paused: runs only when asked";
      if (job.state === "ended") return local(job.forecast.text);
      const parts = [],
        conditions = job.require.map(name => conditionWords[name] ?? name);
      const wishes = job.waitingFor.filter(w => conditionWords[w.reason] && !job.require.includes(w.reason)).map(
        w => conditionWords[w.reason]);
      if (job.waitingFor.some(w => w.reason === "trigger") || job.on.length) parts.push(
        "when the machine changes: " + job.on.join(", "));
      else if (job.forecast.startsAt) parts.push(new Date(job.forecast.startsAt) - Date.now() < 5000 ?
        "as soon as possible" : relative(job.forecast.startsAt));
      else if (job.waitingFor.length) parts.push(reason(job.waitingFor[0]));
      else parts.push(local(job.forecast.text));
      if (conditions.length) parts.push("with " + conditions.join(" and "));
      if (wishes.length) parts.push("preferably with " + wishes.join(" and "));
      if (job.waitingFor.some(w => w.reason === "engine")) parts.push("and once an engine runs");
      return parts.join(", ");
    }

    function scheduleText(job) {
      const parts = [];
      if (job.every) parts.push(job.every === 86400 ? "every day" : "every " + (job.every % 86400 ? span(job
        .every) : job.every / 86400 + " days"));
      if (job.at) parts.push("at " + [job.at].flat().join(", ") + (job.days ? " on " + job.days : ""));
      if (job.calendar) parts.push("at " + job.calendar);
      if (job.on.length) parts.push("on " + job.on.join(", "));
      if (job.once) parts.push("once");
      if (job.window) parts.push("only at " + job.window);
      if (job.require.length) parts.push("with " + job.require.map(name => conditionWords[name] ?? name).join(
      ", "));
      return parts.join("; ") || "when asked";
    }
    const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
    /* Words as a shell splits them, with quotes and backslashes; nothing is expanded. */
    function split(text) {
      const words = [];
      let word = null,
        quote = null;
      for (let i = 0; i < text.length; i += 1) {
        const c = text[i];
        if (quote) { if (c === quote) quote = null;
          else if (c === "\\" && quote === '"' && '"\\'.includes(text[i + 1])) { i += 1;
            word += text[i]; } else word += c; continue; }
        if (c === "'" || c === '"') { quote = c;
          word ??= ""; } else if (/\s/.test(c)) { if (word !== null) words.push(word);
          word = null; } else if (c === "\\" && i + 1 < text.length) { i += 1;
          word = (word ?? "") + text[i]; } else word = (word ?? "") + c;
      }
      if (quote) throw new Error("a quote is not closed");
      if (word !== null) words.push(word);
      return words;
    }
    const jobPath = name => "v1/jobs/" + encodeURIComponent(name);
    async function loadJobs() {
      jobs = (await ask("v1/jobs")).jobs;
      tasks = (await ask("v1/tasks")).tasks.filter(task => task.kind === "continued");
      showJobs();
      await readLog();
    }

    function showJobs() {
      const isFixed = settings && settings.readOnly,
        mayEdit = settings && settings.changesJobs;
      const nodes = [el("div", { className: "buttons" }, el("h2", { style: "" }, "Jobs"), mayEdit ? button(
          "New job…", () => editJob(null), { className: "main" }) : ""),
        el("p", { className: "soft" }, "Commands that run when the machine is right. " + (mayEdit ? "" :
          "This server shows jobs and runs them; it was not started to change them (--allow-jobs)."))];
      if (!jobs.length) nodes.push(el("p", { className: "soft" }, "There are no jobs."));
      for (const job of jobs) nodes.push(jobBox(job, isFixed, mayEdit));
      if (tasks.length) nodes.push(el("h2", {}, "Tasks"));
      for (const task of tasks) nodes.push(taskBox(task, isFixed));
      refill("joblist", nodes);
    }

    /* A continued task: its title, its progress, and a button that stops it. */
    function taskBox(task, isFixed) {
      const done = task.progress,
        percent = done ? Math.floor(100 * done.completed / done.total) + " %" : "no progress yet";
      const stop = button("Stop", () => attempt(async () => {
        await ask("v1/tasks/" + encodeURIComponent(task.identifier) + "/cancel?host=" + encodeURIComponent(task
          .host), "POST");
        await loadJobs(); return task.title + " is stopped"; }));
      stop.dataset.key = "task." + task.host + "." + task.identifier;
      return el("article", { className: "box" }, el("h3", {}, task.title), el("p", { className: "soft" }, [task
          .subtitle, task.host, task.state === "running" ? percent : local(task.forecast.text)].filter(Boolean)
          .join(" – ")),
        done ? el("progress", { max: done.total, value: done.completed, "aria-label": task.title }) : "",
        isFixed ? "" : el("div", { className: "buttons" }, stop));
    }

    function jobBox(job, isFixed, mayEdit) {
      const last = job.runs.find(run => run.endedAt),
        [, , ended] = last ? runStyle(last) : [];
      const key = (node, name) => { node.dataset.key = job.name + "." + name; return node; };
      const order = (verb, text) => key(button(text, () => attempt(async () => { await ask(jobPath(job.name) + "/" +
          verb, "POST");
        await loadJobs(); return job.name + ": " + text.toLowerCase(); })), verb);
      const buttons = isFixed ? [] : [
        !["running", "ended"].includes(job.state) ? order("run", "Run now") : "", job.state === "running" ? order(
          "cancel", "Cancel the run") : "",
        job.state === "paused" ? order("resume", "Resume") : job.state !== "ended" ? order("pause", "Pause") : "",
        mayEdit ? key(button("Edit…", () => editJob(job)), "edit") : "",
        mayEdit && job.state !== "running" ? key(button("Remove…", async () => {
          if (await confirmed("Remove the job " + job.name + "?", "Its history and logs are deleted.",
              "Remove"))
            attempt(async () => { await ask(jobPath(job.name), "DELETE");
              await loadJobs(); return job.name + " is removed"; });
        }), "remove") : ""];
      const runs = [...job.runs].reverse().map(run => {
        const [style, mark, text] = runStyle(run), isOpen = shownLog.name === job.name && shownLog.run === run
          .run;
        const moment = relative(run.startedAt) + " (" + exact(run.startedAt) + ")" + (run.endedAt ? ", took " +
          span((new Date(run.endedAt) - new Date(run.startedAt)) / 1000) : "");
        return el("li", {}, key(button(mark, () => { shownLog.name = job.name;
          shownLog.run = run.run;
          showJobs();
          readLog(); }, {
          className: style,
          title: text + " – " + moment,
          "aria-label": "Log of the run " + moment + ", which " + text,
          "aria-pressed": isOpen,
          disabled: !run.run
        }), "run" + run.run));
      });
      const isShown = shownLog.name === job.name;
      return el("article", { className: "box" }, el("div", { className: "line" }, el("h2", {}, job.name),
          el("span", { className: job.failures ? "bad" : job.state === "running" ? "good" : "soft" }, job
            .failures ? "failing: " + count(job.failures, "failure") + " in a row" : job.state)),
        el("code", {}, job.argv.map(quoted).join(" ")),
        facts([["Next run", nextRun(job)], ["Schedule", scheduleText(job)], ["Last run", last ? [ended + ", ",
          when(last.startedAt)] : "none yet"], ["Directory", job.directory]]),
        runs.length ? el("ul", { className: "strip", "aria-label": "Last runs of " + job.name +
            ", the newest last" }, runs) : "",
        el("div", { className: "buttons" }, ...buttons, key(button(isShown ? "Hide the log" : "Log", () => {
          shownLog.name = isShown ? null : job.name;
          shownLog.run = null;
          showJobs();
          readLog();
        }, { "aria-expanded": isShown }), "log")),
        isShown ? el("pre", { id: "log", tabIndex: 0, role: "log", "aria-label": "Log of " + job.name }, shownLog
          .text ?? "") : "");
    }
    /* The log follows a run, and stays at its end unless the person has scrolled up. */
    async function readLog() {
      if (!shownLog.name) return;
      const name = shownLog.name,
        run = shownLog.run;
      const text = await ask(jobPath(name) + "/log" + (run ? "?run=" + run : ""));
      const node = $("log");
      if (shownLog.name !== name || shownLog.run !== run || !node) return;
      const isAtEnd = node.scrollTop + node.clientHeight >= node.scrollHeight - 8;
      shownLog.text = text || "It has printed nothing.";
      put(node, shownLog.text);
      if (isAtEnd) node.scrollTop = node.scrollHeight;
    }
    """#
