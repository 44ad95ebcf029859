"""A server that takes uploads and keeps nothing: what is measured against it are the programs that send.

    sink.py PORT [ADDRESS]

PUT and POST of any path; parts of S3, whose signatures are not looked at. GET answers with the bytes of
bodies since the last GET.
"""

import socket
import sys
import threading

BUFFER = 1 << 20
lock = threading.Lock()
taken = 0

ANSWERS = {
    "created": b"<InitiateMultipartUploadResult><UploadId>sink</UploadId></InitiateMultipartUploadResult>",
    "completed": b"<CompleteMultipartUploadResult><ETag>\"sink-1\"</ETag></CompleteMultipartUploadResult>",
}


class Connection(threading.Thread):
    def __init__(self, sock):
        super().__init__(daemon=True)
        self.sock, self.buffer = sock, b""
        self.room = bytearray(BUFFER)

    def run(self):
        with self.sock:
            try:
                while self.serve():
                    pass
            except OSError:
                pass

    def serve(self):
        while b"\r\n\r\n" not in self.buffer:
            data = self.sock.recv(1 << 16)
            if not data:
                return False
            self.buffer += data
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        fields = dict(line.lower().split(": ", 1) for line in lines)
        if fields.get("expect") == "100-continue":
            self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.discard(int(fields.get("content-length", "0"))):
            return False
        self.answer(method, target.partition("?")[2])
        return True

    def discard(self, length):
        """Takes a body off the connection. Nothing is copied: MSG_TRUNC (tcp(7))."""
        global taken
        left = length - len(self.buffer[:length])
        self.buffer = self.buffer[length:]
        while left:
            count = self.sock.recv_into(self.room, min(left, BUFFER), socket.MSG_TRUNC)
            if not count:
                return False
            left -= count
        with lock:
            taken += length
        return True

    def answer(self, method, query):
        global taken
        status, body = "200 OK", b""
        if method == "OPTIONS":
            status = "405 Method Not Allowed"
        elif method == "GET":
            with lock:
                body, taken = b"%d" % taken, 0
        elif method == "POST" and query.startswith("uploads"):
            body = ANSWERS["created"]
        elif method == "POST" and "uploadId=" in query:
            body = ANSWERS["completed"]
        self.sock.sendall(
            f"HTTP/1.1 {status}\r\nETag: \"sink\"\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
listener = socket.create_server((address, int(sys.argv[1])), backlog=128)
while True:
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    Connection(sock).start()
