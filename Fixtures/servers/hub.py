"""A hub like Hugging Face's, releases like GitHub's, records like Zenodo's, and a registry's tokens.

    hub.py DIRECTORY PORT STORAGEPORT REGISTRYPORT

Below DIRECTORY:

hub/{models,datasets}/ORG/NAME/…   repositories. Files of 4 KiB and more are in large file storage: their
                                   bytes are at STORAGEPORT. ORG `private` wants the token, ORG `gated`
                                   accepts nobody.
releases/OWNER/REPO/TAG/…          assets. OWNER `private` wants the token.
records/ID/…                       files of a record.
plain/…                            files as they are.
rate                               if it exists: bytes a second of each body.
limited                            if it exists: the next request of PORT is refused for a second, and
                                   the file goes.
revoke                             if it exists: the next request for a blob with a token is refused
                                   like one with an old token, and the file goes.
log                                a line of JSON for each request.

REGISTRYPORT passes requests on to the registry whose port is in DIRECTORY/registry, if they have a token
of /token, which wants the user `user` with the password `word`.
"""

import base64
import hashlib
import http.client
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

root = sys.argv[1]
port, storage, registry = (int(word) for word in sys.argv[2:5])
token = "Bearer hf_token"
large = 4096
page = 3
log = open(os.path.join(root, "log"), "a", buffering=1)
tokens = {"count": 0, "valid": ""}
lock = threading.Lock()


def below(*parts):
    return os.path.join(root, *parts)


def once(name):
    """Whether the file was there. It is gone afterwards."""
    try:
        os.unlink(below(name))
        return True
    except FileNotFoundError:
        return False


def content(path):
    with open(path, "rb") as file:
        return file.read()


def blob(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def files(top):
    found = []
    for directory, _, names in os.walk(top):
        found += [os.path.relpath(os.path.join(directory, name), top) for name in names]
    return sorted(found)


def entry(top, path):
    data = content(os.path.join(top, path))
    made = {"type": "file", "path": path, "size": len(data), "oid": blob(data)}
    if len(data) >= large:
        digest = hashlib.sha256(data).hexdigest()
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n" % (
            digest, len(data))
        made["oid"] = blob(pointer.encode())
        made["lfs"] = {"oid": digest, "size": len(data), "pointerSize": len(pointer)}
    return made


def tree(top):
    entries = [entry(top, path) for path in files(top)]
    directories = {os.path.dirname(made["path"]) for made in entries} - {""}
    entries += [{"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
                for path in sorted(directories)]
    return sorted(entries, key=lambda made: made["path"])


def commit(top):
    return hashlib.sha1(json.dumps(tree(top)).encode()).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", headers={}):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            tag = '"%s"' % hashlib.sha1(body).hexdigest()
            headers = {"Content-Type": "application/json", "ETag": tag, **headers}
            if status == 200 and self.headers.get("If-None-Match") == tag:
                status, body, headers = 304, b"", {"ETag": tag}
        log.write(json.dumps({
            "port": self.name, "method": self.command, "path": self.path, "status": status,
            "range": self.headers.get("Range"),
            "authorized": "Authorization" in self.headers}) + "\n")
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.send(body)

    def send(self, body):
        while body:
            try:
                rate = int(content(below("rate")))
            except (FileNotFoundError, ValueError):
                rate = 0
            count = max(1, rate // 20) if rate else len(body)
            self.wfile.write(body[:count])
            self.wfile.flush()
            body = body[count:]
            if rate:
                time.sleep(0.05)

    def file(self, path, headers={}):
        data = content(path)
        headers = {"ETag": '"%s"' % hashlib.sha256(data).hexdigest(), "Accept-Ranges": "bytes",
                   **headers}
        asked = self.headers.get("Range", "")
        if not asked.startswith("bytes="):
            return self.answer(200, data, headers)
        first, _, last = asked[len("bytes="):].partition("-")
        start, end = int(first), min(int(last), len(data) - 1) if last else len(data) - 1
        if start >= len(data):
            return self.answer(416, b"", {"Content-Range": "bytes */%d" % len(data)})
        headers["Content-Range"] = "bytes %d-%d/%d" % (start, end, len(data))
        self.answer(206, data[start:end + 1], headers)

    def do_GET(self):
        try:
            self.reply()
        except FileNotFoundError:
            self.answer(404, {"error": "Not found"})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET


class Hub(Handler):
    name = "hub"

    def reply(self):
        if once("limited"):
            return self.answer(403, {"message": "API rate limit exceeded"}, {
                "x-ratelimit-limit": "60", "x-ratelimit-remaining": "0",
                "x-ratelimit-reset": str(int(time.time()) + 1)})
        url = urllib.parse.urlsplit(self.path)
        words = [urllib.parse.unquote(word) for word in url.path.split("/")[1:]]
        if words[0] == "plain":
            return self.file(below(*words))
        if words[0] == "repos":
            return self.release(words)
        if words[:2] == ["api", "records"]:
            return self.record(words)
        if words[0] == "assets":
            return self.asset(words[1:])
        if words[0] == "api":
            return self.api(words[1:], urllib.parse.parse_qs(url.query))
        self.resolve(words)

    def refused(self, owner):
        if owner == "gated":
            self.answer(403, {"error": "Access to the model is restricted."}, {
                "X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted."})
            return True
        if owner == "private" and self.headers.get("Authorization") != token:
            self.answer(401, {"error": "Invalid username or password."})
            return True
        return False

    def api(self, words, query):
        kind, owner, name, verb, revision = words[:5]
        if self.refused(owner):
            return
        top = below("hub", kind, owner, name)
        if not os.path.isdir(top) or revision not in ("main", commit(top)):
            return self.answer(404, {"error": "Not found"}, {"X-Error-Code": "RevisionNotFound"})
        if verb == "revision":
            return self.answer(200, {
                "id": "%s/%s" % (owner, name), "sha": commit(top),
                "siblings": [{"rfilename": path} for path in files(top)]})
        entries = tree(top)
        start = int(query.get("cursor", ["0"])[0])
        headers = {}
        if start + page < len(entries):
            headers["Link"] = '<http://127.0.0.1:%d%s?recursive=true&cursor=%d>; rel="next"' % (
                port, urllib.parse.urlsplit(self.path).path, start + page)
        self.answer(200, entries[start:start + page], headers)

    def resolve(self, words):
        kind = "models"
        if words[0] in ("datasets", "spaces"):
            kind, words = words[0], words[1:]
        if len(words) < 5 or words[2] != "resolve":
            return self.answer(404, {"error": "Not found"})
        if self.refused(words[0]):
            return
        top = below("hub", kind, *words[:2])
        path = "/".join(words[4:])
        made = entry(top, path)
        headers = {"X-Repo-Commit": commit(top)}
        if "lfs" not in made:
            return self.file(os.path.join(top, path), {**headers, "ETag": '"%s"' % made["oid"]})
        self.answer(302, b"", {
            **headers, "X-Linked-ETag": '"%s"' % made["lfs"]["oid"],
            "X-Linked-Size": str(made["size"]), "ETag": '"%s"' % made["oid"],
            "Location": "http://127.0.0.1:%d/%s" % (
                storage, urllib.parse.quote("/".join(["hub", kind, *words[:2], path])))})

    def release(self, words):
        owner, name = words[1:3]
        if self.refused(owner):
            return
        top = below("releases", owner, name)
        tag = max(os.listdir(top)) if words[4] == "latest" else words[5]
        base = "http://127.0.0.1:%d" % port
        assets = []
        for asset in files(os.path.join(top, tag)):
            data = content(os.path.join(top, tag, asset))
            place = urllib.parse.quote("/".join([owner, name, tag, asset]))
            assets.append({
                "url": "%s/assets/%s" % (base, place), "name": asset, "size": len(data),
                "state": "uploaded", "digest": "sha256:" + hashlib.sha256(data).hexdigest(),
                "browser_download_url": "%s/assets/%s" % (base, place)})
        self.answer(200, {"tag_name": tag, "assets": assets})

    def asset(self, words):
        if self.refused(words[0]):
            return
        self.answer(302, b"", {"Location": "http://127.0.0.1:%d/releases/%s" % (
            storage, urllib.parse.quote("/".join(words)))})

    def record(self, words):
        top = below("records", words[2])
        if len(words) > 4:
            return self.file(os.path.join(top, words[4]))
        found = []
        for name in os.listdir(top):
            data = content(os.path.join(top, name))
            found.append({
                "key": name, "size": len(data), "checksum": "md5:" + hashlib.md5(data).hexdigest(),
                "links": {"self": "http://127.0.0.1:%d/api/records/%s/files/%s/content" % (
                    port, words[2], urllib.parse.quote(name))}})
        self.answer(200, {"id": int(words[2]), "files": found})


class Storage(Handler):
    name = "storage"

    def reply(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        self.file(below(*path.split("/")[1:]))


class Registry(Handler):
    name = "registry"

    def reply(self):
        if self.path.startswith("/token"):
            return self.give()
        sent = self.headers.get("Authorization", "")
        with lock:
            if "/blobs/" in self.path and tokens["valid"] == sent and once("revoke"):
                tokens["valid"] = ""
            valid = tokens["valid"]
        if not valid or sent != valid:
            name = self.path.split("/manifests/")[0].split("/blobs/")[0].removeprefix("/v2/")
            return self.answer(401, {"errors": []}, {
                "WWW-Authenticate": 'Bearer realm="http://127.0.0.1:%d/token",service="front",'
                'scope="repository:%s:pull"' % (registry, name)})
        self.forward()

    def give(self):
        login = "Basic " + base64.b64encode(b"user:word").decode()
        if self.headers.get("Authorization") != login:
            return self.answer(401, {"errors": []})
        with lock:
            # A second command does not end the first one's token.
            if not tokens["valid"]:
                tokens["count"] += 1
                tokens["valid"] = "Bearer token-%d" % tokens["count"]
            given = tokens["valid"].split()[1]
        self.answer(200, {"token": given, "expires_in": 300})

    def forward(self):
        own = int(content(below("registry")))
        server = http.client.HTTPConnection("127.0.0.1", own)
        kept = {name: value for name, value in self.headers.items()
                if name not in ("Host", "Authorization", "Connection")}
        server.request(self.command, self.path, headers=kept)
        got = server.getresponse()
        body = got.read()
        headers = {name: value for name, value in got.getheaders()
                   if name not in ("Connection", "Date", "Server", "Transfer-Encoding")}
        self.answer(got.status, body, headers)


def serve(number, handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", number), handler)
    threading.Thread(target=server.serve_forever).start()


serve(port, Hub)
serve(storage, Storage)
serve(registry, Registry)
