"""Drives a server at URL's port by aria2p, and by WebSocket; says OK at the end.

    aria2-client.py PORT SECRET FILE-URL SLOW-URL
"""

import json
import sys
import time

import aria2p
import websocket

port, secret, file_url, slow_url = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]


def until(what, condition):
    for _ in range(600):
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit("not in time: " + what)


# Notices and calls over WebSocket.
socket = websocket.create_connection(f"ws://127.0.0.1:{port}/jsonrpc", timeout=30)
socket.send(
    json.dumps(
        {
            "jsonrpc": "2.0",
            "id": "w",
            "method": "aria2.getVersion",
            "params": ["token:" + secret],
        }
    )
)
answer = json.loads(socket.recv())
assert answer["id"] == "w" and answer["result"]["version"], answer

client = aria2p.Client(host="http://127.0.0.1", port=port, secret=secret)
api = aria2p.API(client)
download = api.add_uris([file_url], options={"out": "by-aria2p.bin"})
assert len(download.gid) == 16, download.gid
until("complete", lambda: api.get_download(download.gid).is_complete)
done = api.get_download(download.gid)
assert done.total_length == done.completed_length == 102400, done.total_length
assert done.files[0].path.name == "by-aria2p.bin"

names = []
while "aria2.onDownloadComplete" not in names:
    notice = json.loads(socket.recv())
    names.append(notice["method"])
    assert notice["params"][0]["gid"] == download.gid, notice
assert names == ["aria2.onDownloadStart", "aria2.onDownloadComplete"], names

slow = api.add_uris([slow_url], options={"max-download-limit": "1K", "split": "2"})
until("active", lambda: api.get_download(slow.gid).is_active)
assert slow.gid in [d.gid for d in api.get_downloads()]
assert client.get_option(slow.gid)["max-download-limit"] == "1024"
client.change_option(slow.gid, {"max-download-limit": "2K"})
assert client.get_option(slow.gid)["max-download-limit"] == "2048"
assert api.pause([api.get_download(slow.gid)]) == [True]
until("paused", lambda: api.get_download(slow.gid).is_paused)
assert api.resume([api.get_download(slow.gid)]) == [True]
until("active again", lambda: not api.get_download(slow.gid).is_paused)
assert client.get_uris(slow.gid)[0]["uri"] == slow_url
assert client.get_files(slow.gid)[0]["index"] == "1"
assert client.get_peers(slow.gid) == []
assert isinstance(client.get_servers(slow.gid), list)

client.change_global_option({"max-overall-download-limit": "5M", "split": "3"})
options = client.get_global_option()
assert options["max-overall-download-limit"] == "5242880" and options["split"] == "3", options
stat = client.get_global_stat()
assert stat["numStopped"] == "1", stat

client.force_remove(slow.gid)
until("removed", lambda: api.get_download(slow.gid).is_removed)
client.remove_download_result(slow.gid)
assert client.tell_stopped(0, 10, ["gid"]) == [{"gid": download.gid}]
assert client.tell_stopped(-1, 1, ["gid", "bittorrent"]) == [{"gid": download.gid}]

found = client.call("aria2.searchDownloadResult", [{"pathLike": "%ARIA2P%"}, 0, 9])
assert [entry["gid"] for entry in found] == [download.gid], found
assert client.call("aria2.getDownloadResultCount", [])["count"] == "1"
again = client.call(
    "aria2.requeueDownloadResult", [download.gid, {"out": "again.bin"}]
)
until("complete again", lambda: api.get_download(again["gid"]).is_complete)

both = client.multicall(
    [
        {"methodName": "aria2.tellStatus", "params": [download.gid, ["gid"]]},
        {"methodName": "aria2.tellStatus", "params": ["ffff"]},
    ]
)
assert both[0] == [{"gid": download.gid}] and both[1]["code"] == 1, both
assert "aria2.retry" in client.list_methods()
assert len(client.list_notifications()) == 5
assert client.save_session() == "OK"
assert len(client.get_session_info()["sessionId"]) == 40

try:
    aria2p.Client(host="http://127.0.0.1", port=port, secret="no").get_version()
    raise SystemExit("a wrong secret was right")
except aria2p.ClientException as error:
    assert error.code == 1 and error.message == "Unauthorized", error

client.purge_download_result()
assert client.tell_stopped(0, 10) == []
client.shutdown()
print("OK")
