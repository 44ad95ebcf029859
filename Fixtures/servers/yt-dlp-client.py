"""Downloads URL to FILE by yt-dlp, which starts PROGRAM as aria2c.

    yt-dlp-client.py PROGRAM FILE URL STATE-DIRECTORY
"""

import os
import sys

import yt_dlp

program, path, url, state = sys.argv[1:5]
os.environ["LONGHAUL_HOME"] = state
os.environ["LONGHAUL_AUTOSTART"] = "0"
# yt-dlp knows a downloader by the name of its program.
link = os.path.dirname(path) + "/aria2c"
os.symlink(program, link)
options = {"outtmpl": path, "external_downloader": link, "quiet": True, "noprogress": True}
with yt_dlp.YoutubeDL(options) as downloader:
    sys.exit(downloader.download([url]))
