"""Asks a server all that its description at /v1/openapi.json has, and much that it has not.

    openapi-client.py PORT

The server has a transfer 1 and a job `job`. Two of schemathesis' checks are left out: texts have a
grammar that the description does not state, so that some that are valid by it are refused
(positive_data_acceptance), and what was added may have ended before it is asked for
(ensure_resource_availability).
"""

import os
import sys
import tempfile

from schemathesis.cli import schemathesis

port = sys.argv[1]
with tempfile.TemporaryDirectory() as directory:
    # What it finds is written where it runs.
    os.chdir(directory)
    with open("schemathesis.toml", "w") as configuration:
        configuration.write('[parameters]\n"path.id" = 1\n"path.name" = "job"\n')
    schemathesis(
        [
            "--no-color", "run", f"http://127.0.0.1:{port}/v1/openapi.json", "--seed", "1",
            "--max-examples", "8", "--phases", "examples,coverage,fuzzing",
            "--generation-database", "none", "--exclude-checks",
            "positive_data_acceptance,ensure_resource_availability",
        ])
