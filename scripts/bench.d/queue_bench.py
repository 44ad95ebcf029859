"""A queue of a million, the start of a command, and an engine with nothing to do."""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from measure import mark, median, rounds, run, table
from servers import FirstRequest, SilentStream


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024


class Queue:
    def __init__(self, bench):
        self.bench, self.options = bench, bench.options

    def longhaul(self, *words):
        return [self.options.longhaul, *words]

    def listed(self, count):
        path = os.path.join(self.options.work, f"list-{count}")
        with open(path, "w") as file:
            file.writelines(f"{self.bench.nginx.url('small/q.bin')}?{n}\n  out=q{n:07}.bin\n" for n in range(count))
        return path

    def queue(self):
        count = self.options.queued
        self.bench.nginx.serve("small/q.bin", 4096)
        path = self.listed(count)
        files = self.bench.fresh()
        environment = self.bench.environment()
        print(f"\nA queue of {count}, in {self.options.target}")
        enqueued = run(self.longhaul("enqueue", "--no-start", "-d", files, "--input", path), files, environment)
        mark("enqueued per second", count / enqueued.wall, 200_000, below=False)
        print(f"    {enqueued.wall:.2f}s wall, {enqueued.cpu:.2f}s cpu, {enqueued.rss / 1024:.0f} MiB peak")
        listed = [run(self.longhaul("list"), files, environment) for _ in range(9)]
        mark("list", median(listed, "wall") * 1000, 20, " ms")
        self.first_byte(files, environment)
        self.beside(files, environment)
        limited = self.listed(min(count, 100_000))
        # Against aria2, until it has written its first file.
        shutil.rmtree(files)
        os.makedirs(files)
        seconds, memory = self.until_first(
            ["aria2c", "-q", "-j16", "--file-allocation=none", "-d", files, "-i", limited], files, environment)
        print(f"    aria2c with {min(count, 100_000)} lines: first file after {seconds:.2f} s, {memory:.0f} MiB")
        shutil.rmtree(self.bench.target)

    def until_first(self, command, files, environment, seconds=5):
        """-> seconds until there is a file, and peak memory after so many more seconds"""
        started = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        while not any(name.endswith(".bin") for name in os.listdir(files)):
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} ended without a file")
            time.sleep(0.002)
        first = time.monotonic() - started
        time.sleep(seconds)
        memory = peak_mib(process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait()
        return first, memory

    def first_byte(self, files, environment):
        seconds, memory = self.until_first(self.longhaul("run"), files, environment)
        mark("first file after the start of the engine", seconds * 1000, 100, " ms")
        mark("engine memory, 5 s into the queue", memory, 64, " MiB")

    def beside(self, files, environment):
        """A `get` while the others wait, until the server has its request."""
        server = FirstRequest()
        empty = dict(environment, LONGHAUL_HOME=os.path.join(self.bench.target, "empty"))
        homes = {"alone": empty, "beside the queue": environment}
        seconds = {name: [] for name in homes}
        for number in range(9):
            for name, home in homes.items():
                path = os.path.join(files, f"beside-{name[:5]}-{number}")
                started = time.monotonic()
                run(self.longhaul("get", "-q", "-o", path, server.url), files, home)
                seconds[name].append(server.moments.get() - started)
        alone, beside = (statistics.median(seconds[name]) * 1000 for name in homes)
        mark("first request of a get beside the queue", beside, 100, " ms")
        print(f"    with an empty queue: {alone:.1f} ms")

    def start(self):
        """How long a command takes that does next to nothing."""
        files = self.bench.fresh()
        environment = self.bench.environment()
        for number in range(20):
            run(self.longhaul("enqueue", "--no-start", "--earliest", "+9h", f"http://127.0.0.1:1/{number}"),
                files, environment)
        once = lambda *words: lambda: run(self.longhaul(*words), files, environment)
        results = rounds({
            "longhaul --version": once("--version"), "longhaul status": once("status"),
            "longhaul list": once("list"), "aria2c --version": lambda: run(["aria2c", "--version"], files),
            "curl --version": lambda: run(["curl", "--version"], files),
        }, 21)
        wall = table("Start of a command", results, reference="longhaul --version")
        mark("longhaul --version", wall["longhaul --version"] * 1000, 10, " ms")
        mark("longhaul status", wall["longhaul status"] * 1000, 10, " ms")

    def idle(self):
        """A daemon that waits: for a transfer hours away, and for the events of a stream."""
        files = self.bench.fresh()
        environment = self.bench.environment()
        run(self.longhaul("enqueue", "--no-start", "--earliest", "+9h", "http://127.0.0.1:1/"), files, environment)
        mark("peak memory", self.rest("An engine that waits", files, environment), 25, " MiB")
        stream = SilentStream()
        # A machine without a system bus looks for one again and again.
        run(self.longhaul("conditions", "--set", "network=unmetered"), files, environment)
        run(self.longhaul("host", "add", "bench", "--", "/bin/true"), files, environment)
        run(self.longhaul("host", "subscribe", "bench", stream.url, "--no-start"), files, environment)
        memory = self.rest("An engine with a subscription to a silent stream", files, environment)
        print(f"    peak memory, with libcurl: {memory:.1f} MiB")
        if stream.connections.qsize() != 1:
            raise SystemExit(f"{stream.connections.qsize()} connections to the stream")
        shutil.rmtree(self.bench.target)

    def rest(self, title, files, environment):
        """-> peak memory"""
        process = subprocess.Popen(self.longhaul("daemon"), env=environment, cwd=files,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(3)
        log = os.path.join(self.options.work, "idle.strace")
        seconds = self.options.idle_seconds
        tracer = subprocess.Popen(["strace", "-f", "-q", "-o", log, "-p", str(process.pid)],
                                  stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        memory = peak_mib(process.pid)
        process.terminate()
        process.wait()
        with open(log) as file:
            calls = [line for line in file if "resumed" not in line and "restart_syscall" not in line]
        print(f"\n{title}, {seconds} s")
        mark("system calls in a minute", len(calls) * 60 / seconds, 60)
        return memory
