"""Runs commands in turn, and says how they compare."""

import os
import statistics
import subprocess
import time


class Sample:
    def __init__(self, wall, cpu, rss):
        self.wall, self.cpu, self.rss = wall, cpu, rss  # s, s (user and system), KiB


def run(command, directory, environment=None, stdin=None, ok=(0,), timeout=900):
    """One command to its end: wall clock, processor time and peak memory, children included."""
    started = time.monotonic()
    process = subprocess.Popen(
        command, cwd=directory, env=environment, stdin=stdin or subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in ok:
        raise SystemExit(f"{' '.join(command)[:200]} exited with {process.returncode}:\n"
                         f"{errors.decode(errors='replace')[-2000:]}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def rounds(contestants, count):
    """name -> a function that runs it once. All run in turn, `count` times. -> name -> samples"""
    results = {name: [] for name in contestants}
    for _ in range(count):
        for name, once in contestants.items():
            results[name].append(once())
    return results


def median(samples, what):
    return statistics.median(getattr(sample, what) for sample in samples)


def table(title, results, reference="longhaul"):
    """Prints a line for each contestant. -> name -> median wall clock"""
    base = median(results[reference], "wall")
    print(f"\n{title}")
    print(f"  {'':24} {'wall':>9} {'÷ ' + reference:>11} {'spread':>8} {'cpu':>8} {'peak RSS':>10}")
    for name, samples in results.items():
        wall = median(samples, "wall")
        spread = max(sample.wall for sample in samples) / min(sample.wall for sample in samples)
        print(f"  {name:24} {wall:8.3f}s {wall / base:10.2f}× {spread:7.2f}× "
              f"{median(samples, 'cpu'):7.2f}s {median(samples, 'rss') / 1024:7.1f}MiB", flush=True)
    return {name: median(samples, "wall") for name, samples in results.items()}


def mark(what, value, limit, unit="", below=True):
    met = value <= limit if below else value >= limit
    sign = "≤" if below else "≥"
    print(f"  {'meets ' if met else 'MISSES'} {what}: {value:.3g}{unit} (mark {sign} {limit:g}{unit})",
          flush=True)
