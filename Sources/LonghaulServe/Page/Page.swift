/// The page of `/`: one document without anything from elsewhere. Its parts are texts of the
/// program, so that it is one file and needs no step of the build.
let pageText = [
    pageMarkup, "<style>", pageStyle, "</style>", pageBody, "<script>", pageBase, pageModel,
    pageTable, pageList, pagePanel, pageEdit, pagePlot, pageForms, pageJobs, pageJobForm,
    pageBundles, pageFolders, pageMachine, pageStart, "</script>", "</body>", "</html>", "",
].joined(separator: "\n")

/// The head of the document.
let pageMarkup = #"""
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Longhaul</title>
    <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E
    %3Crect width='16' height='16' rx='3' fill='%230b5cad'/%3E%3Cpath d='M8 3v7M5 7l3 3 3-3M4 13h8' fill='none'
     stroke='%23fff' stroke-width='1.6'/%3E%3C/svg%3E">
    """#

/// Its body, without the lists that scripts fill.
let pageBody = #"""
    </head>
    <body>
    <a id="skip" href="#grid">Skip to the list</a>
    <header>
      <h1><svg width="20" height="20" viewBox="0 0 16 16" aria-hidden="true"><rect width="16" height="16" rx="3"
        fill="#0b5cad"/>
        <path d="M8 3v7M5 7l3 3 3-3M4 13h8" fill="none" stroke="#fff"
          stroke-width="1.6"/></svg><span>Longhaul</span></h1>
      <nav aria-label="Views" id="views"></nav>
      <div class="figures"><span id="down" aria-label="Receiving"></span><span id="up" aria-label="Sending"></span>
        <span id="counts" class="soft"></span><span id="engine" class="soft"></span></div>
    </header>
    <main>
      <section id="locked" class="page" hidden aria-label="Secret">
        <form id="secret" class="inner" style="max-width:420px">
          <h2>This server asks for its secret</h2>
          <p class="soft">It is kept for this tab alone.</p>
          <input name="user" autocomplete="username" value="longhaul" hidden>
          <p><label><span class="off">Secret</span><input type="password" name="secret"
            autocomplete="current-password" required
            style="width:100%"></label></p>
          <button class="main">Continue</button>
        </form>
      </section>
      <section id="transfers" aria-label="Transfers" hidden>
        <div class="speed">
          <figure><svg id="plot" role="img" aria-label="Rate"></svg><figcaption><span id="plotted"></span>
            <button type="button" class="bare" id="limitOpen" aria-expanded="false"
              aria-controls="limit">Limit…</button></figcaption></figure>
          <form id="limit" aria-label="Rate limit of all transfers">
            <p id="limitNow"></p>
            <label>Limit per second<input name="rate" placeholder="2M" autocomplete="off"></label>
            <label>For<select name="for"><option value="">until changed</option><option
              value="15m">15 minutes</option>
              <option value="1h">1 hour</option><option value="4h">4 hours</option><option
                value="12h">12 hours</option></select></label>
            <div class="buttons"><button class="main">Limit</button><button type="button"
              id="limitOff">No limit</button>
              <button type="button" id="limitBack">As configured</button></div>
          </form>
        </div>
        <div class="bar">
          <div class="chips" role="group" aria-label="States" id="chips"></div>
          <label><span class="off">Session</span><select id="sessions"><option
            value="">All sessions</option></select></label>
          <label><span class="off">Search in names, URLs and errors</span>
            <input type="search" id="search" placeholder="Search  ( / )" autocomplete="off"></label>
          <div class="right"><button type="button" class="main" id="addOpen">Add…</button>
            <button type="button" id="keysOpen" aria-label="Keys" title="Keys ( ? )">?</button></div>
        </div>
        <div class="tools" role="toolbar" aria-label="Selected transfers" id="tools"></div>
        <div class="split">
          <div class="list"><div id="grid" role="grid" aria-label="Transfers" aria-multiselectable="true"
            tabindex="0"></div></div>
          <div id="panel" role="region" aria-label="Transfer" hidden></div>
        </div>
      </section>
      <section id="jobs" class="page" aria-label="Jobs" hidden><div class="inner" id="joblist"></div></section>
      <section id="bundles" class="page" aria-label="Bundles" hidden><div class="inner"
        id="bundlelist"></div></section>
      <section id="folders" class="page" aria-label="Folders" hidden><div class="inner"
        id="folderlist"></div></section>
      <section id="machine" class="page" aria-label="Machine" hidden><div class="inner"
        id="machineText"></div></section>
      <section id="settings" class="page" aria-label="Settings" hidden><div class="inner"
        id="settingsText"></div></section>
    </main>
    <footer><span id="zone"></span><span id="fresh"></span></footer>
    <div id="note" role="status" aria-live="polite"></div>
    """#
