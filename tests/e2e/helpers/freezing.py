"""freezing.py CASE [MOUNT]: f1 has a task in a write to MOUNT, which is frozen: the kernel keeps it. f2 has none."""
import json
import select
import subprocess
import sys
import time

from client import Client, check, refused

GROUP = "/sys/fs/cgroup/benchmon/f1"
# Of what others ask meanwhile: in an emulated machine, and less than a task is waited for.
PROMPT_S = 5


def told_to(client):
    client.send(json.dumps({"v": 1, "op": "freeze", "bench": "f1"}).encode())
    # One loop: who comes later is answered later.
    with Client() as other:
        check(other.ask("version")["ok"], "not answered")
    with open(f"{GROUP}/cgroup.freeze", encoding="ascii") as file:
        check(file.read() == "1\n", "it is not told to stand still")


def waits(client):
    with open(f"{GROUP}/cgroup.events", encoding="ascii") as file:
        check("frozen 0" in file.read(), "it stands still: nothing is waited for")
    check(not select.select([client.socket], [], [], 0)[0], "answered before it stands still")


def served():
    """Others, and of other Benches: the longest that one took."""
    worst = 0
    for keys in ({"op": "ls"}, {"op": "show", "bench": "f1"}, {"op": "freeze", "bench": "f2"},
                 {"op": "thaw", "bench": "f2"}):
        before = time.monotonic()
        with Client() as client:
            check(client.ask(**keys)["ok"], f"not served: {keys}")
        worst = max(worst, time.monotonic() - before)
    check(worst < PROMPT_S, f"one took {worst:.1f} s")
    return worst


def let_go(mount):
    subprocess.run(["fsfreeze", "-u", mount], check=True)


def awaited(mount):
    """Two who asked are told when it stands still, and others are served until then."""
    with Client() as first, Client() as second:
        told_to(first)
        told_to(second)
        worst = served()
        waits(first)
        waits(second)
        refused(first.ask("ls"), "protocol", "taken by an earlier request")
        let_go(mount)
        for client in (first, second):
            reply = client.receive()
            check(reply["ok"] and reply["bench"]["state"] == "frozen", "not frozen", reply)
    print(f"took {worst * 1000:.0f} ms at most: what others asked while it was being frozen")


def thawed():
    with Client() as first, Client() as other:
        told_to(first)
        waits(first)
        check(other.ask("thaw", bench="f1")["ok"], "not thawed")
        refused(first.receive(), None, "Bench f1 was thawed before it stood still")
        # Who was refused may ask again on the same connection.
        check(first.ask("show", bench="f1")["bench"]["state"] == "ready", "it is not ready")
    with open(f"{GROUP}/cgroup.freeze", encoding="ascii") as file:
        check(file.read() == "0\n", "it is told to stand still")


def late():
    """It is given up, and stays told to stand still until it is thawed."""
    with Client() as first:
        told_to(first)
        before = time.monotonic()
        while not select.select([first.socket], [], [], 0)[0]:
            check(time.monotonic() - before < 60, "it is waited for without end")
            served()
        refused(first.receive(), None, "has not left the kernel within 10 s", "thaw")
    with Client() as other:
        check(other.ask("thaw", bench="f1")["ok"], "not thawed")


def unheard(mount):
    """Whoever asked has hung up: it stands still all the same."""
    with Client() as first:
        told_to(first)
        waits(first)
    let_go(mount)
    end = time.monotonic() + 60
    state = None
    while state != "frozen":
        check(time.monotonic() < end, f"it is {state}")
        with Client() as other:
            state = other.ask("show", bench="f1")["bench"]["state"]


def begun():
    with Client() as first:
        told_to(first)
        waits(first)


globals()[sys.argv[1]](*sys.argv[2:])
