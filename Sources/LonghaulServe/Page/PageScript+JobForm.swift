/// The form of a job.
let pageJobForm = #"""
    function editJob(job) {
      const field = (name, label, value, placeholder, style = "") => el("label", { className: style }, el(
        "span", {}, label), el("input", { name, value: value ?? "", placeholder, autocomplete: "off" }));
      const kinds = [["ask", "when asked"], ["every", "repeated"], ["at", "at times of day"], ["calendar",
        "by a calendar"], ["on", "when the machine changes"]];
      const present = !job ? "every" : job.every ? "every" : job.at ? "at" : job.calendar ? "calendar" :
        job.on.length ? "on" : "ask";
      const kind = el("select", { name: "kind" }, ...kinds.map(([value, text]) => el("option", { value,
        selected: value === present }, text)));
      const part = (name, node) => { node.dataset.kind = name; return node; };
      const triggers = ["online", "network-change", "power", "battery", "resume", "boot", "mount"];
      const form = el("form", { className: "grid" },
        job ? "" : field("name", "Name", "", "letters, digits, . _ -"),
        el("label", { className: "full" }, el("span", {}, "Command and its arguments; no shell runs it"), el(
          "textarea", { name: "command", rows: 2, value: job ? job.argv.map(quoted).join(" ") : "",
            required: true, className: "mono" })),
        field("directory", "Working directory", job ? job.directory : "", settings.directories[0], "full"),
        el("label", {}, el("span", {}, "It runs"), kind),
        part("every", field("every", "Every", job && job.every ? durationText(job.every) : "", "1d, 6h, 15m")),
        part("every", field("tolerance", "May come earlier by", job && job.every ? durationText(job.tolerance) :
          "", "half of it")),
        part("at", field("at", "At", job && job.at ? [job.at].flat().join(",") : "", "02:30,14:30")), part("at",
          field("days", "On", job && job.days ? job.days : "", "Mon-Fri")),
        part("calendar", field("calendar", "Moments", job ? job.calendar : "", "Mon *-*-01..07 03:00")),
        part("on", el("fieldset", { className: "full" }, el("legend", {}, "When"), ...triggers.map(name => el(
          "label", {}, el("input", { type: "checkbox", name: "on", value: name, "data-list": "",
            checked: job ? job.on.includes(name) : false }), name)), listField("on", "And by name", job ? job.on :
          [], triggers, "mount=backup, network=home, path=/srv/in"))),
        field("window", "Only at", job && job.window, "01:00-06:00"), field("maxTime", "End a run after", job &&
          job.maxTime ? durationText(job.maxTime) : "", "never"),
        field("maxMemory", "Memory of a run", job && job.maxMemory, "512M; no limit"),
        field("retries", "Tries after a failure", job ? job.retries : "", "3"), field("slot",
          "Not beside others of the slot", job ? job.slot : "", "disk, disk=2"), requirements(job ? job.require :
          [], job ? job.discretionary : false,
          [el("label", {}, el("input", { type: "checkbox", name: "notify", checked: job ? job.notify : false }),
            "notify on the desktop when a run fails")]));
      const fit = () => { for (const node of form.querySelectorAll("[data-kind]")) show(node, node.dataset.kind ===
          kind.value); };
      kind.onchange = fit;
      fit();
      const box = dialog(job ? "Edit the job " + job.name : "New job", form, [["Back", null], ["Save", () => {
        attempt(async () => {
          const { name, command, kind: _, ...rest } = values(form), body = { argv: split(command),
            on: [] };
          for (const [key, value] of Object.entries(rest))
            if (value !== "") body[key] = value;
          body.slot = rest.slot || null;
          const wanted = job ? job.name : name;
          if (!wanted) throw new Error("the name is missing");
          if (job)
            for (const key of ["nice", "grace", "whenLost", "inhibitSleep", "prefer", "deadline",
                "once", "earliestBegin"])
              if (job[key] !== null && job[key] !== undefined) body[key] = job[key];
          if (body.prefer && !body.prefer.length) delete body.prefer;
          await ask(jobPath(wanted), "PUT", body);
          box.node.close();
          await loadJobs();
          return wanted + " is saved";
        });
        return false;
      }, "main"]], false);
      form.onsubmit = event => event.preventDefault();
    }
    const durationText = seconds => seconds % 86400 === 0 ? seconds / 86400 + "d" : seconds % 3600 === 0 ? seconds /
      3600 + "h" : seconds % 60 === 0 ? seconds / 60 + "m" : seconds + "s";
    """#
