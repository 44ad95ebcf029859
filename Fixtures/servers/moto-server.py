"""moto's S3 on a port of this machine. DIRECTORY/log has a line of JSON for each request.

    moto-server.py DIRECTORY PORT
"""

import json
import os
import sys

from moto.server import DomainDispatcherApplication, create_backend_app
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


def application(environ, start_response):
    body = environ["wsgi.input"] = Counted(environ["wsgi.input"])
    try:
        return moto(environ, start_response)
    finally:
        log.write(json.dumps({
            "method": environ["REQUEST_METHOD"], "path": environ["PATH_INFO"],
            "query": environ["QUERY_STRING"], "bytes": body.bytes}) + "\n")


run_simple("127.0.0.1", int(sys.argv[2]), application, threaded=True)
