"""Watched folders under torture: no file is lost, and none is sent that is not complete."""

import json
import os

from case import RUNS_MAX, Broken, Case, content, sha256


class FolderCase(Case):
    """A watched folder whose files are deleted or moved once they are at the server."""

    incomplete = ["half.part", ".hidden", "sub/half.tmp"]

    def make_sources(self):
        server = self.options.uploads
        self.stored = server.directory
        # The server has one directory for all cases.
        self.prefix = f"{self.scenario.name}-{self.label}-"
        self.target = f"http://127.0.0.1:{server.port}/plain/"
        self.runs = 0
        # Names at the server of those that need not be sent again.
        self.recorded = {os.path.basename(self.local(name)) for name in self.scenario.files}
        os.makedirs(self.path("in/sub"))
        os.makedirs(self.path("done"))
        for name, (size, _) in self.scenario.files.items():
            with open(self.source(name), "wb") as file:
                file.write(content(size))
        for name in self.incomplete:
            with open(self.path("in/" + name), "wb") as file:
                file.write(b"not complete")

    def local(self, name):
        """The name with the prefix of the case, in the same directory."""
        head, tail = os.path.split(name)
        return os.path.join(head, self.prefix + tail)

    def source(self, name):
        return self.path("in/" + self.local(name))

    def moved(self, name):
        return self.path("done/" + self.local(name))

    def at_server(self, name):
        """Whether the server has the whole file."""
        path = self.server_path(name)
        return os.path.exists(path) and sha256(path) == self.sums[name]

    def server_path(self, name):
        return os.path.join(self.stored, os.path.basename(self.local(name)))

    def look(self):
        """No file is lost: one that is not in its place any more is at the server."""
        for name, digest in self.sums.items():
            present = [path for path in (self.source(name), self.moved(name)) if os.path.exists(path)]
            if any(sha256(path) != digest for path in present):
                raise Broken(f"{name} was changed here")
            if self.source(name) not in present and not self.at_server(name):
                raise Broken(f"{name} is gone from the folder, and the server does not have it")
        for name in self.incomplete:
            if not os.path.exists(self.path("in/" + name)):
                raise Broken(f"{name} is gone")

    def rows(self):
        status, output = self.run(["folder", "list", "--json"])
        if status != 0:
            raise Broken("the folders cannot be listed")
        return [json.loads(line) for line in output.splitlines()]

    def completed(self):
        """Names at the server of the files whose transfers have completed."""
        status, output = self.run(["list", "--all", "--json", "--session", "folder:f", "--state", "completed"])
        if status != 0:
            raise Broken("the transfers cannot be listed")
        return {os.path.basename(json.loads(line)["source"]) for line in output.splitlines()}

    def mended(self, printed):
        add, run = self.scenario.commands(self)
        self.look()
        self.recorded = self.completed()
        for name in self.sums:
            if not os.path.exists(self.source(name)) and \
                    os.path.basename(self.local(name)) not in self.recorded:
                raise Broken(f"{name} is gone from the folder before its end was recorded")
        if not self.rows():
            if printed:
                raise Broken("a folder was printed and is not there")
            self.run(add)
        for self.runs in range(1, RUNS_MAX + 1):
            self.run(run)
            self.look()
            (row,) = rows = self.rows()
            if not any(os.path.exists(self.source(name)) for name in self.sums):
                return rows
            # Tries what was refused or has failed again.
            self.run(["folder", "scan", "f"])
        raise Broken(f"still {row} after {RUNS_MAX} runs")

    def check(self, rows, action):
        self.look()
        (row,) = rows
        if row["waiting"] or row["failed"] or row["error"]:
            raise Broken(f"the folder is {row}")
        is_moved = self.scenario.name == "moved"
        found = {os.path.relpath(os.path.join(at, name), self.path("done"))
                 for at, _, names in os.walk(self.path("done")) for name in names}
        if found != ({self.local(name) for name in self.sums} if is_moved else set()):
            raise Broken(f"moved are {sorted(found)}")
        self.check_requests(action)
        for name in self.sums:
            os.unlink(self.server_path(name))
        status, _ = self.run(["doctor"])
        if status != 0:
            raise Broken("doctor is not content")

    def check_requests(self, action):
        """Each file has come once, and whole; a kill costs those that were on the line."""
        sizes = {os.path.basename(self.local(name)): size
                 for name, (size, _) in self.scenario.files.items()}
        whole = {}
        with open(os.path.join(self.stored, "log")) as log:
            for line in log:
                request = json.loads(line)
                name = request["path"].rsplit("/", 1)[-1]
                if name in sizes and request["length"] not in (0, sizes[name]):
                    raise Broken(f"{name} was sent while it had {request['length']} bytes")
                if name.startswith(self.prefix) and request["bytes"] == request["length"]:
                    whole[name] = whole.get(name, 0) + 1
        if set(whole) != {os.path.basename(self.local(name)) for name in self.sums}:
            raise Broken(f"the server was sent {sorted(whole)}")
        if action not in ("kill", "after"):
            return
        if self.runs > 1:
            raise Broken(f"it took {self.runs} runs")
        for name, count in whole.items():
            if count > (1 if name in self.recorded else 2):
                raise Broken(f"{name} was sent {count} times, with {sorted(self.recorded)} recorded")
