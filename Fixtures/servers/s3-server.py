"""A server like Amazon S3, of multipart uploads, that misbehaves as the name of the bucket asks.

    s3-server.py DIRECTORY PORT

Requests are signed by the user `key` with the password `secret` (AWS Signature Version 4); others
are refused. An object stands in DIRECTORY under the last segment of its key, a part of an open
upload as part-ID-NUMBER; DIRECTORY/log has a line of JSON for each request that was answered or
dropped. Buckets are written NAME-NUMBER, several with a dot between them:

    hold-N       a part is not answered before N of them have come
    refuse-N     part N is answered with 503, once
    fail-N       the same, always
    lost-N       part N is stored and its answer is lost, once
    stall-N      after N parts the others hang, until the parts are asked for
    page-N       a list has N parts
    gone-N       the upload is forgotten when its parts are asked for, N times
    unjoined-N   the answer to the completion is lost, N times, and nothing is joined
    joined-N     the same, and the object is there
    late-N       the completion is answered with 200 and an error, N times
    missing-N    part N is forgotten at the first completion
    shorter-N    the list tells one byte fewer of part N, once
    deaf-N       N requests to abort are answered with 503
    expire-N     after N parts, keys with the token `old` are refused
    other-N      the answer to an object that comes whole tells another digest, N times
    timeout-N    the first request that creates (1), sends (2), lists (3) or completes (4) is
                 answered with 400 RequestTimeout
    region-N     the bucket is in eu-west-N: answered with 301
    endless-N    N lists have the first part alone, and say that more follow
    bare-N       an object with a field of a digest is refused, N times
    deny-N       N requests are answered with 403, a code and a message

As Amazon does, it refuses a part whose request describes the object.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import socket
import sys
import threading
import urllib.parse

directory = sys.argv[1]
changed = threading.Condition()
uploads = {}
objects = {}
done = {}
parts_under_way = 0
log = open(os.path.join(directory, "log"), "a", buffering=1)


class Dropped(Exception):
    pass


class Upload:
    def __init__(self, key):
        self.key, self.parts, self.begun, self.has_been_listed = key, {}, 0, False

    def forget(self, number):
        os.remove(self.parts.pop(number)[2])


def path_of(key):
    return os.path.join(directory, key.rsplit("/", 1)[1])


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def serve(self):
        self.url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(self.url.query, keep_blank_values=True))
        bucket = self.url.path.split("/")[1]
        self.knobs = {k: int(n) for k, n in re.findall(r"([a-z]+)-(\d+)", bucket)}
        self.got, self.told, self.beside, self.noted = 0, 0, 0, False
        self.length = int(self.headers.get("content-length", "0"))
        try:
            if not self.is_signed():
                return self.error(403, "SignatureDoesNotMatch")
            if self.has_expired():
                return self.error(400, "ExpiredToken")
            if not self.is_refused():
                self.route()
        except (Dropped, OSError):
            self.close_connection = True
        finally:
            self.note()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = serve

    def note(self):
        """Logs the request, before its answer: the next one may come over another connection."""
        if self.noted:
            return
        self.noted = True
        log.write(json.dumps({
            "method": self.command, "path": self.url.path, "query": self.url.query,
            "part": int(self.query.get("partNumber", "0")), "bytes": self.got,
            "status": self.told, "beside": self.beside,
            "token": self.headers.get("x-amz-security-token"),
            "headers": {k.lower(): v for k, v in self.headers.items()}}) + "\n")

    # Signatures

    def is_signed(self):
        found = re.search(
            r"Credential=key/(\d+)/([^/]+)/s3/aws4_request, ?"
            r"SignedHeaders=([^,]+), ?Signature=(\w+)", self.headers.get("authorization", ""))
        if not found:
            return False
        day, region, names, signature = found.groups()
        query = sorted(p if "=" in p else p + "=" for p in self.url.query.split("&") if p)
        fields = "".join(
            "%s:%s\n" % (name, self.headers.get(name, "").strip()) for name in names.split(";"))
        digest = self.headers.get("x-amz-content-sha256", "")
        canonical = "\n".join(
            [self.command, self.url.path, "&".join(query), fields, names, digest])
        scope = "%s/%s/s3/aws4_request" % (day, region)
        text = "\n".join(
            ["AWS4-HMAC-SHA256", self.headers.get("x-amz-date", ""), scope,
             hashlib.sha256(canonical.encode()).hexdigest()])
        key = b"AWS4secret"
        for word in [day, region, "s3", "aws4_request"]:
            key = mac(key, word)
        return mac(key, text).hex() == signature

    def has_expired(self):
        if self.headers.get("x-amz-security-token") != "old" or "expire" not in self.knobs:
            return False
        parts = [len(upload.parts) for upload in uploads.values() if upload.key == self.url.path]
        return sum(parts) >= self.knobs["expire"]

    def is_refused(self):
        """Whether it was refused, by a knob or for its header fields."""
        kinds = {"POST": 4 if "uploadId" in self.query else 1, "PUT": 2, "GET": 3}
        if self.knobs.get("timeout") == kinds.get(self.command) and self.happens("timeout"):
            self.error(400, "RequestTimeout", "Your socket connection was not read in time.")
        elif "region" in self.knobs:
            region = "eu-west-%d" % self.knobs["region"]
            self.error(301, "PermanentRedirect", "Use the endpoint of the bucket.", {
                "x-amz-bucket-region": region})
        elif self.happens("deny", self.knobs.get("deny", 0)):
            self.error(403, "AccessDenied", "Policy\x1b[2J of the bucket; ask its owner")
        elif self.describes() and "partNumber" in self.query:
            self.error(400, "InvalidArgument")
        else:
            return False
        return True

    def describes(self):
        names = [name.lower() for name in self.headers.keys()]
        words = ("acl", "storage-class", "tagging", "server-side-encryption")
        return any(name.startswith("x-amz-meta-") for name in names) or any(
            "x-amz-" + word in names for word in words)

    # Answers

    def happens(self, knob, most=1):
        """Whether it is to happen, so many times for each object."""
        with changed:
            count = done.get((self.url.path, knob), 0)
            if knob not in self.knobs or count >= most:
                return False
            done[(self.url.path, knob)] = count + 1
            return True

    def answer(self, status, body=b"", fields=None):
        self.told = status
        self.note()
        self.send_response(status)
        for name, value in (fields or {}).items():
            self.send_header(name, value)
        # A body that was not read would be taken for the next request.
        if self.got < self.length:
            self.send_header("Connection", "close")
            self.close_connection = True
        if "Content-Length" not in (fields or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.command != "HEAD" else b"")
        if self.got < self.length:
            self.linger()

    def linger(self):
        """Reads until the client has closed: a close with unread bytes is a reset, and a reset
        can overtake the answer (RFC 9112, section 9.6)."""
        self.connection.shutdown(socket.SHUT_WR)
        while self.connection.recv(1 << 16):
            pass

    def error(self, status, code, message="", fields=None):
        text = "<Error><Code>%s</Code><Message>%s</Message></Error>" % (code, message)
        self.answer(status, text.encode(), fields)

    def body(self):
        pieces = []
        while self.got < self.length:
            piece = self.rfile.read(min(1 << 16, self.length - self.got))
            if not piece:
                raise Dropped
            pieces.append(piece)
            self.got += len(piece)
        return b"".join(pieces)

    # Requests

    def route(self):
        if self.command == "POST" and "uploads" in self.query:
            return self.create()
        if self.command == "HEAD":
            tag, size, made = objects.get(self.url.path, (None, 0, ""))
            if tag is None:
                return self.answer(404)
            fields = {"ETag": '"%s"' % tag, "Content-Length": str(size), "Last-Modified": made}
            return self.answer(200, b"", fields)
        if "uploadId" not in self.query:
            return self.whole()
        upload = uploads.get(self.query["uploadId"])
        if upload is None or upload.key != self.url.path:
            return self.error(404, "NoSuchUpload")
        routes = {
            "PUT": self.part, "GET": self.list, "POST": self.complete, "DELETE": self.abort}
        routes[self.command](upload)

    def whole(self):
        data = self.body()
        fields = {"ETag": '"%s"' % hashlib.md5(data).hexdigest()}
        wanted = self.headers.get("x-amz-checksum-sha256")
        if wanted and self.happens("bare", self.knobs.get("bare", 0)):
            return self.error(400, "InvalidArgument", "Unsupported header 'x-amz-checksum-sha256'")
        if wanted:
            told = base64.b64encode(hashlib.sha256(data).digest()).decode()
            if told != wanted:
                return self.error(400, "BadDigest")
            if self.happens("other", self.knobs.get("other", 0)):
                told = base64.b64encode(hashlib.sha256(data + b"!").digest()).decode()
            fields["x-amz-checksum-sha256"] = told
        with open(path_of(self.url.path), "wb") as file:
            file.write(data)
        self.answer(200, b"", fields)

    def create(self):
        with changed:
            # No `+`: libcurl 8.14 signs a blank in its place.
            name = "u/%d=" % len(done)
            uploads[name] = Upload(self.url.path)
            done[name] = 1
        self.answer(200, ("<R><UploadId>%s</UploadId></R>" % name).encode())

    def part(self, upload):
        global parts_under_way
        number = int(self.query["partNumber"])
        with changed:
            self.beside = parts_under_way
            parts_under_way += 1
        try:
            self.receive(upload, number)
        finally:
            with changed:
                parts_under_way -= 1

    def receive(self, upload, number):
        most = self.knobs.get("stall", 1 << 20)
        with changed:
            if upload.begun >= most and not upload.has_been_listed:
                changed.wait_for(lambda: upload.has_been_listed or upload.begun < most, 120)
                if upload.has_been_listed or upload.begun >= most:
                    raise Dropped
            upload.begun += 1
        try:
            self.store(upload, number)
        except (Dropped, OSError):
            # Another may come in its place.
            with changed:
                upload.begun -= 1
                changed.notify_all()
            raise

    def store(self, upload, number):
        if self.knobs.get("refuse") == number and self.happens("refuse"):
            return self.error(503, "SlowDown")
        if self.knobs.get("fail") == number:
            return self.error(503, "SlowDown")
        data = self.body()
        tag = hashlib.md5(data).hexdigest()
        file = os.path.join(
            directory, "part-%s-%d" % (re.sub(r"\W", "", self.query["uploadId"]), number))
        with open(file, "wb") as output:
            output.write(data)
        with changed:
            upload.parts[number] = (tag, len(data), file)
            changed.notify_all()
            if not changed.wait_for(lambda: len(upload.parts) >= self.knobs.get("hold", 0), 60):
                raise Dropped
        if self.knobs.get("lost") == number and self.happens("lost"):
            raise Dropped
        self.answer(200, b"", {"ETag": '"%s"' % tag})

    def list(self, upload):
        if self.happens("gone", self.knobs.get("gone", 0)):
            self.remove(upload)
            return self.error(404, "NoSuchUpload")
        first = int(self.query.get("part-number-marker", "0")) + 1
        with changed:
            upload.has_been_listed = True
            changed.notify_all()
            numbers = sorted(n for n in upload.parts if n >= first)
        page = numbers[:self.knobs.get("page", 1000)]
        is_cut = len(page) < len(numbers)
        if self.happens("endless", self.knobs.get("endless", 0)):
            is_cut, page = True, sorted(upload.parts)[:1]
        text = "<ListPartsResult><IsTruncated>%s</IsTruncated>" % str(is_cut).lower()
        if is_cut:
            text += "<NextPartNumberMarker>%d</NextPartNumberMarker>" % page[-1]
        for number in page:
            tag, size, _ = upload.parts[number]
            if self.knobs.get("shorter") == number and self.happens("shorter"):
                size -= 1
            text += (
                "<Part><PartNumber>%d</PartNumber><ETag>&quot;%s&quot;</ETag><Size>%d</Size></Part>"
                % (number, tag, size))
        self.answer(200, (text + "</ListPartsResult>").encode())

    def complete(self, upload):
        text = self.body().decode()
        if "missing" in self.knobs and self.happens("missing"):
            upload.forget(self.knobs["missing"])
        named = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>\"?(\w+)\"?</ETag>", text)
        named = [(int(number), tag) for number, tag in named]
        held = {number: part[0] for number, part in upload.parts.items()}
        if not named or any(held.get(number) != tag for number, tag in named):
            return self.error(400, "InvalidPart")
        if self.happens("unjoined", self.knobs.get("unjoined", 0)):
            raise Dropped
        if self.happens("late", self.knobs.get("late", 0)):
            return self.error(200, "InternalError")
        digest = hashlib.md5()
        size = 0
        with open(path_of(upload.key), "wb") as output:
            for number, tag in named:
                with open(upload.parts[number][2], "rb") as file:
                    output.write(file.read())
                size += upload.parts[number][1]
                digest.update(bytes.fromhex(tag))
        objects[upload.key] = ("%s-%d" % (digest.hexdigest(), len(named)), size, self.date_time_string())
        self.remove(upload)
        if self.happens("joined", self.knobs.get("joined", 0)):
            raise Dropped
        self.answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

    def abort(self, upload):
        if self.happens("deaf", self.knobs.get("deaf", 0)):
            return self.error(503, "SlowDown")
        self.remove(upload)
        self.answer(204)

    def remove(self, upload):
        with changed:
            del uploads[self.query["uploadId"]]
            for number in list(upload.parts):
                upload.forget(number)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
