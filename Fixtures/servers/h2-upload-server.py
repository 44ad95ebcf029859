"""HTTP/2 over TLS, and nothing else, for uploads; what has arrived whole stands in DIRECTORY.

    h2-upload-server.py DIRECTORY PORT CERTIFICATE KEY

DIRECTORY/log has a line of JSON for each request. Paths: /plain/NAME, and /ietf/NAME
(draft-ietf-httpbis-resumable-upload, interop version 9). Queries of the first URL:

    cut=N      once: the stream is reset after N bytes of a body
    lost=1     once: the stream is reset when the last byte has come
    told=N     an interim answer tells the offset after each N bytes
    early=N    the answer comes after 64 KiB of a body, with this status; no more is taken
"""

import itertools
import json
import os
import socket
import ssl
import sys
import threading
import urllib.parse

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

directory = sys.argv[1]
resources, once_done = {}, set()
numbers = itertools.count(1)  # connections have a thread each
log = open(os.path.join(directory, "log"), "a", buffering=1)


class Resource:
    def __init__(self, target):
        url = urllib.parse.urlsplit(target)
        self.path, self.query = url.path, dict(urllib.parse.parse_qsl(url.query))
        self.address = "/r/%d" % next(numbers)
        self.offset, self.complete = 0, False
        self.file = os.path.join(directory, "part-" + self.address[3:])
        open(self.file, "wb").close()
        resources[self.address] = self

    def once(self, key):
        if key not in self.query or (self.path, key) in once_done:
            return False
        once_done.add((self.path, key))
        return True

    def number(self, key):
        return int(self.query.get(key, 1 << 60))

    def finish(self):
        self.complete = True
        os.rename(self.file, os.path.join(directory, self.path.rsplit("/", 1)[1]))


class Stream:
    def __init__(self, connection, number, headers):
        self.connection, self.number, self.headers = connection, number, headers
        self.method, self.target = headers[":method"], headers[":path"]
        self.resource = resources.get(self.target)
        self.got, self.told, self.is_over = 0, 0, False
        if self.method in ("PUT", "POST"):
            self.resource = Resource(self.target)
        self.resumes = (self.resource and self.resource.path.startswith("/ietf/")
                        and "upload-draft-interop-version" in headers)

    def begin(self):
        if self.method in ("PUT", "POST"):
            if self.resumes:
                self.interim({"location": self.resource.address})
        elif not self.resource:
            self.end(405)
        elif self.method == "HEAD":
            self.end(204, {"upload-offset": self.resource.offset,
                           "upload-complete": "?1" if self.resource.complete else "?0"})
        elif int(self.headers["upload-offset"]) != self.resource.offset:
            self.end(409)

    def receive(self, data):
        self.got += len(data)
        self.resource.offset += len(data)
        with open(self.resource.file, "ab") as file:
            file.write(data)
        if "early" in self.resource.query and self.got >= 1 << 16:
            self.end(self.resource.number("early"))
        elif self.got >= self.resource.number("cut") and self.resource.once("cut"):
            self.reset()
        elif self.resumes and self.got - self.told >= self.resource.number("told"):
            self.told = self.got
            self.interim({"upload-offset": self.resource.offset})

    def received(self):
        if self.resumes and self.headers.get("upload-complete") != "?1":
            return self.end(201, {"location": self.resource.address, "upload-complete": "?0"})
        self.resource.finish()
        if self.resource.once("lost"):
            return self.reset()
        self.end(200, {"upload-complete": "?1"} if self.resumes else {})

    def interim(self, fields):
        self.send(104, {"upload-draft-interop-version": 9, **fields}, False)

    def end(self, status, fields={}):
        self.is_over = True
        self.send(status, fields, True)

    def send(self, status, fields, is_last):
        fields = [(":status", str(status)), *((name, str(value)) for name, value in fields.items())]
        self.connection.send_headers(self.number, fields, end_stream=is_last)

    def reset(self):
        self.is_over = True
        self.connection.reset_stream(self.number, h2.errors.ErrorCodes.INTERNAL_ERROR)


def handle(connection, streams, event, number):
    stream = streams.get(getattr(event, "stream_id", None))
    if isinstance(event, h2.events.RequestReceived):
        stream = Stream(connection, event.stream_id, dict(event.headers))
        streams[event.stream_id] = stream
        stream.begin()
        log.write(json.dumps({
            "connection": number, "method": stream.method, "path": stream.target}) + "\n")
    elif isinstance(event, h2.events.DataReceived) and not stream.is_over:
        stream.receive(event.data)
        if not stream.is_over:
            connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
    elif isinstance(event, h2.events.StreamEnded) and not stream.is_over:
        stream.received()


def serve(sock, number):
    connection = h2.connection.H2Connection(
        h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    connection.initiate_connection()
    connection.increment_flow_control_window(1 << 24)
    streams = {}
    sock.sendall(connection.data_to_send())
    while data := sock.recv(1 << 16):
        try:
            for event in connection.receive_data(data):
                handle(connection, streams, event, number)
            sock.sendall(connection.data_to_send())
        except h2.exceptions.ProtocolError:
            pass  # Another protocol, which is read to its end.


def accept(sock, number):
    try:
        with context.wrap_socket(sock, server_side=True) as secured:
            serve(secured, number)
    except OSError:
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[3], sys.argv[4])
context.set_alpn_protocols(["h2"])
listener = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=128)
for number in range(1 << 60):
    accepted, _ = listener.accept()
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=accept, args=(accepted, number), daemon=True).start()
