"""tamper.py BENCH: pins are taken away, or others put in their places. Each time the daemon that starts
then refuses, or finds the Bench broken, and says exactly which; the Bench stands still meanwhile, and goes
on when all is as it was."""
import json
import os
import struct
import subprocess
import sys

import pinned
from client import Client, check, daemon

BENCH = sys.argv[1]
PINS = "/sys/fs/bpf/benchmon"
KEPT = "/sys/fs/bpf/e2e-kept"
FROZEN = f"/sys/fs/cgroup/benchmon/{BENCH}/cgroup.events"
ABI_AT = 36


def stop():
    try:
        pid = daemon()
    except OSError:
        return
    waits = os.pidfd_open(pid)
    os.kill(pid, 15)
    import select
    select.select([waits], [], [])
    os.close(waits)


def frozen():
    with open(FROZEN, encoding="ascii") as file:
        return "frozen 1" in file.read()


def benchmon(*words):
    return subprocess.run(["benchmon", *words], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)


def state():
    with Client() as client:
        return client.ask("show", bench=BENCH)["bench"]["state"]


def whole():
    done = benchmon("ls")
    check(done.returncode == 0, f"it does not start again: {done.stderr}")
    check(state() == "ready" and not frozen(), "it does not go on")


def pin_away(path):
    os.rename(f"{PINS}/{path}", KEPT)


def back(path):
    os.rename(KEPT, f"{PINS}/{path}")


def like_map(name, **other):
    """An empty map of the same name and kind, or another one."""
    fd = pinned.obj_get(f"{PINS}/maps/{name}")
    kind, _, key, value, entries, flags, called = pinned.map_info(fd)
    os.close(fd)
    shape = {"kind": kind, "key": key, "value": value, "entries": entries,
             "flags": flags & 0x81, "name": called, **other}
    return pinned.map_create(**shape)


def refused(path, make, *words, freezes=True):
    """With something else, or nothing, in the place of a pin the daemon does not start."""
    stop()
    new = make() if make else None
    pin_away(path)
    if new is not None:
        pinned.obj_pin(new, f"{PINS}/{path}")
        os.close(new)
    done = benchmon("ls")
    check(done.returncode == 125, f"{path}: it starts: {done.stdout}")
    for word in (path, *words):
        check(word in done.stderr, f"{path}: not said: {word}: {done.stderr}")
    check(done.stderr.count("\n") == 1, f"{path}: not one line: {done.stderr}")
    check(frozen() == freezes, f"{path}: frozen is {frozen()}")
    back(path)
    whole()
    print(f"{path}: {done.stderr.strip()}")


def broken(path, make, *words):
    """The same of a pin of the Bench's own: the others are governed all the same."""
    stop()
    new = make() if make else None
    pin_away(path)
    if new is not None:
        pinned.obj_pin(new, f"{PINS}/{path}")
        os.close(new)
    done = benchmon("ls")
    check(done.returncode == 0 and "broken" in done.stdout, f"not broken: {done}")
    check(frozen(), f"{path}: it is not frozen")
    with open("/var/log/benchmon/gatekeeperd.log", encoding="utf-8", errors="replace") as file:
        log = file.read().splitlines()[-12:]
    for word in (path, *words):
        check(any(word in line for line in log), f"{path}: not said: {word}: {log}")
    for command in (("thaw", BENCH), ("grant", BENCH, "net", "198.51.100.10:9", "--yes")):
        done = benchmon(*command)
        check(done.returncode == 125, f"{command}: {done}")
    check(frozen(), "it was thawed")
    stop()
    back(path)
    whole()
    print(f"{path}: {[line for line in log if path in line]}")


def other_link(path):
    return lambda: pinned.obj_get(f"{PINS}/{path}")


def programs():
    gone = "is missing or foreign: No such file or directory (rule: pins)"
    other = "holds another program than was loaded (rule: pins)"
    unload = "`gatekeeperd --unload --force` ends every Bench and loads anew"
    refused("links/file_open" if os.path.exists(f"{PINS}/links/file_open") else "links/open",
            None, gone, unload)
    first = sorted(os.listdir(f"{PINS}/links"))[0]
    refused(f"links/{first}", None, gone)
    # By the same name, of the same hook, and everything is allowed.
    refused(f"links/{first}", lambda: pinned.harmless(f"{PINS}/links/{first}"), other)
    refused(f"links/{first}", other_link("links/" + sorted(os.listdir(f"{PINS}/links"))[1]), other)
    refused(f"links/{first}", other_link("maps/grants"), other)
    refused("programs/connect4", None, gone)
    refused("programs/connect4", other_link("programs/connect6"), other)
    refused("programs/recall", other_link("programs/lookup"), other)


def maps():
    gone = "is missing or foreign: No such file or directory (rule: pins)"
    other = "holds another map than was loaded (rule: pins)"
    for name in ("grants", "benches", "ledger", "excepts"):
        refused(f"maps/{name}", lambda name=name: like_map(name), other)
    refused("maps/grants", None, gone)
    refused("maps/grants", lambda: like_map("grants", value=24), other)
    refused("maps/grants", other_link("maps/destinations"), other)
    refused("maps/destinations", other_link("programs/connect4"), other)
    refused("maps/known", lambda: like_map("known"), other)
    refused("maps/known", None, gone)
    refused("maps/config", lambda: like_map("grants"), "maps/config is another map than was loaded")


def abi():
    """Whole, and of an ABI that is not spoken here: they go on enforcing, and nothing is frozen."""
    stop()
    fd = pinned.obj_get(f"{PINS}/maps/config")
    size = pinned.map_info(fd)[3]
    key = struct.pack("=I", 0)
    was = pinned.look_up(fd, key, size)
    now = struct.unpack("=I", was[ABI_AT:ABI_AT + 4])[0]
    pinned.update(fd, key, was[:ABI_AT] + struct.pack("=I", now + 1) + was[ABI_AT + 4:])
    done = benchmon("ls")
    said = (f"the programs in the kernel are of ABI {now + 1}, this gatekeeperd of ABI {now}; they "
            "go on enforcing (rule: abi); start the gatekeeperd that loaded them, end the Benches, "
            "and `gatekeeperd --unload`")
    check(done.returncode == 125 and said in done.stderr, f"not said: {done}")
    check(not frozen(), "it is frozen")
    pinned.update(fd, key, was)
    os.close(fd)
    whole()


def bench():
    with Client() as client:
        number = client.ask("show", bench=BENCH)["bench"]["id"]
    gone = "is missing or foreign: No such file or directory (rule: pins)"
    where = f"benches/{number}"
    broken(f"{where}/connect4", None, gone, "and `benchmon destroy` it")
    broken(f"{where}/egress", other_link(f"{where}/ingress"), "holds another program than was loaded")
    # The right program, of another Bench.
    with Client() as client:
        check(client.ask("create", [os.open(os.environ["BENCHMON_ROOTFS"], os.O_RDONLY)],
                         bench="other")["ok"], "not created")
        second = client.ask("show", bench="other")["bench"]["id"]
    broken(f"{where}/egress", other_link(f"benches/{second}/egress"),
           "is attached elsewhere than to its cgroup")
    with Client() as client:
        check(client.ask("destroy", bench="other")["ok"], "not destroyed")


if __name__ == "__main__":
    programs()
    maps()
    abi()
    bench()
    print(json.dumps({"done": True}))
