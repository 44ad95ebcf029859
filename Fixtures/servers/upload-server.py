"""A server for uploads that misbehaves as the query of the first URL asks it to.

    upload-server.py DIRECTORY PORT

What has arrived whole stands in DIRECTORY under the last segment of the URL's path;
DIRECTORY/log has a line of JSON for each request. Paths: /plain/NAME (PUT, POST), /ietf/NAME
(draft-ietf-httpbis-resumable-upload), /tus/NAME (tus 1.0.0). Queries, each once unless said:

    version=6|8|9   the interop version that is spoken (default 9); another is answered with 400
    rate=N          bytes per second that are read
    cut=N           the connection is closed after N bytes of a body
    lost=1          the answer to the last byte is lost
    no104=1         no interim answer, ever
    back=N          the first HEAD tells N bytes fewer
    beyond=N        the first HEAD tells N bytes more
    gone=1          the resource is forgotten at the first HEAD
    conflict=N      the first N PATCHes are answered with 409
    append=N        the most bytes of one request, always; told by OPTIONS where options=1
    options=1       OPTIONS tells Upload-Limit (of the version that is spoken) or Tus-Version, with the
                    extension termination
    checksum=1      OPTIONS tells the extension checksum, and pieces are compared (tus)
    damage=N        the first byte of the first N pieces is damaged on its way (tus)
    proxy=N         a PATCH of more than N bytes is answered with 413, always, as by a proxy
    keeps=1         OPTIONS does not tell that extension (tus)
    nodefer=1       OPTIONS does not tell creation-defer-length (tus)
    ignore=1        another version of the draft is ignored: the request is a plain one
    least=N         the smallest file of a resumable upload, told by OPTIONS where options=1
    most=N          the largest one
    417=1           a request that expects "100 Continue" is refused so, always
    absolute=URL    the address of a resource begins with this
    status=N        the first request with a body is answered so, and its body is not asked for;
                    retry=S adds Retry-After
    redirect=N      the first URL redirects, always; with a 303 nothing is there; late=1: once the body
                    has come
    token=1         the last answer has a Location with a signature, and sets a cookie (plain)
    big=1           the last answer has a body of a MiB
    digest=KIND     the last answer has a Repr-Digest: right or wrong, without a body, or body, which
                    is that of the answer's body
    carry=N         OPTIONS tells creation-with-upload, and creations take N bytes (tus)
    mute=1          the answer to a creation with bytes tells no offset (tus)
    expired=1       Upload-Expires is told, and the resource has expired at the first HEAD (tus)
"""

import base64
import hashlib
import json
import os
import socket
import sys
import threading
import time
import urllib.parse

directory = sys.argv[1]
resources = {}
once_done = set()
lock = threading.Lock()
log = open(os.path.join(directory, "log"), "a", buffering=1)


class Closed(Exception):
    pass


class Resource:
    def __init__(self, path, query, length):
        self.path, self.query, self.length = path, query, length
        self.name = path.rsplit("/", 1)[1]
        self.offset, self.complete = 0, False
        self.file = os.path.join(directory, "part-%d" % len(once_done | set(resources)))
        self.file += "-" + str(time.monotonic_ns())
        open(self.file, "wb").close()
        self.conflicts_left = int(query.get("conflict", "0"))
        self.damages_left = int(query.get("damage", "0"))

    def conflicts(self):
        self.conflicts_left -= 1
        return self.conflicts_left >= 0

    def finish(self):
        self.complete = True
        os.rename(self.file, os.path.join(directory, self.name))


def once(query, key, path):
    with lock:
        if key not in query or (path, key) in once_done:
            return None
        once_done.add((path, key))
        return query[key]


class Connection(threading.Thread):
    def __init__(self, sock):
        super().__init__(daemon=True)
        self.sock, self.buffer = sock, b""

    def run(self):
        try:
            while True:
                self.serve()
        except (Closed, OSError):
            pass
        finally:
            self.sock.close()

    def more(self):
        data = self.sock.recv(1 << 16)
        if not data:
            raise Closed
        self.buffer += data

    def serve(self):
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, target, _ = first.split(" ")
        self.headers = {}
        for line in lines:
            name, value = line.split(":", 1)
            self.headers[name.strip().lower()] = value.strip()
        url = urllib.parse.urlsplit(target)
        self.path = url.path
        self.query = dict(urllib.parse.parse_qsl(url.query))
        self.length = int(self.headers.get("content-length", "0"))
        self.got, self.noted = 0, False
        try:
            self.route()
        finally:
            self.note()

    def note(self):
        """Logs the request, before its answer: the next one may come over another connection."""
        if self.noted:
            return
        self.noted = True
        log.write(json.dumps({
            "method": self.method, "path": self.path, "bytes": self.got,
            "length": self.length, "headers": self.headers}) + "\n")

    # Answers

    def answer(self, status, fields=None, body=b""):
        self.note()
        # A body that was not read would be taken for the next request.
        closes = self.got < self.length
        text = "HTTP/1.1 %d Answer\r\nContent-Length: %d\r\n" % (status, len(body))
        if closes:
            text += "Connection: close\r\n"
        for name, value in (fields or {}).items():
            text += "%s: %s\r\n" % (name, value)
        payload = b"" if self.method == "HEAD" else body
        self.sock.sendall(text.encode() + b"\r\n" + payload)
        if closes:
            self.linger()
            raise Closed

    def linger(self):
        """Reads until the client has closed: a close with unread bytes is a reset, and a reset
        can overtake the answer (RFC 9112, section 9.6)."""
        self.sock.shutdown(socket.SHUT_WR)
        while self.sock.recv(1 << 16):
            pass

    def last(self, query, path, fields=None):
        if once(query, "lost", path):
            raise Closed
        digest = query.get("digest")
        if digest in ("right", "wrong"):
            with open(os.path.join(directory, path.rsplit("/", 1)[1]), "rb") as file:
                told = self.digest(file.read() + b"!" * (digest == "wrong"))
            return self.answer(204, {**told, **(fields or {})})
        if digest == "body":
            fields = {**self.digest(b'{"stored":true}'), **(fields or {})}
        body = b"x" * (1 << 20) if query.get("big") else b'{"stored":true}'
        self.answer(200, {"Content-Type": "application/json", **(fields or {})}, body)

    def digest(self, data):
        text = base64.b64encode(hashlib.sha256(data).digest()).decode()
        return {"Repr-Digest": "sha-256=:%s:" % text}

    # Bodies

    def receive(self, file, query, path, moved=lambda count: None):
        if self.headers.get("expect", "").lower() == "100-continue":
            self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        rate = int(query.get("rate", "0"))
        cut = once(query, "cut", path) if self.length else None
        begun = time.monotonic()
        while self.got < self.length:
            if not self.buffer:
                self.more()
            part = self.buffer[: self.length - self.got]
            self.buffer = self.buffer[len(part):]
            file.write(part)
            file.flush()
            self.got += len(part)
            moved(len(part))
            if cut and self.got >= int(cut):
                raise Closed
            if rate:
                wait = begun + self.got / rate - time.monotonic()
                if wait > 0:
                    time.sleep(wait)

    # Requests

    def route(self):
        if self.path.startswith("/r/"):
            return self.resource()
        kind = self.path.split("/")[1]
        query = self.query
        if self.method == "OPTIONS":
            fields = {}
            if query.get("options") and kind == "tus":
                told = ["creation"]
                told += ["creation-with-upload"] if "carry" in query else []
                told += [] if "keeps" in query else ["termination"]
                told += [] if "nodefer" in query else ["creation-defer-length"]
                if "checksum" in query:
                    told += ["checksum"]
                    fields["Tus-Checksum-Algorithm"] = "md5,sha1"
                fields.update({"Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0",
                               "Tus-Extension": ", ".join(told)})
            elif query.get("options") and kind == "ietf":
                return self.limits(query)
            return self.answer(204 if fields else 405, fields)
        if query.get("417") and "expect" in self.headers:
            return self.answer(417)
        if query.get("redirect"):
            if query.get("late"):
                with open(os.devnull, "wb") as file:
                    self.receive(file, {}, self.path)
            there = urllib.parse.urlencode({k: v for k, v in query.items() if k != "redirect"})
            return self.answer(
                int(query["redirect"]), {"Location": "%s?%s" % (self.path, there)})
        status = once(query, "status", self.path)
        if status:
            fields = {"Retry-After": query["retry"]} if "retry" in query else {}
            return self.answer(int(status), fields, b'{"refused":true}')
        if kind == "ietf":
            return self.create_ietf()
        if kind == "tus":
            return self.create_tus()
        self.plain()

    def limits(self, query):
        version = query.get("version", "9")
        if self.headers.get("upload-draft-interop-version") != version:
            fields = {"Upload-Draft-Interop-Version": version}
            return self.answer(204) if query.get("ignore") else self.answer(400, fields)
        self.answer(204, {"Upload-Limit": "min-size=%s, max-size=%s, max-append-size=%s" % (
            query.get("least", 0), query.get("most", 1 << 40), query.get("append", 1 << 40))})

    def plain(self):
        resource = Resource(self.path, self.query, self.length)
        with open(resource.file, "wb") as file:
            self.receive(file, self.query, self.path)
        resource.finish()
        signed = {"Location": self.path + "?v=1&sig=SIGNED", "Set-Cookie": "sid=SIGNED"}
        self.last(self.query, self.path, signed if "token" in self.query else None)

    def add(self, resource):
        with lock:
            address = "/r/%d" % (len(resources) + 1)
            resources[address] = resource
        return address

    def create_tus(self):
        deferred = self.headers.get("upload-defer-length") == "1"
        if deferred == ("upload-length" in self.headers):
            return self.answer(400)
        length = None if deferred else int(self.headers["upload-length"])
        resource = Resource(self.path, self.query, length)
        address = self.add(resource)
        fields = {"Tus-Resumable": "1.0.0", "Location": self.query.get("absolute", "") + address}
        if "expired" in self.query:
            fields["Upload-Expires"] = "Wed, 25 Jun 2014 16:00:00 GMT"
        if self.length > 0:
            self.carried(resource)
            if "mute" not in self.query:
                fields["Upload-Offset"] = resource.offset
        if resource.offset == resource.length:
            resource.finish()
        if resource.complete and once(self.query, "lost", self.path):
            raise Closed
        self.answer(201, fields)

    def carried(self, resource):
        """The bytes that a creation brings, up to the most that is taken."""
        taken = min(self.length, int(self.query["carry"]))
        with open(resource.file, "r+b") as file:
            self.receive(file, self.query, self.path)
            file.truncate(taken)
        resource.offset = taken

    def create_ietf(self):
        version = self.query.get("version", "9")
        if self.headers.get("upload-draft-interop-version") != version:
            if "upload-draft-interop-version" in self.headers and not self.query.get("ignore"):
                return self.answer(400, {"Upload-Draft-Interop-Version": version})
            return self.plain()
        resource = Resource(self.path, self.query, None)
        address = self.add(resource)
        if not self.query.get("no104"):
            self.interim(address, None)
        self.append_ietf(resource, address, 201)

    def interim(self, address, offset):
        version = self.query.get("version", "9")
        text = "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Draft-Interop-Version: %s\r\n"
        text = text % version
        if address:
            text += "Location: %s\r\n" % address
        if offset is not None:
            text += "Upload-Offset: %d\r\n" % offset
        self.sock.sendall(text.encode() + b"\r\n")

    def append_ietf(self, resource, address, status):
        most = int(resource.query.get("append", 1 << 40))
        if self.length > most:
            return self.answer(413, {"Upload-Limit": "max-append-size=%d" % most})

        def moved(count):
            resource.offset += count

        with open(resource.file, "r+b") as file:
            file.seek(resource.offset)
            self.receive(file, resource.query, resource.path, moved)
        fields = {"Upload-Offset": resource.offset, "Location": address}
        if self.headers.get("upload-complete") == "?1":
            resource.finish()
            return self.last(resource.query, resource.path, {"Upload-Complete": "?1", **fields})
        self.answer(status, {"Upload-Complete": "?0", **fields})

    def resource(self):
        resource = resources.get(self.path)
        if resource is None:
            return self.answer(404)
        query = resource.query
        tus = resource.path.startswith("/tus/")
        common = {"Tus-Resumable": "1.0.0"} if tus else {}
        if self.method == "DELETE":
            del resources[self.path]
            os.path.exists(resource.file) and os.remove(resource.file)
            return self.answer(204, common)
        if self.method == "HEAD":
            for knob, status in (("gone", 404), ("expired", 410)):
                if once(query, knob, resource.path):
                    del resources[self.path]
                    return self.answer(status)
            back = once(query, "back", resource.path)
            if back:
                resource.offset = max(0, resource.offset - int(back))
                os.truncate(resource.file, resource.offset)
            told = resource.offset + int(once(query, "beyond", resource.path) or 0)
            fields = {**common, "Upload-Offset": told, "Cache-Control": "no-store"}
            if tus and resource.length is None:
                fields["Upload-Defer-Length"] = 1
            elif tus:
                fields["Upload-Length"] = resource.length
            else:
                fields["Upload-Complete"] = "?1" if resource.complete else "?0"
            return self.answer(204 if not tus else 200, fields)
        offset = int(self.headers["upload-offset"])
        if self.length > int(query.get("proxy", 1 << 60)):
            return self.answer(413)
        if resource.conflicts():
            return self.answer(409, {**common, "Upload-Offset": resource.offset})
        if offset != resource.offset:
            return self.answer(409, {**common, "Upload-Offset": resource.offset})
        if not tus:
            return self.append_ietf(resource, self.path, 204)
        if "upload-length" in self.headers:
            # The length is told once.
            if resource.length is not None:
                return self.answer(400, common)
            resource.length = int(self.headers["upload-length"])

        def moved(count):
            resource.offset += count

        with open(resource.file, "r+b") as file:
            file.seek(offset)
            self.receive(file, query, resource.path, moved)
            if not self.is_sound(file, resource, offset):
                resource.offset = offset
                return self.answer(460, common)
        if resource.offset == resource.length:
            resource.finish()
        if resource.complete:
            if query.get("digest"):
                return self.last(query, resource.path, {**common, "Upload-Offset": resource.offset})
            if once(query, "lost", resource.path):
                raise Closed
        self.answer(204, {**common, "Upload-Offset": resource.offset})

    def is_sound(self, file, resource, offset):
        """Damages the piece that has come, and compares it with its digest."""
        if resource.damages_left > 0 and self.length > 0:
            resource.damages_left -= 1
            file.seek(offset)
            byte = file.read(1)
            file.seek(offset)
            file.write(bytes([byte[0] ^ 1]))
        if "checksum" not in resource.query or "upload-checksum" not in self.headers:
            return True
        algorithm, told = self.headers["upload-checksum"].split(" ")
        file.seek(offset)
        data = file.read(self.length)
        return base64.b64encode(hashlib.new(algorithm, data).digest()).decode() == told


listener = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=128)
while True:
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    Connection(sock).start()
