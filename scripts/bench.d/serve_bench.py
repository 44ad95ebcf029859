"""The server: a page of a long list, and a download while browsers follow the events."""

import http.client
import json
import os
import re
import selectors
import shutil
import socket
import statistics
import subprocess
import threading
import time

from measure import Sample, mark, rounds, run, table
from queue_bench import peak_mib


class Server:
    """`longhaul-serve` at a free port."""

    def __init__(self, program, files, environment):
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0"], cwd=files, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.port = int(re.search(r":(\d+)/", line)[1])
        self.client = http.client.HTTPConnection("127.0.0.1", self.port)

    def ask(self, method, path, body=None):
        self.client.request(method, path, body)
        answer = self.client.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:500]}")
        return json.loads(text)

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Browsers:
    """Streams of events that are read as they come, until `close`."""

    def __init__(self, port, count):
        self.selector = selectors.DefaultSelector()
        self.received = 0
        for _ in range(count):
            stream = socket.create_connection(("127.0.0.1", port))
            stream.sendall(b"GET /v1/events?after=9007199254740991 HTTP/1.1\r\nHost: localhost\r\n"
                           b"Accept: text/event-stream\r\n\r\n")
            stream.recv(65536)
            self.selector.register(stream, selectors.EVENT_READ)
        self.is_open = True
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while self.is_open:
            for key, _ in self.selector.select(0.1):
                self.received += key.fileobj.recv(65536).count(b"event: transferCompleted")

    def close(self):
        self.is_open = False
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


class Serve:
    browsers = 200

    def __init__(self, bench, queue):
        self.bench, self.options, self.queue = bench, bench.options, queue
        self.program = f"{bench.options.longhaul}-serve"

    def serve(self):
        self.page()
        self.download()

    def page(self):
        count = self.options.queued
        files = self.bench.fresh()
        environment = self.bench.environment()
        listed = self.queue.listed(count)
        run([self.options.longhaul, "enqueue", "--no-start", "--earliest", "+9h", "-d", files, "--input", listed],
            files, environment)
        server = Server(self.program, files, environment)
        print(f"\nPages of a list of {count}, over HTTP")
        for name, path in {
            "200 transfers, as the page asks": "/v1/transfers?state=running,waiting,paused&limit=200",
            "200 in the middle": f"/v1/transfers?limit=200&after={count // 2}",
            "1000, the most": "/v1/transfers?limit=1000",
        }.items():
            seconds = []
            for _ in range(21):
                started = time.monotonic()
                server.ask("GET", path)
                seconds.append(time.monotonic() - started)
            mark(name, statistics.median(seconds) * 1000, 50, " ms")
            print(f"    at most {max(seconds) * 1000:.1f} ms", flush=True)
        print(f"    {peak_mib(server.process.pid):.0f} MiB at most")
        server.stop()
        shutil.rmtree(self.bench.target)

    def download(self):
        self.bench.nginx.serve("big.bin", self.options.big_mib << 20)
        files = self.bench.fresh()
        server = Server(self.program, files, self.bench.environment())
        results = rounds(
            {"alone": lambda: self.once(server, files, 0),
             f"beside {self.browsers} browsers": lambda: self.once(server, files, self.browsers)},
            self.options.rounds)
        wall = table(f"{self.options.big_mib} MiB by `longhaul serve`, processor time of the server",
                     results, reference="alone")
        alone, beside = wall.values()
        mark(f"a download beside {self.browsers} browsers", beside / alone, 1.1, "×")
        server.stop()
        shutil.rmtree(self.bench.target)

    def once(self, server, files, count):
        browsers = Browsers(server.port, count)
        cpu, started = server.cpu(), time.monotonic()
        body = json.dumps({"url": self.bench.nginx.url("big.bin")})
        number = server.ask("POST", "/v1/transfers", body)["transfers"][0]["id"]
        while server.ask("GET", f"/v1/transfers/{number}")["state"] != "completed":
            time.sleep(0.02)
        sample = Sample(time.monotonic() - started, server.cpu() - cpu, peak_mib(server.process.pid) * 1024)
        end = time.monotonic() + 10
        while browsers.received < count and time.monotonic() < end:
            time.sleep(0.01)
        browsers.close()
        if browsers.received != count:
            raise SystemExit(f"{browsers.received} of {count} browsers were told of the end")
        os.remove(os.path.join(files, "big.bin"))
        return sample
