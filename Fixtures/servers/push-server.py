"""Streams of events on a loopback port: push-server.py DIRECTORY PORT

GET /events        text/event-stream; goes on after Last-Event-ID
GET /TOPIC/json    ntfy's lines; goes on after since=
GET /page          no stream
GET /closed        401

The events are the lines of the file `events` in DIRECTORY: JSON {"id", "event", "data"}. Words of
the file `mode`: `cut` ends a connection after each event, `repeat` also sends the event that a
client names, `all` sends all to a client that names none, `bare` sends nothing before the first
event, `mute` gives no answer. Each request is a line of the file `log`.
"""

import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

directory, port = sys.argv[1], int(sys.argv[2])
lock = threading.Lock()


def text(name):
    try:
        with open(os.path.join(directory, name)) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def events():
    lines = text("events").split("\n")[:-1]
    return [json.loads(line) for line in lines]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        last = self.headers.get("Last-Event-ID") or query.get("since", [None])[0]
        entry = {
            "path": url.path,
            "last": last,
            "authorization": self.headers.get("Authorization"),
        }
        with lock, open(os.path.join(directory, "log"), "a") as file:
            file.write(json.dumps(entry) + "\n")
        if "mute" in text("mode"):
            self.close_connection = True
            while "mute" in text("mode"):
                time.sleep(0.02)
            return
        if url.path == "/closed":
            return self.whole(401, "text/plain", b"no")
        if url.path == "/page":
            return self.whole(200, "text/html", b"<p>hello")
        self.stream(url.path.endswith("/json"), url.path.split("/")[1], last)

    def whole(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, is_topic, topic, last):
        kind = "application/x-ndjson" if is_topic else "text/event-stream"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        known = events()
        sent = 0 if "all" in text("mode") else len(known)
        if last is not None:
            places = [n for n, event in enumerate(known) if event.get("id") == last]
            sent = places[0] + 1 if places else 0
            if places and "repeat" in text("mode"):
                sent = places[0]
        try:
            if "bare" in text("mode"):
                pass
            elif is_topic:
                self.line({"id": "o", "event": "open", "topic": topic})
            else:
                self.wfile.write(b": hello\nretry: 100\n\n")
            while True:
                for event in events()[sent:]:
                    self.send(event, is_topic, topic)
                    sent += 1
                    if "cut" in text("mode") and event.get("id") != last:
                        # In the middle of the next one.
                        self.wfile.write(b'{"id":"cut' if is_topic else b"id: cut\ndata: c")
                        return
                time.sleep(0.02)
        except OSError:
            pass

    def line(self, value):
        self.wfile.write(json.dumps(value).encode() + b"\n")

    def send(self, event, is_topic, topic):
        if is_topic:
            return self.line(
                {
                    "id": event["id"],
                    "time": 1,
                    "event": "message",
                    "topic": topic,
                    "message": event["data"],
                }
            )
        lines = [f"id: {event['id']}"] if "id" in event else []
        if "event" in event:
            lines.append(f"event: {event['event']}")
        lines += [f"data: {part}" for part in event["data"].split("\n")]
        self.wfile.write("\r\n".join(lines + ["", ""]).encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
server.daemon_threads = True
server.serve_forever()
