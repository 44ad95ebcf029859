"""Uses the page of a server in headless Chromium: adds, watches, pauses, reads why; says OK.

    page-client.py CHROMIUM PORT SLOW-URL [DIRECTORY-FOR-SCREENSHOTS]
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import websocket

chromium, port, slow_url = sys.argv[1:4]
pictures = sys.argv[4] if len(sys.argv) > 4 else None
home = tempfile.mkdtemp()
browser = subprocess.Popen(
    [
        chromium,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--remote-debugging-port=0",
        "--remote-allow-origins=*",
        "--user-data-dir=" + home,
        f"http://127.0.0.1:{port}/",
    ],
    env={**os.environ, "HOME": home},
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)


def until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit("not in time: " + what)


def devtools():
    try:
        number = open(home + "/DevToolsActivePort").readline().strip()
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{number}/json/list"))
        found = [page for page in pages if page["type"] == "page"]
        return found[0]["webSocketDebuggerUrl"] if found else None
    except OSError:
        return None


number = 0


def command(method, **parameters):
    global number
    number += 1
    page.send(json.dumps({"id": number, "method": method, "params": parameters}))
    while True:
        answer = json.loads(page.recv())
        if answer.get("id") == number:
            assert "error" not in answer, answer
            return answer["result"]


def evaluate(text):
    result = command("Runtime.evaluate", expression=text, awaitPromise=True)
    assert "exceptionDetails" not in result, result
    return result["result"].get("value")


def text(selector):
    return evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")


def click(label):
    return until(
        label,
        lambda: evaluate(
            f"(n => n && (n.click(), true))(document.querySelector('[aria-label^={json.dumps(label)}]'))"
        ),
    )


def add(**fields):
    evaluate(
        "(() => { const form = document.getElementById('add');"
        f" for (const [name, value] of Object.entries({json.dumps(fields)})) form[name].value = value;"
        " form.requestSubmit(); })()"
    )


def picture(name):
    if not pictures:
        return
    for width in (400, 1400):
        for scheme in ("light", "dark"):
            command(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=1000,
                deviceScaleFactor=1,
                mobile=width < 600,
            )
            command(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": scheme}],
            )
            data = command("Page.captureScreenshot")["data"]
            with open(f"{pictures}/{name}-{width}-{scheme}.png", "wb") as file:
                file.write(base64.b64decode(data))
            wide = evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{name}: {wide} pixels at {width}"


try:
    page = websocket.create_connection(until("DevTools", devtools), timeout=60)
    until("the page", lambda: evaluate("document.readyState") == "complete")
    until("the engine", lambda: "serve" in text("#engine"))

    # Adds and watches.
    add(url=slow_url, limitRate="50K")
    until("it runs", lambda: "running" in text("#transfers"))
    until("its rate", lambda: "/s" in text("#transfers .soft:not(span)"))
    first = evaluate("document.querySelector('#transfers progress').value")
    until("it moves", lambda: evaluate("document.querySelector('#transfers progress').value") > first)

    # Reads why.
    add(
        url=slow_url + "&seed=2",
        destination="late.bin",
        earliestBegin="2099-01-01T00:00:00Z",
        limitRate="",
    )
    until("it waits", lambda: "waits for its start" in text("#transfers"))
    evaluate("[...document.querySelectorAll('#transfers li')].at(-1).id = 'late'")
    evaluate("[...document.querySelectorAll('#late button')].find(b => b.textContent == 'Why').click()")
    until("why", lambda: "it may start at" in text("#late [role=status]"))
    evaluate("document.getElementById('adding').open = true")
    picture("queue")

    # Pauses and cancels.
    click("Pause: ")
    until("it is paused", lambda: "paused" in text("#transfers"))
    until("it says so", lambda: "is paused" in text("#message"))
    for _ in range(2):
        click("Cancel: ")
        time.sleep(0.3)
    until("nothing is left", lambda: not evaluate("document.getElementById('none').hidden"))

    # History with its search, and the machine.
    evaluate("location.hash = 'history'")
    until("history", lambda: "2 transfers" in text("#found"))
    picture("history")
    evaluate("(s => { s.value = 'seed=2'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    until("search", lambda: "1 transfers" in text("#found"))
    evaluate("location.hash = 'machine'")
    until("conditions", lambda: "network" in text("#conditions"))
    picture("machine")
    evaluate("location.hash = 'jobs'")
    until("jobs", lambda: evaluate("!document.getElementById('jobs').hidden"))
    unnamed = evaluate(
        "[...document.querySelectorAll('input,select,textarea')]"
        ".filter(n => !n.labels.length && !n.ariaLabel).length"
    )
    assert unnamed == 0, f"{unnamed} fields have no label"
    print("OK")
finally:
    browser.kill()
    browser.wait()
    shutil.rmtree(home, ignore_errors=True)
