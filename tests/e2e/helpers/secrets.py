"""secrets.py WHAT ...: two grants in flight at once; a search that takes its time; what a Bench
ever had, in the kernel's memory."""
import ctypes
import json
import mmap
import os
import select
import struct
import subprocess
import sys

from client import Client, check, opened, refused

MAPS = "/sys/fs/bpf/benchmon/maps"
SLOTS = 8192


def in_flight(bench, path, destination, first):
    """Two connections are shown a grant each; whoever is confirmed first gets it."""
    with Client() as one, Client() as other:
        seen = {}
        reply = one.ask("grant", [opened(path)], bench=bench, kind="file", source=path,
                        rights="ro", idmap=True, secret=True)
        check(reply.get("ok"), "the secret is not shown", reply)
        seen["secret"] = (one, reply["confirm"]["token"])
        reply = other.ask("grant", bench=bench, kind="net", destination=destination, private=False)
        check(reply.get("ok"), "the destination is not shown", reply)
        seen["net"] = (other, reply["confirm"]["token"])
        client, token = seen.pop(first)
        reply = client.ask("confirm", token=token, how="yes")
        check(reply.get("ok"), "the first is refused", reply)
        client, token = seen.popitem()[1]
        refused(client.ask("confirm", token=token, how="yes"), "never-both", "for its life")


def dump(name):
    return json.loads(subprocess.run(["bpftool", "-j", "map", "dump", "pinned", f"{MAPS}/{name}"],
                                     check=True, capture_output=True).stdout)


def slot_of(bench):
    for entry in dump("benches"):
        value = entry["formatted"]["value"]
        if value["id"] == bench:
            return value["slot"]
    raise SystemExit("no such Bench in the kernel")


def config():
    """The programs' own memory, as the daemon has it too."""
    show = json.loads(subprocess.run(["bpftool", "-j", "map", "show", "pinned", f"{MAPS}/config"],
                                     check=True, capture_output=True).stdout)
    libc = ctypes.CDLL(None, use_errno=True)
    path = ctypes.create_string_buffer(f"{MAPS}/config".encode())
    attr = struct.pack("QII", ctypes.addressof(path), 0, 0).ljust(128, b"\0")
    fd = libc.syscall(321, 7, attr, 16)  # BPF_OBJ_GET
    check(fd >= 0, f"the map can't be opened: {os.strerror(ctypes.get_errno())}")
    return mmap.mmap(fd, (show["bytes_value"] + 4095) & ~4095), show["bytes_value"]


def ever(bench, number=None):
    memory, size = config()
    at = size - (4 + 8) * SLOTS + 4 * slot_of(int(bench))  # what was sent comes after it
    if number is not None:
        memory[at:at + 4] = struct.pack("<I", int(number))
    print(struct.unpack("<I", memory[at:at + 4])[0])


class Held:
    """The next open of that file waits until it is let go."""

    def __init__(self, path):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.fanotify_init(0x4 | 0x1, os.O_RDONLY)  # FAN_CLASS_CONTENT, CLOEXEC
        check(self.fd >= 0, f"fanotify_init: {os.strerror(ctypes.get_errno())}")
        self.libc.fanotify_mark.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint64,
                                            ctypes.c_int, ctypes.c_char_p]
        r = self.libc.fanotify_mark(self.fd, 0x1, 0x10000, -100, path.encode())  # ADD, OPEN_PERM
        check(r == 0, f"fanotify_mark: {os.strerror(ctypes.get_errno())}")

    def opener(self):
        """The pid of who waits, as soon as somebody does."""
        event = os.read(self.fd, 4096)
        self.event, pid = struct.unpack_from("<ii", event, 16)
        return pid

    def let_go(self):
        os.write(self.fd, struct.pack("<iI", self.event, 1))  # FAN_ALLOW
        os.close(self.event)

    def close(self):
        os.close(self.fd)


def searching(client, bench, path):
    client.send(json.dumps({"v": 1, "op": "grant", "bench": bench, "kind": "file", "source": path,
                            "rights": "ro", "idmap": True}).encode(),
                [os.open(path, os.O_RDONLY | os.O_CLOEXEC)])


def nobody(pid):
    """It ends soon."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    check(select.select([fd], [], [], 60)[0], f"process {pid} goes on")
    os.close(fd)


def searched(bench, path):
    """Others are answered, the connection itself is busy; its end is the search's."""
    held = Held(f"{path}/file")
    with Client() as one, Client() as other:
        searching(one, bench, path)
        held.opener()
        for _ in range(3):
            check(other.ask("ls").get("ok"), "another is not answered while a search goes on")
        refused(one.ask("version"), "protocol", "taken by an earlier request")
        held.let_go()
        reply = one.receive()
        check(reply.get("ok"), "not shown", reply)
        reply = one.ask("confirm", token=reply["confirm"]["token"], how="yes")
        check(reply.get("ok"), "not granted", reply)
        reply = other.ask("revoke", bench=bench, all=True)
        check(reply.get("ok"), "not revoked", reply)
    with Client() as one:
        searching(one, bench, path)
        pid = held.opener()
    nobody(pid)
    held.close()


def destroyed(bench, path):
    """The Bench ends while what it shall get is searched."""
    held = Held(f"{path}/file")
    with Client() as one, Client() as other:
        searching(one, bench, path)
        held.opener()
        check(other.ask("destroy", bench=bench).get("ok"), "not destroyed")
        held.let_go()
        refused(one.receive(), "confirmation", "has ended while", "was searched")
    held.close()


{"in_flight": in_flight, "ever": ever, "searched": searched, "destroyed": destroyed}[sys.argv[1]](*sys.argv[2:])
