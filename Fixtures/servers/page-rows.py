"""Opens the page of a server that has many transfers in headless Chromium; says OK.

    page-rows.py CHROMIUM PORT COUNT
"""

import json
import sys
import urllib.request

from browser import CONTROL, SHIFT, Browser, until

chromium, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
address = f"http://127.0.0.1:{port}/"


def send(path, value):
    request = urllib.request.Request(
        address + path, json.dumps(value).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=120))


for first in range(0, count, 2000):
    send("v1/transfers", [
        {"url": f"http://127.0.0.1:9/file-{i:06d}.bin", "earliestBegin": "2099-01-01T00:00:00Z"}
        for i in range(first, min(count, first + 2000))
    ])
page = Browser(chromium, address)
try:
    until("all are there", lambda: page.evaluate("list.length") == count, 180)
    until("they are read", lambda: not page.evaluate("isReading"))

    # A window of rows, wherever it is.
    assert page.evaluate("document.querySelectorAll('.row').length") < 120
    page.tab_to("#grid")
    page.key("End")
    until("the last row", lambda: page.evaluate("cursor") == count)
    until("it is drawn", lambda: page.evaluate(
        "document.getElementById(grid.getAttribute('aria-activedescendant'))?.textContent"
        f".includes('file-{count - 1:06d}.bin')"))
    assert page.evaluate("Number(grid.getAttribute('aria-rowcount'))") == count + 1
    assert page.evaluate("document.querySelectorAll('.row').length") < 120

    # The list is not read again while nothing happens.
    page.events.clear()
    turn = page.evaluate("tick.turn")
    page.evaluate("tick()")
    until("a turn", lambda: page.evaluate("tick.turn") > turn)
    asked = [
        event["params"]["request"]["url"] for event in page.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert not [url for url in asked if "limit=1000" in url], asked

    # What others change is seen, and many are changed at once.
    send("v1/actions", {"action": "pause", "ids": [count]})
    page.evaluate("tick()")
    until("it is paused", lambda: page.evaluate(f"known.get({count}).state") == "paused")
    page.key("Home")
    page.key("PageDown", SHIFT)
    assert page.evaluate("picked.size") > 5
    page.key("a", CONTROL)
    until("all are selected", lambda: page.evaluate("picked.size") == count)
    page.key("p")
    until("all are paused", lambda: page.evaluate("status.counts.paused") == count, 120)
    page.key("/")
    page.tab_to("#search")
    page.type("file-000123")
    until("search", lambda: page.evaluate("list.length") == 1)
    problems = page.problems()
    assert not problems, problems
    print("OK")
finally:
    page.close()
