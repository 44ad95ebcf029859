"""Uploads: one big file, one to S3, and many small ones."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

from measure import mark, rounds, run, table
from servers import free_port

AWS_CLI = "awscli==1.45.11"


class Sink:
    """A server that keeps nothing."""

    def __init__(self):
        self.port = free_port()
        script = os.path.join(os.path.dirname(__file__), "sink.py")
        self.process = subprocess.Popen([sys.executable, script, str(self.port)])
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SystemExit("the server for uploads does not answer")

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def taken(self):
        with urllib.request.urlopen(self.url("")) as answer:
            return int(answer.read())

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Uploads:
    def __init__(self, bench):
        self.bench, self.options = bench, bench.options

    def against_sink(self, title, peers, size, environment):
        """name -> command. Each sends `size` bytes to the sink. -> name -> median wall clock"""
        def contestant(words):
            def once():
                files = self.bench.fresh()
                self.sink.taken()
                sample = run(words, files, dict(self.bench.environment(), **environment))
                taken = self.sink.taken()
                # The requests that make S3's parts one object have bodies, too.
                if taken < size:
                    raise SystemExit(f"{words[0]} sent {taken} bytes of {size}")
                shutil.rmtree(self.bench.target)
                return sample
            return once
        return table(title, rounds({name: contestant(words) for name, words in peers.items()},
                                   self.options.rounds))

    def with_sink(self, work):
        """Calls it with the path of a big file in memory, while there is a sink."""
        size = self.options.big_mib << 20
        source = os.path.join(self.options.target, f"longhaul-bench-source-{os.getpid()}")
        self.sink = Sink()
        try:
            with open(source, "wb") as file:
                for _ in range(self.options.big_mib):
                    file.write(os.urandom(1 << 20))
            work(source, size)
        finally:
            self.sink.stop()
            os.remove(source)

    def upload(self):
        def work(source, size):
            url = self.sink.url("big")
            longhaul = [self.options.longhaul, "upload", "--wait", "-q"]
            wall = self.against_sink(
                f"{self.options.big_mib} MiB sent over HTTP, from {self.options.target}", {
                    "longhaul": [*longhaul, source, url],
                    "longhaul --protocol put": [*longhaul, "--protocol", "put", source, url],
                    "curl -T": ["curl", "-sf", "-T", source, url],
                }, size, {})
            mark("longhaul against curl -T", wall["longhaul"] / wall["curl -T"], 1, "×")
        self.with_sink(work)

    def s3(self):
        def work(source, size):
            environment = {
                "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": self.sink.url("").rstrip("/")}
            peers = {"longhaul": [
                self.options.longhaul, "upload", "--wait", "-q", source, "s3://bucket/big"]}
            if aws := self.aws():
                peers["aws s3 cp"] = [
                    aws, "s3", "cp", "--only-show-errors", source, "s3://bucket/big"]
            self.against_sink(
                f"{self.options.big_mib} MiB sent to S3, from {self.options.target}", peers, size,
                environment)
        self.with_sink(work)

    def aws(self):
        """Amazon's command line in an environment of its own; None where it cannot be installed."""
        directory = os.path.join(os.path.dirname(__file__), "../../.build/python-bench")
        program = os.path.abspath(os.path.join(directory, "bin/aws"))
        if not os.path.exists(program):
            made = subprocess.run(
                [sys.executable, "-m", "venv", directory], capture_output=True).returncode == 0
            if not made or subprocess.run(
                    [os.path.join(directory, "bin/pip"), "install", "-q", AWS_CLI],
                    capture_output=True).returncode:
                print("  no aws: it cannot be installed")
                return None
        return program

    def uploads(self):
        """Many small files, to nginx's module for WebDAV."""
        count, size = self.options.small // 10, 64 << 10
        source = os.path.join(self.options.work, "small-sources")
        os.makedirs(source, exist_ok=True)
        names = [f"{number:05}.bin" for number in range(count)]
        for name in names:
            with open(os.path.join(source, name), "wb") as file:
                file.write(os.urandom(size))
        pairs = [(os.path.join(source, name), self.bench.nginx.url(f"up/{name}")) for name in names]
        lines = os.path.join(self.options.work, "uploads.jsonl")
        with open(lines, "w") as file:
            file.writelines(json.dumps({"source": path, "url": url}) + "\n" for path, url in pairs)
        curls = os.path.join(self.options.work, "uploads.curl")
        with open(curls, "w") as file:
            file.writelines(f'upload-file = "{path}"\nurl = "{url}"\n' for path, url in pairs)
        longhaul = self.options.longhaul
        script = f'"{longhaul}" upload --no-start --input "{lines}" && exec "{longhaul}" run'
        peers = {
            "longhaul": ["sh", "-c", script],
            "curl -Z -T": ["curl", "-sf", "-Z", "--parallel-max", "16", "-K", curls],
        }

        def contestant(words):
            def once():
                files = self.bench.fresh()
                there = self.bench.nginx.empty_uploads()
                sample = run(words, files, self.bench.environment())
                for name in names:
                    path = os.path.join(there, name)
                    if not os.path.exists(path) or os.path.getsize(path) != size:
                        raise SystemExit(f"{words[0]} did not send {name}")
                shutil.rmtree(self.bench.target)
                return sample
            return once
        table(f"{count} files of 64 KiB sent over HTTP", rounds(
            {name: contestant(words) for name, words in peers.items()}, self.options.rounds))
