"""Kills and failures at every system call of the built command that changes something.

A scenario is a list of commands. It is run once, undisturbed, to number its calls. Then it is run
again for each call and each thing that can happen there: killed before it, killed right after it,
the call fails. With --power everything lies on a disk of its own, and each kill is a power cut: only
what was flushed to the disk is there when it is mounted again. After that, plain runs of the engine must bring everything to a right end: the files
by SHA-256, one completed event each, nothing left over, and an error said clearly wherever a
command did not exit 0.
"""

import argparse
import concurrent.futures
import contextlib
import errno
import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time

import large_bundle
from case import LONGHAUL, MIB, RUNS_MAX, Broken, Case, content, sha256
from folder_case import FolderCase
from power import SIZES, Unusable

SERVER = os.environ["LONGHAUL_TEST_SERVER"]


class Scenario:
    def __init__(self, name, files, commands, uploads=None):
        self.name = name
        self.files = files  # name -> (size, what the server is asked for)
        self.commands = commands  # of a Case -> list of argument lists
        self.uploads = uploads  # the path at the server for uploads


def segmented(case):
    (name,) = case.urls
    return [["enqueue", "--no-start", case.urls[name], "-o", case.file(name), "--connections", "4",
             "--checksum", "sha256:" + case.sums[name]], ["run"]]


def small(case):
    listed = "".join(f"{url}\n  out={name}\n" for name, url in case.urls.items())
    with open(case.path("list"), "w") as file:
        file.write(listed)
    return [["enqueue", "--no-start", "-d", case.path("files"), "--input", case.path("list")], ["run"]]


def named(case):
    """The server names the file, and the name is taken."""
    (name,) = case.urls
    with open(case.file("report.pdf"), "w") as file:
        file.write("another's")
    return [["enqueue", "--no-start", case.urls[name], "-d", case.path("files"), "--remote-name",
             "--if-exists", "rename"], ["run"]]


def upload(case):
    (name,) = case.urls
    kind = case.scenario.uploads
    protocol = "put" if kind == "plain" else kind
    parts = ["--part-size", "5M"] if kind == "s3" else []
    return [["upload", "--no-start", "--protocol", protocol, *parts, case.path(name), case.urls[name]],
            ["run"]]


def bundle(case):
    with open(case.path("list"), "w") as file:
        for name, url in case.urls.items():
            size, _ = case.scenario.files[name]
            file.write(json.dumps({"path": name, "url": url, "size": size,
                                   "sha256": case.sums[name]}) + "\n")
    return [["bundle", "add", "set", "list:" + case.path("list"), "--to", case.path("files"),
             "--layout", "versions"], ["run"]]


def folder(case, *ending):
    return [["folder", "add", "f", case.path("in"), case.target, "--protocol", "put", "--no-start",
             "--settle", "100ms", "-r", *ending], ["run", "--max-time", "40s"]]


def folder_delete(case):
    return folder(case, "--after", "delete")


def folder_move(case):
    return folder(case, "--after", "move=" + case.path("done"))


SCENARIOS = [
    Scenario("segmented", {"a.bin": (4 * MIB, "etag=v1&rate=24M")}, segmented),
    Scenario("small", {f"s{n}.bin": (3000 + n, "") for n in range(6)}, small),
    Scenario("named", {"report (1).pdf": (70000, "etag=v1&disposition=attachment;filename=report.pdf")},
             named),
    Scenario("bundle", {**{f"s{n}.bin": (3000 + n, "") for n in range(4)}, "a.bin": (2 * MIB, "")}, bundle),
    Scenario("put", {"a.bin": (300000, "")}, upload, uploads="plain"),
    Scenario("tus", {"a.bin": (3 * MIB, "")}, upload, uploads="tus"),
    Scenario("ietf", {"a.bin": (3 * MIB, "")}, upload, uploads="ietf"),
    Scenario("s3", {"a.bin": (11 * MIB, "")}, upload, uploads="s3"),
    Scenario("folder", {"s0": (3000, ""), "s1": (0, ""), "s2": (300000, ""), "sub/s3": (3001, "")},
             folder_delete, uploads="plain"),
    Scenario("moved", {"s0": (3000, ""), "s2": (300000, ""), "sub/s3": (3001, "")}, folder_move,
             uploads="plain"),
]

ACTIONS = ["kill", "after", "EIO", "ENOSPC", "EINTR"]
# EINTR is what a signal does to a call that has not begun to work.
INTERRUPTIBLE = {"write", "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "connect", "send",
                 "sendmsg", "writev", "syncfs"}
SPACE_TAKING = {"write", "pwrite64", "writev", "fsync", "fdatasync", "syncfs", "rename", "renameat",
                "renameat2", "link", "linkat", "ftruncate", "fallocate", "mkdir", "mkdirat"}


def makes_sense(call, subject, action):
    if action in ("kill", "after"):
        return True
    # Threads wake each other through these; the kernel does not let them fail.
    if "anon_inode" in subject or subject.startswith("pipe:") or subject == "local socket":
        return False
    # Nobody reads what a broken terminal was told.
    if call == "write" and "/files/" not in subject and "queue" not in subject:
        return False
    if action == "EINTR":
        return call in INTERRUPTIBLE
    if action == "ENOSPC":
        return call in SPACE_TAKING and not subject.startswith("socket:")
    return True


def case_of(scenario, *rest):
    kinds = {"bundle": BundleCase, "folder": FolderCase, "moved": FolderCase}
    return kinds.get(scenario.name, Case)(scenario, *rest)


class BundleCase(Case):
    """A set of files: whole, or not ready."""

    def rows(self):
        status, output = self.run(["bundle", "list", "--json"])
        if status != 0:
            raise Broken("the bundles cannot be listed")
        return [json.loads(line) for line in output.splitlines()]

    def mended(self, printed):
        add, run = self.scenario.commands(self)
        if not self.rows():
            if printed:
                raise Broken("a bundle was printed and is not there")
            self.run(add)
        for _ in range(RUNS_MAX):
            self.look()
            self.run(["run", "--max-time", "40s"])
            (row,) = rows = self.rows()
            if row["state"] == "ready":
                return rows
            if row["state"] == "failed":
                if not row["error"]["message"]:
                    raise Broken("a failed bundle does not say why")
                self.run(["bundle", "ensure", "set", "--timeout", "40s"])
        raise Broken(f"still {row['state']} after {RUNS_MAX} runs")

    def look(self):
        """Never half: what is current is whole."""
        if os.path.exists(self.file("current")):
            for name, digest in self.sums.items():
                if sha256(self.file(f"current/{name}")) != digest:
                    raise Broken(f"{name} has other bytes in the current version")

    def check(self, rows, action):
        (row,) = rows
        self.look()
        if not os.path.exists(self.file("current")):
            raise Broken("ready, and nothing is current")
        found = {name for _, _, names in os.walk(self.path("files")) for name in names}
        if found != set(self.scenario.files):
            raise Broken(f"files are {sorted(found)}")
        size = sum(size for size, _ in self.scenario.files.values())
        if action in ("kill", "after") and row["bytesFetched"] > size:
            raise Broken(f"bytesFetched is {row['bytesFetched']} for {size}")
        for command in (["bundle", "verify", "set"], ["doctor"]):
            status, _ = self.run(command)
            if status != 0:
                raise Broken(f"{command[0]} is not content")


def count_calls(scenario, options, port, sums):
    """-> [(number of the command, number of the call, its name, what it works on)]"""
    case = case_of(scenario, options, port, sums, "count")
    calls = []
    for index, arguments in enumerate(case.begin()):
        log = case.path(f"calls{index}")
        status, _ = case.run(arguments, case.failpoint("--log", log))
        if status != 0:
            raise Broken(f"{scenario.name} does not work undisturbed:\n" + "\n".join(case.story))
        with open(log) as file:
            for line in file:
                number, name, subject = (line.rstrip("\n").split(" ", 2) + [""])[:3]
                calls.append((index, int(number), name, subject.replace(case.directory, "")))
    case.check(case.rows(), "kill")
    case.close()
    return calls


def torment(scenario, options, port, sums, command, number, action, call):
    """-> None, or what went wrong."""
    label = f"{command}-{number}-{call}-{action}"
    case = case_of(scenario, options, port, sums, label)
    do = action if action in ("kill", "after") else str(getattr(errno, action))
    printed = 0
    try:
        for index, arguments in enumerate(case.begin()):
            before = []
            if index == command:
                before = case.failpoint("--at", str(number), "--call", call, "--do", do)
            status, output = case.run(arguments, before)
            if index == 0:
                printed = len(output.split())
            if status != 0:
                break
        case.restart()
        rows = case.mended(printed)
        case.check(rows, action)
    except (Broken, Unusable) as problem:
        with contextlib.suppress(Unusable):
            case.close(keeps=True)
        return f"{problem}\n" + "\n".join("    " + line for part in case.story for line in part.splitlines())
    case.close()
    return None


class UploadServer:
    """A server of Fixtures/servers with a directory of its own."""

    def __init__(self, program, work):
        path = os.path.join(os.path.dirname(__file__), "../../Fixtures/servers", program)
        self.directory = os.path.join(work, program)
        os.makedirs(self.directory, exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        # A client that is killed leaves a stack trace there.
        self.process = subprocess.Popen(
            [sys.executable, path, self.directory, str(self.port)], stderr=subprocess.DEVNULL)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SystemExit(f"{program} does not answer")


def plan(options, port, sums):
    cases = []
    for scenario in SCENARIOS:
        if options.scenario and scenario.name not in options.scenario:
            continue
        calls = count_calls(scenario, options, port, sums[scenario.name])
        bodies = 0
        kinds = {}
        for command, number, name, subject in calls:
            kinds[name] = kinds.get(name, 0) + 1
            # Neighbouring pieces of a body, and pages of one commit, are alike.
            if name == "pwrite64" and not options.every:
                bodies += 1
                if bodies % 5:
                    continue
            for action in ["kill", "after"] if options.power else ACTIONS:
                if action not in options.without and makes_sense(name, subject, action):
                    cases.append((scenario, command, number, action, f"{name} {subject}"))
        print(f"{scenario.name}: {len(calls)} calls: " + ", ".join(
            f"{count} {name}" for name, count in sorted(kinds.items(), key=lambda kind: -kind[1])))
    return cases


def main():
    parser = argparse.ArgumentParser(prog="scripts/torture", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failpoint", help=argparse.SUPPRESS)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--scenario", action="append", choices=[s.name for s in SCENARIOS],
                        help="only this one (repeatable)")
    parser.add_argument("--only", metavar="SCENARIO-COMMAND-NUMBER-CALL-ACTION", action="append",
                        help="only this case, as it was printed (repeatable)")
    parser.add_argument("--sample", type=int, metavar="N", help="only N cases, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", action="append", choices=ACTIONS, default=[],
                        help="leave this one out (repeatable)")
    parser.add_argument("--power", choices=SIZES,
                        help="each kill is a power cut of a file system of this kind (needs root)")
    parser.add_argument("--every", action="store_true",
                        help="every pwrite64 too, not one in five of them")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--large-bundle", action="store_true",
                        help="a bundle of 2,000 files and 2 GiB, killed at random moments by --seed")
    options = parser.parse_args()
    if options.large_bundle:
        return large_bundle.torture(LONGHAUL, SERVER, options.work, options.seed)

    server = subprocess.Popen([SERVER], stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline().split()[-1])
    with open(os.devnull, "w") as sink:
        drain = subprocess.Popen(["cat"], stdin=server.stdout, stdout=sink)
    options.uploads = UploadServer("upload-server.py", options.work)
    options.s3 = UploadServer("s3-server.py", options.work)
    started = time.monotonic()
    failed = 0
    try:
        sums = {}
        for scenario in SCENARIOS:
            sums[scenario.name] = {}
            for index, (name, (size, _)) in enumerate(scenario.files.items()):
                if scenario.uploads:
                    sums[scenario.name][name] = hashlib.sha256(content(size)).hexdigest()
                    continue
                body = subprocess.run(
                    ["curl", "-sf", f"http://127.0.0.1:{port}/f/plain?size={size}&seed={index}"],
                    stdout=subprocess.PIPE, check=True).stdout
                sums[scenario.name][name] = hashlib.sha256(body).hexdigest()
        if options.only:
            by_name = {scenario.name: scenario for scenario in SCENARIOS}
            cases = []
            for text in options.only:
                name, command, number, call, action = text.rsplit("-", 4)
                cases.append((by_name[name], int(command), int(number), action, call))
        else:
            cases = plan(options, port, sums)
        if options.sample and options.sample < len(cases):
            cases = random.Random(options.seed).sample(cases, options.sample)

        def work(case):
            scenario, command, number, action, what = case
            call = what.split()[0]
            return case, torment(
                scenario, options, port, sums[scenario.name], command, number, action, call)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for (scenario, command, number, action, what), problem in pool.map(work, cases):
                if problem:
                    failed += 1
                    label = f"{scenario.name}-{command}-{number}-{what.split()[0]}-{action}"
                    print(f"FAILED {label} ({what}): {problem}",
                          flush=True)
    finally:
        server.kill()
        drain.kill()
        options.uploads.process.kill()
        options.s3.process.kill()
    print(f"{len(cases) - failed} cases passed, {failed} failed in {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


sys.exit(main())
