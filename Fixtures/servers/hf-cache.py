"""Opens a repository in a cache with the hub's own client, offline, and prints its path.

    hf-cache.py CACHE REPOSITORY
"""

import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

from huggingface_hub import snapshot_download

print(snapshot_download(sys.argv[2], cache_dir=sys.argv[1]))
