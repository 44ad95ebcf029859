/// Watched folders: what they have found and sent, and what may be asked of them.
let pageFolders = #"""
    let folders = [];
    const folderPath = name => "v1/folders/" + encodeURIComponent(name);
    async function loadFolders() {
      folders = (await ask("v1/folders")).folders;
      showFolders();
    }

    function showFolders() {
      const nodes = [el("h2", { style: "" }, "Folders"), el("p", { className: "soft" },
        "What appears there and is complete is uploaded. They are added on the command line.")];
      if (!folders.length) nodes.push(el("p", { className: "soft" }, "There are no watched folders."));
      for (const folder of folders) nodes.push(folderBox(folder, settings && settings.readOnly));
      refill("folderlist", nodes);
    }

    function folderFiles(folder) {
      const parts = [folder.uploaded.toLocaleString() + " uploaded"];
      if (folder.waiting) parts.push(folder.waiting.toLocaleString() + " to be sent");
      if (folder.failed) parts.push(folder.failed.toLocaleString() + " failed");
      return parts.join(", ");
    }

    function folderBox(folder, isFixed) {
      const style = { watching: "good", failed: "bad", paused: "warn" }[folder.state] ?? "soft";
      const order = (verb, text) => { const node = button(text, () => attempt(async () => {
          await ask(folderPath(folder.name) + "/" + verb, "POST");
          await loadFolders();
          return folder.name + ": " + text.toLowerCase();
        }));
        node.dataset.key = folder.name + "." + verb;
        return node; };
      const buttons = isFixed ? [] : folder.state === "paused" ? [order("resume", "Resume")] : [order("scan",
        "Scan"), order("pause", "Pause")];
      return el("article", { className: "box" }, el("div", { className: "line" }, el("h2", {}, folder.name),
          el("span", { className: style }, folder.state)),
        facts([["Directory", el("code", {}, folder.directory)], ["To", el("code", {}, folder.url)],
          ["Files", folderFiles(folder)], ["After it was sent", folder.after], ["Last scan", when(folder.lastScan)],
          ["Waits", folder.waitingFor.map(reason).join(", ")], ["Error", folder.error && local(folder.error
            .message)]]),
        el("div", { className: "buttons" }, ...buttons));
    }
    """#
