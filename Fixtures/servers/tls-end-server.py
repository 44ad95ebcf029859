"""HTTP/1.1 over TLS whose answers have no length and end with their connection.

    tls-end-server.py DIRECTORY PORT CERTIFICATE KEY

A path names a file in DIRECTORY. Queries:

    end=fin    the connection ends without close_notify; end=reset: with a reset
    cut=N      after N bytes of the body, without close_notify
    cuts=K     the first K answers for the URL only
    version=1.0
    tag=T      an entity tag; ranges are not known
"""

import collections
import socket
import ssl
import struct
import sys
import threading
import urllib.parse

directory, port, certificate, key = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
answers = collections.Counter()
lock = threading.Lock()


def serve(plain):
    client = context.wrap_socket(plain, server_side=True)
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(4096)
        if not piece:
            return
        head += piece
    target = head.split()[1].decode()
    url = urllib.parse.urlsplit(target)
    query = dict(urllib.parse.parse_qsl(url.query))
    with lock:
        answers[target] += 1
        count = answers[target]
    with open(directory + url.path, "rb") as file:
        body = file.read()
    end = query.get("end", "announced")
    if "cut" in query and count <= int(query.get("cuts", "1000")):
        body, end = body[: int(query["cut"])], "fin"
    fields = ["HTTP/%s 200 OK" % query.get("version", "1.1"), "Connection: close"]
    if "tag" in query:
        fields.append('ETag: "%s"' % query["tag"])
    client.sendall("".join(field + "\r\n" for field in fields + [""]).encode() + body)
    if end == "announced":
        client.unwrap().close()
        return
    bare = socket.socket(fileno=client.detach())
    if end == "reset":
        bare.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    else:
        bare.shutdown(socket.SHUT_WR)
        while bare.recv(4096):
            pass
    bare.close()


def guarded(plain):
    try:
        serve(plain)
    except (OSError, ValueError):
        plain.close()


listener = socket.create_server(("127.0.0.1", int(port)))
while True:
    threading.Thread(target=guarded, args=(listener.accept()[0],), daemon=True).start()
