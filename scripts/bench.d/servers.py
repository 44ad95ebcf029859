"""A real nginx for the measurements, and what it serves."""

import os
import queue
import shutil
import socket
import subprocess
import threading
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class FirstRequest:
    """A server of four bytes that notes when a request has come."""

    def __init__(self):
        self.moments = queue.Queue()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/four"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.socket.accept()
            with connection:
                connection.recv(65536)
                self.moments.put(time.monotonic())
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfour")


class SilentStream:
    """Streams of events in which nothing happens."""

    def __init__(self):
        self.connections = queue.Queue()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/events"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.socket.accept()
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n")
            self.connections.put(connection)


class Nginx:
    def __init__(self, directory, memory):
        # Uploads are moved within it from the file that they were received into.
        self.uploads = os.path.join(memory, f"longhaul-bench-uploads-{os.getpid()}")
        self.empty_uploads()
        self.root = os.path.join(directory, "www")
        self.http, self.tls = free_port(), free_port()
        os.makedirs(self.root, exist_ok=True)
        key, certificate = (os.path.join(directory, name) for name in ("key.pem", "cert.pem"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
             certificate, "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True, stderr=subprocess.DEVNULL)
        self.certificate = certificate
        configuration = os.path.join(directory, "nginx.conf")
        with open(configuration, "w") as file:
            file.write(f"""
daemon off; pid {directory}/nginx.pid; error_log {directory}/error.log; worker_processes 2;
user root;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; root {self.root};
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen 127.0.0.1:{self.http};
    listen 127.0.0.1:{self.tls} ssl http2;
    ssl_certificate {certificate}; ssl_certificate_key {key};
    location /limited/ {{ alias {self.root}/; limit_rate 20m; }}
    location /up/ {{
      root {self.uploads}; client_body_temp_path {self.uploads}/body;
      dav_methods PUT; create_full_put_path on; client_max_body_size 0;
    }}
  }}
}}
""")
        self.process = subprocess.Popen(["nginx", "-c", configuration], stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.http)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SystemExit("nginx does not answer")

    def empty_uploads(self):
        """-> where what is sent to /up/ arrives"""
        there = os.path.join(self.uploads, "up")
        shutil.rmtree(there, ignore_errors=True)
        os.makedirs(there)
        return there

    def serve(self, name, size):
        """A file of random bytes, made once."""
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path):
            with open(path, "wb") as file:
                left = size
                while left > 0:
                    left -= file.write(os.urandom(min(left, 1 << 20)))
        return path

    def url(self, name):
        return f"http://127.0.0.1:{self.http}/{name}"

    def tls_url(self, name):
        return f"https://localhost:{self.tls}/{name}"

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.uploads)
