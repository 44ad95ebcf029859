"""Uses the page of a server in headless Chromium, as a person would; says OK.

    page-client.py CHROMIUM PORT SLOW-URL [DIRECTORY-FOR-SCREENSHOTS]

The server has the jobs `job` and `named`, whose conditions, triggers and slot have names, and the
watched folder `scans`.
"""

import os
import pathlib
import sys
import tempfile

import axe_core_python

from browser import ALT, SHIFT, Browser, until

chromium, port, slow_url = sys.argv[1:4]
pictures = sys.argv[4] if len(sys.argv) > 4 else None
axe = (pathlib.Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
page = Browser(chromium, f"http://127.0.0.1:{port}/")


def look(name):
    """At both widths and in both colours: nothing is wider than the window, and axe-core finds
    nothing."""
    for width in (400, 1400):
        for scheme in ("light", "dark"):
            page.size(width, scheme)
            wide = page.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>"
                " done(document.documentElement.scrollWidth))))")
            assert wide <= width, f"{name}: {wide} pixels at {width}"
            if pictures:
                page.picture(f"{pictures}/{name}-{width}-{scheme}.png")
            page.evaluate(axe + "; 0")
            found = page.evaluate(
                "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map("
                "v => v.id + ': ' + v.nodes[0].html.slice(0, 200)))")
            assert not found, f"{name} at {width}, {scheme}: {found}"


def rows():
    return page.evaluate("list.map(row => row.name + ' ' + told(row))")


def press(text, within="document"):
    until(text, lambda: page.evaluate(
        f"(n => n && !n.disabled && (n.click(), true))([...{within}.querySelectorAll('button')]"
        f".find(b => b.textContent === {text!r}))"))


def add(**fields):
    press("Add…")
    page.evaluate(
        "(fields => { const form = document.querySelector('dialog form');"
        " for (const [name, value] of Object.entries(fields)) form[name].value = value;"
        f" }})({fields!r})")
    press("Add", "document.querySelector('dialog')")
    until("it is added", lambda: page.evaluate("!document.querySelector('dialog')"))


try:
    page.size(1400, "light")
    until("the engine", lambda: "serve" in page.text("#engine"))
    # What axe adds to the page is not of the page.
    page.command("Page.setBypassCSP", enabled=True)

    # Adds and watches, from the first second on.
    add(url=slow_url, limitRate="50K")
    until("it runs", lambda: any("left" in row for row in rows()))
    until("its rate", lambda: "/s" in page.text("#down") and page.text("#down") != "↓ 0 B/s")
    assert page.evaluate("document.querySelector('#plot path.get').getAttribute('d').length") > 5
    first = page.evaluate("list[0].done")
    until("it moves", lambda: page.evaluate("list[0].done") > first)

    # A name from elsewhere is text.
    add(url=slow_url + "&seed=2", destination="<img src=x onerror=alert(1)>.bin",
        earliestBegin="2099-01-01T00:00:00Z")
    add(url=slow_url + "&seed=3", destination="third.bin", earliestBegin="2099-01-01T00:00:00Z")
    until("they wait", lambda: sum("starts in" in row for row in rows()) == 2)
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    look("list")

    # The keyboard alone: to the list, to a row, its details, and back.
    page.evaluate("document.activeElement.blur()")
    page.tab_to("#grid")
    page.key("End")
    until("the last row", lambda: page.evaluate("known.get(cursor)?.name") == "third.bin")
    page.key("ArrowUp", ALT)
    until("it is earlier", lambda: "third.bin" in rows()[1])
    page.key("Home")
    page.key("ArrowDown", SHIFT)
    until("two are selected", lambda: page.evaluate("picked.size") == 2)
    page.key("Home")
    page.key("Enter")
    until("why", lambda: "It runs." in page.text("#panel .why"))
    assert slow_url in page.text("#panel")
    look("panel")
    page.key("Escape")
    until("it is closed", lambda: page.evaluate("document.activeElement === grid"))
    page.key("p")
    until("it is paused", lambda: "paused" in rows()[-1] or "paused" in rows()[0])
    until("it says so", lambda: "paused" in page.text("#note"))
    for _ in range(2):
        page.key("a", 2)
    page.key("c")
    until("it asks", lambda: page.evaluate("!!document.querySelector('dialog')"))
    page.tab_to("dialog button.main")
    page.key("Enter")
    until("nothing is left", lambda: page.evaluate("list.length === 0 && !isReading"))

    # The limit of all transfers.
    page.tab_to("#limit input")
    page.type("2M")
    page.key("Enter")
    until("the limit", lambda: "Limited to 2.00 MiB/s" in page.text("#limitNow"))
    press("As configured")
    until("no limit", lambda: "no limit" in page.text("#limitNow"))

    # A completed download is saved by the browser.
    with tempfile.TemporaryDirectory() as directory:
        page.command(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=directory)
        add(url=slow_url.replace("20M", "20K") + "&seed=4", destination="small.bin")
        page.evaluate("choose('history')")
        until("it completes", lambda: any("small.bin completed" in row for row in rows()))
        page.evaluate("openPanel(list.find(row => row.name === 'small.bin').id)")
        press("Save the file")
        until("it is saved", lambda: os.listdir(directory) == ["small.bin"])
        size = os.path.getsize(directory + "/small.bin")
        assert size == 20480, size
        page.evaluate("closePanel()")

    # History with its search and clean-up, and the other views.
    page.evaluate("choose('history')")
    until("history", lambda: len(rows()) == 4)
    look("history")
    page.key("/")
    page.tab_to("#search")
    page.type("third")
    until("search", lambda: len(rows()) == 1)
    page.key("Escape")
    press("Clean up…")
    page.evaluate("document.querySelectorAll('dialog input').forEach(box => box.checked = true)")
    press("Remove", "document.querySelector('dialog')")
    until("it is clean", lambda: len(rows()) == 0)
    page.evaluate("location.hash = 'jobs'")
    until("jobs", lambda: "Next run" in page.text("#joblist"))
    press("Log")
    until("the log", lambda: page.evaluate("!!document.querySelector('#log')"))
    look("jobs")
    page.evaluate("document.querySelector('dialog')?.close()")
    # The form has everything of a job, with and without boxes of its own.
    edited = page.evaluate(
        "(() => { editJob(jobs.find(job => job.name === 'named'));"
        " return values(document.querySelector('dialog form')); })()")
    assert edited["on"] == ["power", "path=/srv/in;settle=30"], edited
    assert edited["require"] == ["idle", "battery=40", "network=home|office"], edited
    assert edited["slot"] == "disk=2", edited
    look("job form")
    press("Back", "document.querySelector('dialog')")
    until("the form is closed", lambda: page.evaluate("!document.querySelector('dialog')"))
    page.evaluate("location.hash = 'folders'")
    until("folders", lambda: "Last scan" in page.text("#folderlist"))
    press("Pause", "document.querySelector('#folderlist')")
    until("it is paused", lambda: "paused" in page.text("#folderlist"))
    press("Resume", "document.querySelector('#folderlist')")
    until("it is watched", lambda: "watching" in page.text("#folderlist"))
    press("Scan", "document.querySelector('#folderlist')")
    until("it says so", lambda: "scans: scan" in page.text("#note"))
    look("folders")
    page.evaluate("location.hash = 'machine'")
    until("conditions", lambda: "Network" in page.text("#machineText"))
    look("machine")
    page.evaluate("location.hash = 'settings'")
    until("settings", lambda: "Retention" in page.text("#settingsText"))
    look("settings")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input,select,textarea')]"
        ".filter(n => !n.hidden && !n.labels.length && !n.ariaLabel).length")
    assert unnamed == 0, f"{unnamed} fields have no label"
    problems = page.problems()
    assert not problems, problems
    print("OK")
finally:
    page.close()
