"""A million transfers that wait for all sorts of things: what it costs to look at them."""

import json
import os
import shutil
import subprocess
import time

from measure import mark, run
from queue_bench import peak_mib


class Schedules:
    def __init__(self, bench):
        self.bench, self.options = bench, bench.options
        self.environment = bench.environment()
        # It would win over what the store says.
        self.environment.pop("LONGHAUL_CONDITIONS", None)

    def command(self, *words):
        return [self.options.longhaul, *words]

    def lines(self, count, files):
        """Waits of every kind, mixed: time, windows, conditions, priorities, sessions, origins."""
        kinds = [
            {"earliestBegin": "+9h"}, {"require": "power"}, {"require": "unmetered,idle", "deadline": "5d"},
            {"discretionary": True}, {"discretionary": True, "require": "power", "deadline": "2d"},
            {"require": "power", "prefer": "idle", "priority": "low"}, {"require": "idle", "priority": "high"},
            {"discretionary": True, "require": "unmetered"},
        ]
        path = os.path.join(self.options.work, f"mixed-{count}")
        with open(path, "w") as file:
            for number in range(count):
                record = {"url": self.bench.nginx.url(f"small/q.bin?{number}"),
                          "destination": os.path.join(files, f"m{number:07}.bin"), "session": f"s{number % 97}"}
                record.update(kinds[number % len(kinds)])
                file.write(json.dumps(record) + "\n")
        return path

    def until(self, found, seconds=60):
        started = time.monotonic()
        while not found():
            if time.monotonic() - started > seconds:
                raise SystemExit("the engine did not come round")
            time.sleep(0.0005)
        return time.monotonic() - started

    def now(self, files, number):
        """Seconds from `enqueue` to the file of a transfer that waits for nothing."""
        path = os.path.join(files, f"now-{number}.bin")
        run(self.command("enqueue", "--no-start", "-o", path, self.bench.nginx.url("small/q.bin")), files,
            self.environment)
        return self.until(lambda: os.path.exists(path))

    def measure(self, count, files):
        run(self.command("conditions", "--set", "power=battery,network=metered,idle=no"), files, self.environment)
        if count:
            before = run(self.command("enqueue", "--no-start", "--input", self.lines(count, files)), files,
                         self.environment)
            mark("mixed schedules enqueued per second", count / before.wall, 200_000, below=False)
        daemon = subprocess.Popen(self.command("daemon"), env=self.environment, cwd=files,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.now(files, 0)
            wakes = sorted(self.now(files, number) for number in range(1, 22))
            used = lambda: sum(map(int, open(f"/proc/{daemon.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))
            start = used()
            for number in range(100, 150):
                self.now(files, number)
            cpu = (used() - start) * 1000 / os.sysconf("SC_CLK_TCK") / 50
            power = None
            if count:
                run(self.command("conditions", "--set", "power=external,network=metered,idle=no"), files,
                    self.environment)
                power = self.until(lambda: any(name.startswith("m") for name in os.listdir(files)))
            return wakes[len(wakes) // 2] * 1000, cpu, peak_mib(daemon.pid), power
        finally:
            daemon.terminate()
            daemon.wait()

    def schedules(self):
        count = self.options.queued
        self.bench.nginx.serve("small/q.bin", 4096)
        files = self.bench.fresh()
        print(f"\n{count} transfers with mixed schedules that wait, in {self.options.target}")
        empty = self.measure(0, files)
        files = self.bench.fresh()
        full = self.measure(count, files)
        print(f"    one more, enqueued to file: {full[0]:.1f} ms, with an empty queue {empty[0]:.1f} ms (median of 21)")
        print(f"    engine's processor time for it: {full[1]:.2f} ms, with an empty queue {empty[1]:.2f} ms")
        mark("looking at a million against looking at none", full[1] / max(empty[1], 0.2), 2, "×")
        mark("power is back, until the first file", full[3] * 1000, 2000, " ms")
        mark("engine memory", full[2], 64, " MiB")
        shutil.rmtree(self.bench.target)
        self.wake_ups()

    def wake_ups(self):
        """Repeating requests of a simulated month, beside the same work by systemd timers."""
        simulation = os.path.join(os.path.dirname(__file__), "..", "sim")
        print("\nwake-ups for repeating requests")
        found = subprocess.run([simulation, "--tasks", "--seeds", "0"], capture_output=True, text=True, check=True)
        for line in found.stdout.splitlines():
            if line.startswith("a month of tasks: "):
                print("    " + line.removeprefix("a month of tasks: "))
