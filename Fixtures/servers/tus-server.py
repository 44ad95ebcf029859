"""tuspyserver on a port of this machine; what arrives stands in DIRECTORY.

    tus-server.py DIRECTORY PORT
"""

import sys

import uvicorn
from fastapi import FastAPI
from tuspyserver import create_tus_router

app = FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir=sys.argv[1]))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]))
