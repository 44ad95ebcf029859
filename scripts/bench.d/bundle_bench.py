"""A bundle of many small files beside the same URLs as single transfers."""

import hashlib
import json
import os
import shutil
import subprocess

from measure import mark, median, rounds, run, table


class Bundles:
    def __init__(self, bench):
        self.bench, self.options = bench, bench.options

    def longhaul(self, *words):
        return [self.options.longhaul, *words]

    def served(self, count):
        """-> a list for `list:`, and one for `--input`"""
        root = os.path.join(self.bench.nginx.root, "set")
        os.makedirs(root, exist_ok=True)
        lists = [os.path.join(self.options.work, f"{name}-{count}") for name in ("set", "urls")]
        with open(lists[0], "w") as entries, open(lists[1], "w") as urls:
            for number in range(count):
                name = f"{number // 1000:03}/f{number:06}.bin"
                path = os.path.join(root, name)
                data = f"{number:06} ".encode() * 146 + b"12"
                if number % 1000 == 0:
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                if not os.path.exists(path):
                    with open(path, "wb") as file:
                        file.write(data)
                url = self.bench.nginx.url(f"set/{name}")
                entries.write(json.dumps({
                    "path": name, "url": url, "size": len(data),
                    "sha256": hashlib.sha256(data).hexdigest()}) + "\n")
                urls.write(f"{url}\n  out={name}\n")
        return lists

    def bundle(self):
        count = 10_000 if self.options.quick else 100_000
        entries, urls = self.served(count)

        def transfers():
            files = self.bench.fresh()
            environment = self.bench.environment()
            first = run(self.longhaul("enqueue", "--no-start", "-d", files, "--input", urls), files, environment)
            second = run(self.longhaul("run"), files, environment)
            second.wall += first.wall
            second.cpu += first.cpu
            return second

        def whole():
            files = self.bench.fresh()
            environment = self.bench.environment()
            out = os.path.join(files, "out")
            first = run(self.longhaul("bundle", "add", "set", f"list:{entries}", "--to", out), files, environment)
            second = run(self.longhaul("run"), files, environment)
            second.wall += first.wall
            # One run brings all of them.
            subprocess.run(self.longhaul("bundle", "path", "set"), cwd=files, env=environment, check=True,
                           stdout=subprocess.DEVNULL)
            return second

        results = rounds({"longhaul": transfers, "as a bundle": whole}, 1 if count > 10_000 else 3)
        wall = table(f"{count} files of 1 KiB, in {self.options.target}", results)
        mark("a bundle ÷ the same URLs", wall["as a bundle"] / wall["longhaul"], 1)
        mark("memory of the engine", median(results["as a bundle"], "rss") / 1024, 64, " MiB")
        files = os.path.join(self.bench.target, "files")
        environment = self.bench.environment()
        listed = [run(self.longhaul("bundle", "list"), files, environment) for _ in range(9)]
        mark("bundle list", median(listed, "wall") * 1000, 20, " ms")
        verified = run(self.longhaul("bundle", "verify", "set"), files, environment)
        print(f"    bundle verify: {verified.wall:.2f}s")
        shutil.rmtree(self.bench.target)
