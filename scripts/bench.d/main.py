"""Measures Longhaul beside aria2, curl and wget2, on this machine, in one run.

All contestants of a case run in turn, several times; medians and ratios are printed. Machines are
noisy: the ratios say more than the seconds. The marks are the project's own.
"""

import argparse
import os
import platform
import subprocess
import sys

from bundle_bench import Bundles
from queue_bench import Queue
from schedule_bench import Schedules
from serve_bench import Serve
from servers import Nginx
from transfers import Bench
from upload_bench import Uploads

CASES = ["http", "tls", "durable", "stream", "small", "limited", "upload", "uploads", "s3", "queue", "bundle",
         "serve", "schedules", "start", "idle", "yield"]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="smaller sizes and three rounds")
    parser.add_argument("--target", default="/dev/shm", help="where files go: memory, so that the programs are measured")
    parser.add_argument("--disk", default="/var/tmp", help="a real disk, for the case `durable`")
    parser.add_argument("--idle-seconds", type=int, default=60)
    parser.add_argument("--longhaul", help=argparse.SUPPRESS)
    parser.add_argument("--baseline", help=argparse.SUPPRESS)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"there is no case {', '.join(sorted(unknown))}")
    options.big_mib = 512 if options.quick else 2048
    options.small = 2000 if options.quick else 10_000
    options.queued = 100_000 if options.quick else 1_000_000
    if options.quick:
        options.rounds = min(options.rounds, 3)
        options.idle_seconds = min(options.idle_seconds, 15)

    cpus = os.cpu_count()
    print(f"{cpus} processors, Linux {platform.release()}, {options.rounds} rounds")
    for tool in (["aria2c", "--version"], ["curl", "--version"], ["wget2", "--version"]):
        print("  " + subprocess.run(tool, capture_output=True, text=True).stdout.splitlines()[0])
    nginx = Nginx(options.work, options.target)
    bench = Bench(options, nginx)
    queue = Queue(bench)
    owners = (queue, Serve(bench, queue), Schedules(bench), Uploads(bench), Bundles(bench), bench)
    try:
        for case in options.cases or CASES:
            if case == "yield":
                yielding = os.path.join(os.path.dirname(__file__), "yield.py")
                for direction in ([], ["--uploads"]):
                    subprocess.run(
                        [sys.executable, yielding, "--binary", options.longhaul, *direction],
                        check=False)
            else:
                owner = next(part for part in owners if hasattr(part, case))
                getattr(owner, case)()
    finally:
        nginx.stop()


main()
