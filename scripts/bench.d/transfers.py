"""Files: one big one, over HTTP and TLS, and into a pipe; many small ones; a server that limits each
connection."""

import os
import shutil
import subprocess

from measure import mark, rounds, run, table


class Bench:
    def __init__(self, options, nginx):
        self.options, self.nginx = options, nginx
        self.target = os.path.join(options.target, f"longhaul-bench-{os.getpid()}")
        self.home = os.path.join(self.target, "home")

    def fresh(self):
        shutil.rmtree(self.target, ignore_errors=True)
        os.makedirs(os.path.join(self.target, "files"))
        return os.path.join(self.target, "files")

    def environment(self):
        return dict(os.environ, LONGHAUL_HOME=self.home, LONGHAUL_AUTOSTART="0")

    def contest(self, command, names, durable=False, stdin=None):
        """A contestant: an empty directory, one command, and a look at what came."""
        def once():
            files = self.fresh()
            words = command
            if durable:
                words = ["sh", "-c", 'd=$1; shift; "$@" && sync -f "$d"', "sh", files, *command]
            sample = run(words, files, self.environment(), open(stdin) if stdin else None)
            for name in names:
                wanted = os.path.getsize(os.path.join(self.nginx.root, name))
                found = os.path.join(files, os.path.basename(name))
                if not os.path.exists(found) or os.path.getsize(found) != wanted:
                    raise SystemExit(f"{command[0]} did not bring {name}")
            shutil.rmtree(self.target, ignore_errors=True)
            return sample
        return once

    def big(self, tls):
        size = self.options.big_mib << 20
        self.nginx.serve("big.bin", size)
        url = self.nginx.tls_url("big.bin") if tls else self.nginx.url("big.bin")
        certificate = self.nginx.certificate
        trust = lambda option: [option, certificate] if tls else []
        aria = ["aria2c", "-q", "--file-allocation=none", "--allow-overwrite=true",
                *([f"--ca-certificate={certificate}"] if tls else [])]
        longhaul = [self.options.longhaul, "get", "-q", *trust("--cacert"), "-o", "big.bin"]
        peers = {
            "longhaul": [*longhaul, url],
            "longhaul -1": [*longhaul, "--connections", "1", url],
            "longhaul -4": [*longhaul, "--connections", "4", url],
            "bare libcurl": [self.options.baseline, url, "big.bin"],
            "curl": ["curl", "-sf", *trust("--cacert"), "-o", "big.bin", url],
            "aria2c -x1": [*aria, "-x1", "-s1", url],
            "aria2c -x4": [*aria, "-x4", "-s4", "-k1M", url],
            "wget2": ["wget2", "-q", *([f"--ca-certificate={certificate}"] if tls else []), url],
        }
        results = rounds(
            {name: self.contest(words, ["big.bin"]) for name, words in peers.items()},
            self.options.rounds)
        title = f"{self.options.big_mib} MiB over {'TLS' if tls else 'HTTP'}, into {self.options.target}"
        wall = table(title, results)
        mark("longhaul against bare libcurl", wall["longhaul"] / wall["bare libcurl"], 1.1, "×")
        for peer in ("curl", "aria2c -x1", "aria2c -x4"):
            mark(f"longhaul against {peer}", wall["longhaul"] / wall[peer], 1, "×")
        if tls:
            mark("longhaul, four connections, against curl", wall["longhaul -4"] / wall["curl"], 0.65, "×")

    def http(self):
        self.big(tls=False)

    def tls(self):
        self.big(tls=True)

    def durable(self):
        """On a real disk, until the bytes are on it: the others are followed by sync."""
        size = self.options.big_mib << 20
        self.nginx.serve("big.bin", size)
        url = self.nginx.url("big.bin")
        target, self.target = self.target, os.path.join(self.options.disk, f"longhaul-bench-{os.getpid()}")
        self.home = os.path.join(self.target, "home")
        peers = {
            "longhaul": self.contest([self.options.longhaul, "get", "-q", "-o", "big.bin", url], ["big.bin"]),
            "bare libcurl + sync": self.contest([self.options.baseline, url, "big.bin"], ["big.bin"], True),
            "curl + sync": self.contest(["curl", "-sf", "-o", "big.bin", url], ["big.bin"], True),
            "aria2c -x4 + sync": self.contest(
                ["aria2c", "-q", "--file-allocation=none", "-x4", "-s4", "-k1M", url], ["big.bin"], True),
        }
        table(f"{self.options.big_mib} MiB over HTTP until durable, into {self.options.disk}",
              rounds(peers, self.options.rounds))
        self.target, self.home = target, os.path.join(target, "home")

    def stream(self):
        """Passed on as it comes to a program that reads all of it; processor time is of both."""
        size = self.options.big_mib << 19
        self.nginx.serve("stream.bin", size)
        url = self.nginx.url("stream.bin")
        piped = lambda *words: self.contest(
            ["bash", "-c", '"$@" | wc -c > count && [ "$(cat count)" -eq ' + str(size) + " ]", "bash", *words], [])
        results = rounds({
            "longhaul": piped(self.options.longhaul, "get", "-q", "-o", "-", url),
            "curl": piped("curl", "-sf", "-o", "-", url),
        }, self.options.rounds)
        wall = table(f"{size >> 20} MiB over HTTP, into a pipe", results)
        mark("longhaul against curl", wall["longhaul"] / wall["curl"], 1, "×")

    def small(self):
        count = self.options.small
        names = [f"small/{number:05}.bin" for number in range(count)]
        for name in names:
            self.nginx.serve(name, 4096)
        lists = os.path.join(self.options.work, "small.urls")
        with open(lists, "w") as file:
            file.writelines(self.nginx.url(name) + "\n" for name in names)
        curls = os.path.join(self.options.work, "small.curl")
        with open(curls, "w") as file:
            file.writelines(f'url = "{self.nginx.url(name)}"\n-O\n' for name in names)
        longhaul = self.options.longhaul
        script = f'"{longhaul}" enqueue --no-start --input "{lists}" && exec "{longhaul}" run'
        peers = {
            "longhaul": ["sh", "-c", script],
            "curl -Z 16": ["curl", "-sf", "-Z", "--parallel-max", "16", "-K", curls],
            "aria2c -j16": ["aria2c", "-q", "-j16", "--file-allocation=none", "-i", lists],
            "wget2 16": ["wget2", "-q", "--max-threads=16", "-i", lists],
        }
        results = rounds(
            {name: self.contest(words, names) for name, words in peers.items()}, self.options.rounds)
        wall = table(f"{count} files of 4 KiB over HTTP, into {self.options.target}", results)
        mark("longhaul against curl -Z", wall["longhaul"] / wall["curl -Z 16"], 1, "×")
        mark("aria2c against longhaul", wall["aria2c -j16"] / wall["longhaul"], 2, "×", below=False)

    def limited(self):
        """20 MiB/s for each connection."""
        self.nginx.serve("limited.bin", 128 << 20)
        url = self.nginx.url("limited/limited.bin")
        longhaul = [self.options.longhaul, "get", "-q", "-o", "limited.bin", url]
        peers = {
            "longhaul": longhaul,
            "longhaul -4": [*longhaul, "--connections", "4"],
            "curl": ["curl", "-sf", "-O", url],
            "aria2c -x4": ["aria2c", "-q", "--file-allocation=none", "-x4", "-s4", "-k1M", url],
            "wget2": ["wget2", "-q", url],
        }
        results = rounds(
            {name: self.contest(words, ["limited.bin"]) for name, words in peers.items()},
            min(self.options.rounds, 3))
        table("128 MiB from a server that gives each connection 20 MiB/s", results)
