"""A disk whose power can be cut: only what was flushed to it is there afterwards."""

import os
import subprocess
import time

# Size of each file system in MiB; the smallest that mkfs makes, and some room.
SIZES = {"ext4": 96, "xfs": 300, "btrfs": 160}
UMOUNT_SECONDS = 60


class Unusable(Exception):
    pass


class PowerDisk:
    """A file system, mounted at a directory, in a file of another one.

    `failpoint --power` shuts the outer one down (FS_IOC_SHUTDOWN). From that moment no write reaches
    the disk, and what the disk holds without having been flushed is lost, as in the cache of a real
    one. The inner file system replays its journal when it is mounted again.
    """

    def __init__(self, kind, directory):
        self.directory = directory
        self.disk, self.outer = directory + ".disk", directory + ".outer"
        self.image = os.path.join(self.outer, "image")
        for path in (self.outer, directory):
            os.makedirs(path, exist_ok=True)
        make_file(self.disk, SIZES[kind] + 64)
        command("mkfs.ext4", "-q", "-F", "-m", "0", self.disk)
        mount(self.disk, self.outer)
        make_file(self.image, SIZES[kind])
        command(f"mkfs.{kind}", "-q", "-F" if kind == "ext4" else "-f", self.image)
        self.loop = mount(self.image, directory)

    def sync(self):
        """What is there is durable."""
        command("sync", "--file-system", self.directory)

    def restart(self):
        """The disk has power again. The file system is on another device than before."""
        unmount(self.directory)
        old = self.loop
        try:
            # It is not free when the file system is mounted.
            command("losetup", old, self.disk)
            is_held = True
        except Unusable:
            is_held = False  # Another case has taken it.
        unmount(self.outer)
        mount(self.disk, self.outer)
        self.loop = mount(self.image, self.directory)
        if is_held:
            command("losetup", "--detach", old)

    def remove(self):
        unmount(self.directory)
        unmount(self.outer)
        os.unlink(self.disk)
        os.rmdir(self.outer)


def make_file(path, mebibytes):
    with open(path, "wb") as file:
        file.truncate(mebibytes << 20)


def mount(image, directory):
    """-> the loop device, which is detached with the last mount."""
    loop = command("losetup", "--find", "--show", image).strip()
    try:
        command("mount", loop, directory)
    finally:
        command("losetup", "--detach", loop)
    return loop


def unmount(directory):
    until = time.monotonic() + UMOUNT_SECONDS
    # A process that was killed may use it for a moment.
    while is_mounted(directory):
        try:
            command("umount", directory)
        except Unusable:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def is_mounted(directory):
    """os.path.ismount() does not know it of a file system that has failed."""
    directory = os.path.realpath(directory)
    with open("/proc/self/mounts") as mounts:
        return any(line.split(" ")[1] == directory for line in mounts)


def command(*words):
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode != 0:
        raise Unusable(f"{' '.join(words)}: {ended.stderr.strip()}")
    return ended.stdout
