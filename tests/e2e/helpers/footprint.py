"""footprint.py BENCHES: attaches that many containers, c1 and so on, and says what the kernel keeps for it.

A line: what, and how much of one. Where a door can't be made there is none, and a Bench
all the same: so the door's share is known. Last line: footprint: N passed, N failed"""
import os
import sys
import time

from client import Client, check, opened

BENCHES = int(sys.argv[1])
RUN, DISK = os.environ["E2E_RUN"], os.environ["E2E_DISK"]
DOORS = "/run/benchmon/doors"
KEPT = ("Slab", "KernelStack", "PageTables", "Percpu", "VmallocUsed", "Shmem")
MOST = {"bench": 64 << 10, "door": 16 << 10, "grant": 8 << 10}
SHARE = 15  # percent of attaching that a door may be
verdicts = []


def kept():
    """What nobody can have back, once what is only remembered has gone; what is freed late has been."""
    least = None
    for _ in range(4):
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("3")
        with open("/proc/meminfo", encoding="ascii") as file:
            sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
        now = sum(sizes[key] for key in KEPT)
        least = now if least is None else min(least, now)
    return least


def asked(client, op, fds=(), **keys):
    reply = client.ask(op, fds, **keys)
    check(reply and reply["ok"], f"{op} {keys}", reply)
    return reply


def pid_of(number):
    with open(f"{RUN}/c/c{number}/pid", encoding="ascii") as file:
        return int(file.read())


def attach(client):
    """ns of the last ones: instructions, where that is what the clock counts."""
    spent = []
    for number in range(1, BENCHES + 1):
        began = time.monotonic_ns()
        asked(client, "attach", bench=f"f{number}", container={"pid": pid_of(number)})
        spent.append(time.monotonic_ns() - began)
    return min(spent)


def detach(client):
    for number in range(1, BENCHES + 1):
        asked(client, "detach", bench=f"f{number}")


def grant(client):
    for number in range(1, BENCHES + 1):
        for file in range(1, 11):
            fd = opened(f"{DISK}/{file}")
            keys = {"kind": "file", "source": f"{DISK}/{file}", "dest": f"/tmp/{file}"}
            reply = asked(client, "grant", [fd], bench=f"f{number}", rights="ro", idmap=False, **keys)
            os.close(fd)
            asked(client, "confirm", token=reply["confirm"]["token"], how="yes")


def doors(there):
    """Without the client that each of them has there is none."""
    names = ("client", "aside")
    os.rename(*(f"{DOORS}/{name}" for name in (reversed(names) if there else names)))


def verdict(good, what, text):
    verdicts.append(good)
    print(f"{'ok' if good else 'FAILED':6} {what:16} {text}", flush=True)


def bytes_of(what, size):
    verdict(0 <= size <= MOST[what], what, f"{size:9.0f} bytes  at most {MOST[what]}")


def main():
    with Client() as client:
        client.socket.settimeout(600)
        attach(client)  # what is made once, and kept
        detach(client)
        empty = kept()
        with_door = attach(client)
        made = kept()
        check(asked(client, "show", bench="f1")["bench"].get("door"), "it has no door")
        grant(client)
        granted = kept()
        detach(client)
        doors(False)
        empty_without = kept()
        without_door = attach(client)
        made_without = kept()
        check(not asked(client, "show", bench="f1")["bench"].get("door"), "it has a door")
        detach(client)
        doors(True)
    of_bench = (made - empty) / BENCHES
    bytes_of("bench", of_bench)
    bytes_of("door", max(0, of_bench - (made_without - empty_without) / BENCHES))
    bytes_of("grant", (granted - made) / BENCHES / 10)
    share = (with_door - without_door) * 100 / with_door
    verdict(share <= SHARE, "attach", f"{with_door / 1e6:9.1f} million instructions")
    verdict(
        share <= SHARE,
        "door of it",
        f"{(with_door - without_door) / 1e6:9.1f} million instructions, {share:.1f} %",
    )
    print(f"footprint: {sum(verdicts)} passed, {len(verdicts) - sum(verdicts)} failed")
    raise SystemExit(not all(verdicts))


main()
