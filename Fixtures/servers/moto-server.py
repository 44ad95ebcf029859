"""moto's S3 on a port of this machine. DIRECTORY/log has a line of JSON for each request.

    moto-server.py DIRECTORY PORT

signed: the signature was made with the keys `key` and `secret`; null = there is none. An object
below kms/ is sent as one that was encrypted with a key: its ETag is of other bytes.
"""

import json
import os
import sys

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.datastructures import EnvironHeaders
from werkzeug.serving import run_simple

moto = DomainDispatcherApplication(create_backend_app)
log = open(os.path.join(sys.argv[1], "log"), "a", buffering=1)


class Counted:
    """A body whose bytes are counted as they are read."""

    def __init__(self, stream):
        self.stream, self.bytes = stream, 0

    def read(self, *size):
        data = self.stream.read(*size)
        self.bytes += len(data)
        return data

    def readline(self, *size):
        data = self.stream.readline(*size)
        self.bytes += len(data)
        return data


def is_signed(environ):
    """Makes the signature once more, as Amazon's own client does."""
    headers = EnvironHeaders(environ)
    text = headers.get("Authorization", "")
    if not text.startswith("AWS4-HMAC-SHA256"):
        return None
    parts = dict(part.strip().split("=", 1) for part in text.split(" ", 1)[1].split(","))
    named = parts["SignedHeaders"].split(";")
    request = AWSRequest(
        environ["REQUEST_METHOD"], "http://" + headers["Host"] + environ["RAW_URI"],
        {name: headers[name] for name in named})
    request.context["timestamp"] = headers["X-Amz-Date"]
    region = parts["Credential"].split("/")[2]
    auth = S3SigV4Auth(Credentials("key", "secret"), "s3", region)
    made = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    return made == parts["Signature"]


def application(environ, start_response):
    body = environ["wsgi.input"] = Counted(environ["wsgi.input"])
    isEncrypted = "/kms/" in environ["PATH_INFO"] and environ["REQUEST_METHOD"] == "GET"

    def start(status, headers, *rest):
        if isEncrypted:
            headers = headers + [("x-amz-server-side-encryption", "aws:kms")]
        return start_response(status, headers, *rest)

    try:
        answer = moto(environ, start)
        if isEncrypted:
            answer = [bytes(byte ^ 1 for byte in b"".join(answer))]
        return answer
    finally:
        log.write(json.dumps({
            "method": environ["REQUEST_METHOD"], "path": environ["PATH_INFO"],
            "query": environ["QUERY_STRING"], "bytes": body.bytes,
            "signed": is_signed(environ)}) + "\n")


run_simple("127.0.0.1", int(sys.argv[2]), application, threaded=True)
