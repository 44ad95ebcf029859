"""One run of a scenario in a directory of its own, and what must be true after it."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess

from power import PowerDisk

LONGHAUL = os.environ["LONGHAUL_BINARY"]
MIB = 1 << 20
COMMAND_SECONDS = 60
# More than a back-off and a cool-down, and than the wait for space.
RUNS_MAX = 6


class Broken(Exception):
    pass


class Case:
    """One run of a scenario in a directory of its own."""

    def __init__(self, scenario, options, port, sums, label):
        self.scenario, self.options, self.label = scenario, options, label
        self.directory = os.path.join(options.work, f"{scenario.name}-{label}")
        shutil.rmtree(self.directory, ignore_errors=True)
        self.disk = PowerDisk(options.power, self.directory) if options.power else None
        os.makedirs(self.path("files"))
        self.sums = sums
        self.urls = {
            name: f"http://127.0.0.1:{port}/f/{scenario.name}-{label}/f{index}?size={size}&seed={index}"
            + ("&" + knobs if knobs else "")
            for index, (name, (size, knobs)) in enumerate(scenario.files.items())
        }
        if scenario.uploads:
            self.make_sources()
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.directory, "LANG": "C.UTF-8",
            "LONGHAUL_HOME": self.path("home"), "LONGHAUL_AUTOSTART": "0",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{options.s3.port}", "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        }
        self.story = []

    def make_sources(self):
        """The files that are sent lie beside what has arrived, in `files` of the server."""
        kind = self.scenario.uploads
        server = self.options.s3 if kind == "s3" else self.options.uploads
        self.stored = server.directory
        for name, (size, _) in self.scenario.files.items():
            with open(self.path(name), "wb") as file:
                file.write(content(size))
            stored_name = f"{self.scenario.name}-{self.label}-{name}"
            self.urls[name] = (f"s3://bucket/{stored_name}" if kind == "s3" else
                               f"http://127.0.0.1:{server.port}/{kind}/{stored_name}?options=1")

    def path(self, name):
        return os.path.join(self.directory, name)

    def file(self, name):
        return os.path.join(self.directory, "files", name)

    def failpoint(self, *words):
        """The program in front of a command whose calls are watched."""
        power = ["--power", self.disk.outer] if self.disk else []
        return [self.options.failpoint, *words, *power, "--"]

    def begin(self):
        """-> the commands of the scenario. What they work with is durable."""
        commands = self.scenario.commands(self)
        if self.disk:
            self.disk.sync()
        return commands

    def restart(self):
        """The machine is there again."""
        if self.disk:
            self.disk.restart()

    def close(self, keeps=False):
        if self.disk:
            self.disk.remove()
        if not keeps:
            shutil.rmtree(self.directory)

    def run(self, arguments, before=()):
        """Runs one command; what it did belongs to the story. -> (status, output)"""
        process = subprocess.Popen(
            [*before, LONGHAUL, *arguments], env=self.environment, cwd=self.directory,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)
        try:
            output, errors = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Broken(f"longhaul {arguments[0]} did not end within {COMMAND_SECONDS} s")
        self.story.append(f"$ longhaul {' '.join(arguments)}\n{output}{errors}-> {process.returncode}")
        status = process.returncode
        if status in (0, 137, -9):
            return status, output
        if status > 128 or status < 0 or status == 125:
            raise Broken(f"longhaul {arguments[0]} ended with {status}")
        if not errors.strip() and status != 1:
            raise Broken(f"longhaul {arguments[0]} exited with {status} and did not say why")
        return status, output

    def rows(self):
        status, output = self.run(["list", "--all", "--json"])
        if status != 0:
            raise Broken("the queue cannot be listed")
        return [json.loads(line) for line in output.splitlines()]

    def mended(self, printed):
        """Without any interference from here on: everything comes to a right end."""
        commands = self.scenario.commands(self)
        rows = self.rows()
        if len(rows) < printed:
            raise Broken(f"{printed} ids were printed and {len(rows)} transfers are there")
        if not rows:
            self.run(commands[0])
        for _ in range(RUNS_MAX):
            self.run(["run", "--max-time", "40s"])
            rows = self.rows()
            if all(row["state"] == "completed" for row in rows):
                break
            for row in rows:
                if row["state"] == "failed":
                    if not row["error"]["message"]:
                        raise Broken("a failed transfer does not say why")
                    self.run(["retry", "--no-start", str(row["id"])])
        else:
            raise Broken(f"still {[row['state'] for row in rows]} after {RUNS_MAX} runs")
        return rows

    def check_stored(self):
        for name, digest in self.sums.items():
            path = os.path.join(self.stored, f"{self.scenario.name}-{self.label}-{name}")
            if not os.path.exists(path) or sha256(path) != digest:
                raise Broken(f"the server does not have {name} as it is")
            if sha256(self.path(name)) != digest:
                raise Broken(f"{name} was changed here")
            os.unlink(path)

    def check(self, rows, action):
        if self.scenario.uploads:
            self.check_stored()
            return self.check_rows(rows, action)
        found = set(os.listdir(self.path("files")))
        expected = set(self.scenario.files) | ({"report.pdf"} if self.scenario.name == "named" else set())
        if found != expected:
            raise Broken(f"files are {sorted(found)}")
        for name, digest in self.sums.items():
            if sha256(self.file(name)) != digest:
                raise Broken(f"{name} has other bytes")
        self.check_rows(rows, action)

    def check_rows(self, rows, action):
        if len(rows) != len(self.scenario.files):
            raise Broken(f"{len(rows)} transfers")
        total = 0
        for row in rows:
            _, output = self.run(["show", "--json", str(row["id"])])
            events = [event["type"] for event in json.loads(output)["events"]]
            if events.count("transferCompleted") != 1 or events[-1] != "transferCompleted":
                raise Broken(f"the events of {row['id']} are {events}")
            if "transferRestarted" in events and action in ("kill", "after"):
                raise Broken(f"{row['id']} began anew after a kill")
            total += row["bytesFetched"]
        size = sum(size for size, _ in self.scenario.files.values())
        # Of an upload, a creation whose answer was lost is made anew, and a plain body sent again whole.
        # A power cut takes the bytes since the last checkpoint, and what was counted of an upload.
        keeps_all = action in ("kill", "after") and not self.scenario.uploads and not self.disk
        bound = size + MIB if keeps_all else 3 * size + MIB
        least = 0 if self.disk else size
        if not least <= total <= bound:
            raise Broken(f"bytesFetched is {total} for {size}")
        status, _ = self.run(["doctor"])
        if status != 0:
            raise Broken("doctor is not content")


def content(size):
    return random.Random(size).randbytes(size)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") \
            else hashlib.sha256(file.read()).hexdigest()
