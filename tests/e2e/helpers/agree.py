"""Whether all that there is agrees: the ledger, what the programs decide by, what is shown, mounted, linked
and let through, and what lies about (I1, I4)."""
import ctypes
import glob
import json
import os
import subprocess

import pinned
from client import Client, check
from ledger import awaiting, ever, replay


def subset(allowed):
    """I1: the kernel allows nothing that the ledger has not. Returns what that has."""
    said = replay()
    for kind, bench, grant, what, rights in allowed:
        check(bench in said, f"kernel: a {kind} grant of a Bench that the ledger has not: {bench}")
        if not grant:
            continue
        record = said[bench][1].get(grant)
        check(record, f"kernel: a grant beyond the ledger: {bench}/{grant} {what}")
        check((record["kind"] == "file") == (kind == "file"), f"kernel: another kind: {record}")
        if kind == "file":
            most = (3 if record["rights"] == "rw" else 1) | (8 if record.get("secret") else 0)
            check(record["object"] == what and not rights & ~most,
                  f"kernel: more than the ledger: {what} {rights}, {record}")
    for bench, word in pinned.ever().items():
        had = ever().get(bench, set())
        check(not word or pinned.EVER.get(word) in had, f"kernel: ever {word}, ledger {had}")
    walled = pinned.benches()
    check(walled <= set(said), f"kernel: Benches {walled}, ledger {set(said)}")
    return said


def pins_of(bench):
    """The objects in the Bench's mount namespace of pins, which has neither a program nor a /proc."""
    there, here = os.pipe()
    child = os.fork()
    if not child:
        try:
            own = os.open(f"/proc/{os.getpid()}", os.O_RDONLY)
            space = os.open(f"/run/benchmon/pins/{bench}", os.O_RDONLY)
            if ctypes.CDLL(None).setns(space, 0x20000) == 0:
                with os.fdopen(os.open("mountinfo", os.O_RDONLY, dir_fd=own)) as file:
                    os.write(here, file.read().encode())
        finally:
            os._exit(0)
    os.close(here)
    with os.fdopen(there) as file:
        paths = {line.split()[4] for line in file}
    os.waitpid(child, 0)
    return {int(path[1:]) for path in paths if path[1:].isdigit()}


def mounts_of(pid):
    with open(f"/proc/{pid}/mounts", encoding="utf-8") as file:
        return {line.split()[1] for line in file if line.split()[1].startswith("/in/")}


def nft_of(pid, table):
    """The destinations that a table lets through: as text, all its elements."""
    enter = ["nsenter", "-t", str(pid), "-n"] if pid else []
    done = subprocess.run([*enter, "nft", "-j", "list", "table", "inet", table],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return [element for item in json.loads(done.stdout)["nftables"] if "set" in item
            for element in item["set"].get("elem", [])]


def still(bench):
    """Whether its tasks stand still, by its cgroup."""
    path = f"/sys/fs/cgroup{bench['cgroup']}"
    with open(f"{path}/cgroup.freeze", encoding="ascii") as file:
        told = file.read().strip()
    with open(f"{path}/cgroup.events", encoding="ascii") as file:
        return told == "1" and "frozen 1" in file.read()


def asked_and_open(shown):
    """What awaits a decision, and by which doors a Bench may ask for more."""
    with Client() as client:
        pending = {item["request"] for item in client.ask("pending")["items"]}
    due = awaiting()
    check(pending == due, f"pending: {pending}, by the ledger: {due}")
    doors = "/run/benchmon/doors"
    there = {path for path in os.listdir(doors) if path != "client"}
    check(there == {str(bench["id"]) for bench in shown.values()}, f"doors: {there}", shown)
    for path in there:
        found = set(os.listdir(f"{doors}/{path}"))
        check(found == {"benchmon", "socket"}, f"door {path} has {found}")


def agree(before):
    """After a start; before is what the kernel allowed when the daemon died. Returns the Benches."""
    allowed = pinned.authority()
    said = subset(allowed)
    # Adoption never adds. (An own object is no grant.)
    more = {entry for entry in allowed - before if entry[2]}
    check(not more, f"the restarted daemon has added {more}")
    with Client() as client:
        shown = {bench["name"]: client.ask("show", bench=bench["name"])["bench"]
                 for bench in client.ask("ls")["benches"]}
    check(sorted(name for name, _ in said.values()) == sorted(shown),
          f"ledger: {said}, ls: {list(shown)}")
    check(pinned.benches() == {bench["id"] for bench in shown.values()}, "walls", shown)
    made = [bench for bench in shown.values() if bench["origin"] == "created"]
    for where, count in (("/sys/fs/cgroup/benchmon", len(made)),
                         ("/run/benchmon/benches", len(made)),
                         ("/var/lib/benchmon/benches", len(made)),
                         ("/sys/fs/bpf/benchmon/benches", len(shown))):
        there = glob.glob(f"{where}/*/")
        check(len(there) == count, f"{where} has {there}, ls {list(shown)}")
    for bench in shown.values():
        agrees(bench, {entry for entry in allowed if entry[1] == bench["id"] and entry[2]})
        objects = {grant["object"] for grant in bench["grants"] if grant["kind"] == "file"}
        pins = pins_of(bench["id"]) if objects else set()
        check(objects <= pins, f"granted: {objects}, pinned: {pins}")
    asked_and_open(shown)
    return shown


def agrees(bench, allowed):
    """One Bench: what is shown, what the kernel allows, what is mounted, linked and let through."""
    check(bench["state"] in ("ready", "frozen"), "adopted half-made", bench)
    check(still(bench) == (bench["state"] == "frozen"), "it stands still, or does not", bench)
    grants = {int(grant["id"].split("/")[1]): grant for grant in bench["grants"]}
    check({entry[2] for entry in allowed} == set(grants),
          f"the kernel has {sorted(allowed)}", bench)
    wanted = {grant["dest"] for grant in grants.values() if grant["kind"] == "file"}
    if bench["origin"] == "created":
        there = mounts_of(bench["pid"])
        check(there == wanted, f"mounted: {there}, granted: {wanted}")
    nets = [entry for entry in allowed if entry[0] == "net"]
    link = f"/sys/class/net/bm{bench['id']}"
    # To a broker there is no way but the Bench's own loopback.
    ways = [entry for entry in nets if grants[entry[2]]["kind"] != "broker"]
    check(os.path.exists(link) == bool(ways), f"the link; {nets}", bench)
    had = set(bench["had"])
    check(not any(entry[4] & 8 for entry in allowed) or "secret" in had, f"had {had}", bench)
    elements = nft_of(bench["pid"], "benchmon")
    check(elements is not None, f"{bench['name']} has no nft table")
    check(bool(elements) == bool(nets), f"nft of the Bench has {elements}, the kernel {nets}")
