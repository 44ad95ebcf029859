"""A bundle of 2,000 files and 2 GiB whose engine is killed at random moments.

After each kill: the bundle is ready only if all its files are right, and no file that was complete
is asked for again. At the end one bit of some files is flipped: `verify` names each of them, and
repairs it.
"""

import concurrent.futures
import hashlib
import json
import os
import random
import signal
import subprocess
import time
import urllib.request


class Lost(Exception):
    pass


class LargeBundle:
    def __init__(self, longhaul, server, work, files, size):
        self.longhaul, self.work, self.count, self.size = longhaul, work, files, size
        self.log = os.path.join(work, "requests")
        self.server = subprocess.Popen([server], stdout=open(self.log, "w"))
        while "listening" not in open(self.log).read(200):
            time.sleep(0.05)
        self.port = int(open(self.log).readline().split()[-1])
        self.out = os.path.join(work, "out")
        self.environment = dict(
            os.environ, LONGHAUL_HOME=os.path.join(work, "home"), LONGHAUL_AUTOSTART="0")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.sums = list(pool.map(self.sum, range(files)))
        self.seen = len(self.requests())
        with open(os.path.join(work, "list"), "w") as entries:
            for number, digest in enumerate(self.sums):
                entries.write(json.dumps({
                    "path": f"{number:04}.bin", "url": self.url(number), "size": self.size,
                    "sha256": digest}) + "\n")

    def url(self, number):
        return f"http://127.0.0.1:{self.port}/f/{number}?size={self.size}&seed={number}&etag=v1"

    def sum(self, number):
        return hashlib.sha256(urllib.request.urlopen(self.url(number)).read()).hexdigest()

    def requests(self):
        """-> numbers of the files, in the order of the requests"""
        with open(self.log) as lines:
            return [int(json.loads(line)["target"].split("/")[2].split("?")[0])
                    for line in lines if line.startswith("{") and line.endswith("}\n")]

    def start(self, *words):
        return subprocess.Popen([self.longhaul, *words], env=self.environment, cwd=self.work,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)

    def run(self, *words):
        process = self.start(*words)
        output, _ = process.communicate()
        return process.returncode, output

    def bundle(self):
        return json.loads(self.run("bundle", "show", "set", "--json")[1])

    def complete(self):
        rows = self.run("bundle", "show", "set", "--files", "--json")[1].splitlines()
        rows = [json.loads(row) for row in rows]
        return {int(row["path"][:4]) for row in rows if row["state"] == "complete"}

    def check(self, numbers):
        for number in numbers:
            with open(os.path.join(self.out, f"{number:04}.bin"), "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() != self.sums[number]:
                    raise Lost(f"{number} is complete and has other bytes")

    def killed(self, chance):
        """-> the number of kills until it is ready"""
        for kills in range(1000):
            engine = self.start("run")
            time.sleep(chance.uniform(0.05, 1.5))
            engine.send_signal(signal.SIGKILL)
            engine.wait()
            row = self.bundle()
            complete = self.complete()
            # The others were read after an earlier kill, and all are at the end.
            self.check(complete - self.known)
            again = complete.intersection(self.requests()[self.before:]) & self.known
            if again:
                raise Lost(f"complete, and asked for again: {sorted(again)[:5]}")
            self.known, self.before = complete, len(self.requests())
            if row["state"] == "ready":
                if len(complete) != self.count:
                    raise Lost(f"ready with {len(complete)} files")
                self.check(complete)
                return kills
        raise Lost("never ready")

    def tortured(self, seed):
        chance = random.Random(seed)
        self.run("bundle", "add", "set", "list:list", "--to", self.out)
        self.known, self.before = set(), self.seen
        kills = self.killed(chance)
        flipped = sorted(chance.sample(range(self.count), 5))
        for number in flipped:
            with open(os.path.join(self.out, f"{number:04}.bin"), "r+b") as file:
                file.seek(chance.randrange(self.size))
                byte = file.read(1)[0]
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte ^ 1 << chance.randrange(8)]))
        status, output = self.run("bundle", "verify", "set", "--json")
        named = [int(json.loads(line)["path"][:4]) for line in output.splitlines()]
        if status != 1 or sorted(named) != flipped:
            raise Lost(f"flipped {flipped}, and verify names {named} ({status})")
        self.run("bundle", "verify", "set", "--repair")
        if self.run("bundle", "ensure", "set")[0] != 0 or self.run("bundle", "verify", "set")[0] != 0:
            raise Lost("it is not repaired")
        self.check(range(self.count))
        return f"{self.count} files of {self.size} bytes, {kills} kills, {len(flipped)} flipped bits"


def torture(longhaul, server, work, seed, files=2000, size=1 << 20):
    """-> 0, or 1 after a fault"""
    case = LargeBundle(longhaul, server, work, files, size)
    try:
        print(case.tortured(seed))
        return 0
    except Lost as fault:
        print(f"FAILED: {fault}")
        return 1
    finally:
        case.server.kill()
