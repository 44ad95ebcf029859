#!/usr/bin/env python3
"""How well discretionary transfers give way, beside other programs' transfers.

Three network namespaces: server, router, client. The bottleneck is a token bucket with a FIFO on
the router's way out to the client, for uploads to the server; segmentation offloads are off
everywhere. The path itself takes no time worth mentioning (the kernel may lack netem): round trips
are queue and nothing else.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.abspath(__file__)
NET = "10.93"
SERVER = f"{NET}.1.1"
SINK = 81
# Of struct tcp_info, tcpi_bytes_acked.
BYTES_ACKED = 120


def sh(command, check=True):
    return subprocess.run(command, shell=True, check=check, capture_output=True, text=True).stdout


class Rig:
    """The namespaces, a web server and what is needed to look at the line."""

    def __init__(self, rate, queue, uploads=False):
        self.uploads = uploads
        self.large, self.small = ("upload", "smallup") if uploads else ("download", "small")
        self.tag = f"lh{os.getpid() % 10000}"
        self.work = tempfile.mkdtemp(prefix="longhaul-yield-")
        self.server, self.router, self.client = (self.tag + x for x in "src")
        self.allowed = None
        self.servers = []
        try:
            self.build(rate, queue)
        except BaseException:
            self.close()
            raise

    def build(self, rate, queue):
        for name in (self.server, self.router, self.client):
            sh(f"ip netns add {name} && ip -n {name} link set lo up")
        t = self.tag
        sh(f"ip link add {t}a netns {self.server} type veth peer name {t}b netns {self.router}")
        sh(f"ip link add {t}d netns {self.client} type veth peer name {t}c netns {self.router}")
        for name, link, address in (
            (self.server, "a", "1.1"), (self.router, "b", "1.2"),
            (self.router, "c", "2.2"), (self.client, "d", "2.1"),
        ):
            sh(f"ip -n {name} addr add {NET}.{address}/24 dev {t}{link}")
            sh(f"ip -n {name} link set {t}{link} up")
            sh(f"ip netns exec {name} ethtool -K {t}{link} tso off gso off gro off")
        sh(f"ip -n {self.server} route add default via {NET}.1.2")
        sh(f"ip -n {self.client} route add default via {NET}.2.2")
        sh(f"ip netns exec {self.router} sysctl -qw net.ipv4.ip_forward=1")
        out = f"{t}b" if self.uploads else f"{t}c"
        sh(f"tc -n {self.router} qdisc add dev {out} root tbf rate {rate} burst 6k limit {queue}")
        root = os.path.join(self.work, "www")
        os.makedirs(root)
        for index in range(5):
            sh(f"truncate -s 1G {root}/big{index}")
        with open(f"{root}/small", "wb") as file:
            file.write(os.urandom(10_000))
        with open(f"{self.work}/nginx.conf", "w") as file:
            file.write(
                f"worker_processes 1; user root; daemon off; pid {self.work}/nginx.pid;"
                f"error_log {self.work}/nginx.log; events {{ worker_connections 512; }}"
                "http { access_log off; sendfile on; server {"
                f"listen {SERVER}:80; root {root}; }} }}")
        self.servers.append(self.spawn(self.server, ["nginx", "-c", f"{self.work}/nginx.conf"]))
        sink = os.path.join(os.path.dirname(HERE), "sink.py")
        self.servers.append(self.spawn(self.server, [sys.executable, sink, str(SINK), SERVER]))
        deadline = time.monotonic() + 10
        while subprocess.run(
                self.inside(["curl", "-sf", "-o", "/dev/null", f"http://{SERVER}/small"])).returncode:
            if time.monotonic() > deadline:
                raise RuntimeError("nginx does not answer")
            time.sleep(0.1)

    def control(self, name):
        """The senders' congestion control. One that is not for everybody is allowed for a while."""
        path = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
        with open(path) as file:
            allowed = file.read().strip()
        if name not in allowed.split():
            self.allowed = self.allowed or allowed
            with open(path, "w") as file:
                file.write(f"{allowed} {name}")
        sender = self.client if self.uploads else self.server
        sh(f"ip netns exec {sender} sysctl -qw net.ipv4.tcp_congestion_control={name}")

    def big(self, index):
        """A file of a gigabyte."""
        return os.path.join(self.work, "www", f"big{index}")

    def inside(self, argv):
        return ["ip", "netns", "exec", self.client] + argv

    def spawn(self, name, argv, **more):
        return subprocess.Popen(
            ["ip", "netns", "exec", name] + argv, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, **more)

    def measure(self, kind, seconds):
        done = subprocess.run(
            self.inside([sys.executable, HERE, "--client", kind, str(seconds)]),
            check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def received(self):
        name, link = (self.server, "a") if self.uploads else (self.client, "d")
        text = sh(f"ip -n {name} -s -j link show dev {self.tag}{link}")
        return json.loads(text)[0]["stats64"]["rx"]["bytes"]

    def rate(self, seconds):
        before, at = self.received(), time.monotonic()
        time.sleep(seconds)
        return (self.received() - before) / (time.monotonic() - at)

    def close(self):
        for server in self.servers:
            stop(server)
        for name in (self.server, self.router, self.client):
            sh(f"ip netns del {name}", check=False)
        if self.allowed:
            with open("/proc/sys/net/ipv4/tcp_allowed_congestion_control", "w") as file:
                file.write(self.allowed)
        shutil.rmtree(self.work, ignore_errors=True)


def stop(process):
    """Ends a program that was started here, with its children."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            process.wait()
            return


# MARK: what runs in the client's namespace


def client(kind, seconds):
    """kind: download, upload; small and smallup are requests of 10 kB either way."""
    if kind in ("download", "upload"):
        sock = socket.create_connection((SERVER, 80 if kind == "download" else SINK))
        if kind == "download":
            sock.sendall(b"GET /big4 HTTP/1.1\r\nHost: x\r\n\r\n")
        else:
            sock.sendall(b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        sock.settimeout(0.05)
        begun, total, series = time.monotonic(), 0, []
        while (now := time.monotonic() - begun) < seconds:
            try:
                if kind == "download":
                    total += len(sock.recv(1 << 18))
                else:
                    sock.send(bytes(1 << 16))
            except TimeoutError:
                pass
            if kind == "upload":
                info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                total = int.from_bytes(info[BYTES_ACKED:BYTES_ACKED + 8], sys.byteorder)
            if not series or now - series[-1][0] >= 0.1:
                series.append((now, total))
        json.dump({"rate": total / seconds, "series": series}, sys.stdout)
        return
    end, times = time.monotonic() + seconds, []
    while time.monotonic() < end:
        begun = time.monotonic()
        sock = socket.create_connection((SERVER, 80 if kind == "small" else SINK))
        if kind == "small":
            sock.sendall(b"GET /small HTTP/1.0\r\n\r\n")
        else:
            sock.sendall(b"PUT /x HTTP/1.1\r\nContent-Length: 10000\r\n\r\n" + bytes(10_000))
            sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 16):
            pass
        sock.close()
        times.append(time.monotonic() - begun)
        time.sleep(0.05)
    json.dump({"p95": statistics.quantiles(times, n=20)[18], "count": len(times)}, sys.stdout)


# MARK: what stands in the way


def longhaul(rig, binary, count):
    home = os.path.join(rig.work, "home")
    into = os.path.join(rig.work, "into")
    for path in (home, into):
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path, mode=0o700)
    # A good moment, so that discretionary transfers run; the caller may say otherwise.
    environment = {"LONGHAUL_CONDITIONS": "power=external,network=unmetered,idle=yes",
                   **os.environ, "LONGHAUL_HOME": home}
    for index in range(count):
        words = ["enqueue", "--connections", "1", "-o", f"{into}/{index}",
                 f"http://{SERVER}/big{index}"]
        if rig.uploads:
            words = ["upload", "--protocol", "put", rig.big(index),
                     f"http://{SERVER}:{SINK}/{index}"]
        subprocess.run(
            [binary, *words, "--discretionary", "--no-start"],
            check=True, env=environment, stdout=subprocess.DEVNULL)
    return rig.spawn(rig.client, [binary, "run", "--max-time", "10m"], env=environment)


def others(rig, argv):
    into = os.path.join(rig.work, "other")
    shutil.rmtree(into, ignore_errors=True)
    os.makedirs(into)
    return rig.spawn(rig.client, argv, cwd=into)


def first_above(series, bound, hold):
    """When the rate rose above a bound and stayed there so many samples on average."""
    for index in range(len(series) - hold):
        (t0, b0), (t1, b1) = series[index], series[index + hold]
        if (b1 - b0) / (t1 - t0) >= bound:
            return t0
    return None


def wait_rate(rig, bound, limit):
    begun = time.monotonic()
    while time.monotonic() - begun < limit:
        if rig.rate(0.2) >= bound:
            return time.monotonic() - begun - 0.2
    return None


def one(rig, start, alone, small_alone):
    background = start()
    try:
        wait_rate(rig, 0.8 * alone["rate"], 5)
        time.sleep(3)
        before = rig.rate(3)
        beside = rig.measure(rig.large, 8)
        back = wait_rate(rig, 0.8 * alone["rate"], 10)
        time.sleep(2)
        small = rig.measure(rig.small, 6)
    finally:
        stop(background)
    time.sleep(0.5)
    gives_way = first_above(beside["series"], 0.8 * alone["rate"], 3)
    return {
        "line": before / alone["line"],
        "kept": beside["rate"] / alone["rate"],
        "gives_way": gives_way,
        "back": back,
        "later": (small["p95"] - small_alone["p95"]) * 1000,
    }


def show(name, row):
    def number(value, form):
        return "-" if value is None else format(value, form)
    print(
        f"{name:22} {row['line']:7.1%} {row['kept']:9.1%} {number(row['gives_way'], '8.2f')} s"
        f" {number(row['back'], '6.1f')} s {row['later']:8.1f} ms", flush=True)


def check(rig, binary):
    """Whether a download gives way and comes back at all, with bounds that a busy machine keeps."""
    alone = rig.measure(rig.large, 3)["rate"]
    background = longhaul(rig, binary, 1)
    try:
        if wait_rate(rig, 0.6 * alone, 30) is None:
            return "it does not take a free line"
        other = subprocess.Popen(
            rig.inside([sys.executable, HERE, "--client", rig.large, "15"]),
            stdout=subprocess.PIPE, text=True)
        series = json.loads(other.communicate()[0])["series"]
        if first_above(series, 0.8 * alone, 20) is None:
            return f"it does not give way to another {rig.large}"
        if wait_rate(rig, 0.6 * alone, 30) is None:
            return "it does not come back to a free line"
    finally:
        stop(background)
    return None


def judge(row):
    """The marks; a list of those that were missed."""
    missed = []
    if row["line"] < 0.90:
        missed.append("line")
    if row["kept"] < 0.95:
        missed.append("kept")
    if row["gives_way"] is None or row["gives_way"] > 1:
        missed.append("gives way")
    if row["back"] is None or row["back"] > 5:
        missed.append("back")
    if row["later"] > 60:
        missed.append("later")
    return missed


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=".build/release/longhaul")
    parser.add_argument("--rate", default="40mbit")
    parser.add_argument("--queue", default="300k", help="bytes that the FIFO holds")
    parser.add_argument("--senders", default="bbr,cubic")
    parser.add_argument("--only-longhaul", action="store_true")
    parser.add_argument("--uploads", action="store_true", help="instead of downloads")
    parser.add_argument(
        "--check", action="store_true", help="measure nothing: does it give way and come back?")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--client", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.client:
        client(options.client[0], float(options.client[1]))
        return 0
    if os.geteuid() != 0:
        print("yield: skipped: network namespaces need root")
        return 0
    for tool in ("ip", "tc", "ethtool", "nginx", "curl"):
        if not shutil.which(tool):
            print(f"yield: skipped: there is no {tool}")
            return 0
    binary = os.path.abspath(options.binary)
    figures, failed = {}, False
    rig = Rig(options.rate, options.queue, options.uploads)
    try:
        if options.check:
            complaint = check(rig, binary)
            print(f"yield: {complaint or 'gives way and comes back'}")
            return 1 if complaint else 0
        for sender in options.senders.split(","):
            rig.control(sender)
            alone = rig.measure(rig.large, 5)
            # Headers count on the line, not in the file.
            alone["line"] = alone["rate"] * 1514 / 1448
            small = rig.measure(rig.small, 3)
            print(f"\n{sender}: one {rig.large} alone {alone['rate'] * 8 / 1e6:.1f} Mbit/s, small"
                  f" requests alone p95 {small['p95'] * 1000:.1f} ms")
            print(f"{'in the background':22} {'alone':>7} {'beside it':>9} {'gives way':>10}"
                  f" {'back':>8} {'small later':>11}")
            big = [f"http://{SERVER}/big{i}" for i in range(4)]
            starts = {
                "longhaul, 1": lambda: longhaul(rig, binary, 1),
                "longhaul, 4": lambda: longhaul(rig, binary, 4),
            }
            if options.uploads and not options.only_longhaul:
                to = f"http://{SERVER}:{SINK}/x"
                starts["curl, 1"] = lambda: others(rig, ["curl", "-sT", rig.big(0), to])
                starts["curl, 4"] = lambda: others(
                    rig, ["curl", "-sZ"] + [x for i in range(4) for x in ("-T", rig.big(i), to)])
            elif not options.only_longhaul:
                starts["curl, 1"] = lambda: others(rig, ["curl", "-sO", big[0]])
                starts["curl, 4"] = lambda: others(
                    rig, ["curl", "-sZ"] + [x for url in big for x in ("-O", url)])
                if shutil.which("aria2c"):
                    starts["aria2, 1"] = lambda: others(
                        rig, ["aria2c", "-q", "--file-allocation=none", big[0]])
                if shutil.which("wget2"):
                    starts["wget2, 1"] = lambda: others(rig, ["wget2", "-q", big[0]])
            for name, start in starts.items():
                row = one(rig, start, alone, small)
                show(name, row)
                figures[f"{sender}: {name}"] = row
                if name.startswith("longhaul") and judge(row):
                    failed = True
                    print(f"{'':22} missed: {', '.join(judge(row))}")
    finally:
        rig.close()
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=2)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
