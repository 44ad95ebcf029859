/// Bundles: how far they are, and what may be asked of them.
let pageBundles = #"""
    let bundles = [];
    const bundlePath = name => "v1/bundles/" + encodeURIComponent(name);
    async function loadBundles() {
      bundles = (await ask("v1/bundles")).bundles;
      showBundles();
    }

    function showBundles() {
      const nodes = [el("h2", { style: "" }, "Bundles"), el("p", { className: "soft" },
        "Sets of files from one source, which are whole or an error. They are added on the command line.")];
      if (!bundles.length) nodes.push(el("p", { className: "soft" }, "There are no bundles."));
      for (const bundle of bundles) nodes.push(bundleBox(bundle, settings && settings.readOnly));
      refill("bundlelist", nodes);
    }

    function bundleProgress(bundle) {
      const files = bundle.files,
        parts = [files.complete.toLocaleString() + " of " + count(files.total, "file")];
      if (bundle.bytesTotal) parts.push(size(bundle.bytesDone) + " of " + size(bundle.bytesTotal));
      if (files.failed) parts.push(files.failed.toLocaleString() + " failed");
      return files.total ? parts.join(", ") : "";
    }

    function bundleVersion(bundle) {
      if (!bundle.version) return "none is ready";
      const signed = bundle.version.signedBy ? "signed" : "not signed";
      return [bundle.version.id + ", ", when(bundle.version.readyAt), ", " + (bundle.version.proved ? "proved" :
        "not all files are proved") + ", " + signed];
    }

    function bundleBox(bundle, isFixed) {
      const style = { ready: "good", failed: "bad", outdated: "warn" }[bundle.state] ?? "soft";
      const order = (verb, text) => { const node = button(text, () => attempt(async () => {
          await ask(bundlePath(bundle.name) + "/" + verb, "POST");
          await loadBundles();
          return bundle.name + ": " + text.toLowerCase();
        }));
        node.dataset.key = bundle.name + "." + verb;
        return node; };
      const isMoving = ["checking", "fetching"].includes(bundle.state);
      const buttons = isFixed ? [] : bundle.state === "paused" ? [order("resume", "Resume")] : isMoving ? [order(
        "now", "Now"), order("pause", "Pause"), order("cancel", "Cancel")] : [order("ensure", "Fetch"), order(
        "check", "Check for a newer version")];
      return el("article", { className: "box" }, el("div", { className: "line" }, el("h2", {}, bundle.name),
          el("span", { className: style }, bundle.state)),
        facts([["Source", el("code", {}, bundle.source)], ["Directory", el("code", {}, bundle.directory)],
          ["Files", bundleProgress(bundle)], ["Version", bundleVersion(bundle)],
          ["Newest", bundle.latest && bundle.latest.id !== bundle.version?.id && bundle.latest.id],
          ["Checked", when(bundle.checkedAt)], ["Next check", when(bundle.nextCheck)],
          ["Waits", bundle.waitingFor.map(reason).join(", ")], ["Error", bundle.error && local(bundle.error
            .message)]]),
        el("div", { className: "buttons" }, ...buttons));
    }
    """#
