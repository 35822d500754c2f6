"""scale.py BENCHES GRANTS MANY: makes that many, each with so many files granted, and one with MANY, and
says what each costs.

A line: what, how often, the least of the ten with the fewest others there, that of the ten with the most,
the median, the longest, and twice what gatekeeperd(8) states for one: the bound of the median. What is
called "...-many" is done to the one that has MANY. Last line: scale: N passed, N failed"""
import os
import select
import signal
import statistics
import subprocess
import sys
import time

from client import Client, check, daemon, opened

BENCHES, GRANTS, MANY = map(int, sys.argv[1:4])
DISK, ROOTFS = os.environ["E2E_DISK"], os.environ["BENCHMON_ROOTFS"]
# gatekeeperd(8), HOW MUCH THERE MAY BE: ms of one request on an emulated CPU, whatever there is already.
STATED = {"create": 800, "grant": 150, "revoke": 250, "destroy": 500}
OF_LS = 1  # of one Bench
OF_SHOW = 0.5  # of one grant
OF_DESTROY_GRANT = 80
OF_RESTART = 100  # of one Bench
OF_RESTART_GRANT = 5
# Bytes: the daemon's own, what one more Bench and one more grant take.
RSS, RSS_BENCH, RSS_GRANT = 16 << 20, 5 << 10, 512
OF_ALL = 64_000_000  # a thousand Benches with a hundred grants each
FDS, FDS_BENCH = 64, 12
# As the CPU is that of what is stated.
with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
    FAST = 1 if "QEMU TCG" in cpuinfo.read() else 10
OFF = 2
# What is the same for the first and for the last differs by no more than chance.
GROWTH = 2
WINDOW = 10
MOST = 20  # how often what is done to a thousand things is looked at

spent = {}
verdicts = []


def timed(what, call, *arguments, **keys):
    began = time.monotonic()
    reply = call(*arguments, **keys)
    spent.setdefault(what, []).append((time.monotonic() - began) * 1000)
    return reply


def verdict(good, what, *figures):
    verdicts.append(good)
    print(f"{'ok' if good else 'FAILED':6} {what:8}", *figures, flush=True)


def asked(client, op, fds=(), **keys):
    reply = client.ask(op, fds, **keys)
    check(reply and reply["ok"], f"{op} {keys}", reply)
    return reply


def name(bench):
    return f"s{bench}"


def create(client, rootfs, bench):
    timed("create", asked, client, "create", [rootfs], bench=name(bench))


def grants(client, bench, count, what="grant"):
    for number in range(1, count + 1):
        path = f"{DISK}/{bench}/{number}"
        fd = opened(path)
        timed(what, grant, client, bench, path, number, fd)
        os.close(fd)


def grant(client, bench, path, number, fd):
    keys = {"kind": "file", "source": path, "dest": f"/in/{number}", "rights": "ro", "idmap": True}
    reply = asked(client, "grant", [fd], bench=name(bench), **keys)
    asked(client, "confirm", token=reply["confirm"]["token"], how="yes")


def paged(client, op, of, **keys):
    """All of a list that takes several messages."""
    items, offset, pages = [], 0, 0
    while offset is not None:
        reply = asked(client, op, offset=offset, **keys)
        items += of(reply)
        offset = reply.get("next")
        pages += 1
    return items, pages


def benches(client):
    return paged(client, "ls", lambda reply: reply["benches"])


def looks(client):
    found, pages = timed("ls", benches, client)
    check([b["name"] for b in found] == [name(b) for b in range(1, BENCHES + 2)], "ls", found)
    check(all(b["state"] == "ready" for b in found), "ls", found)
    check([b["grant_count"] for b in found] == BENCHES * [GRANTS] + [MANY], "grants of ls", found)
    print(f"       ls: {pages} messages", flush=True)
    for _ in range(MOST):
        shown, _ = timed(
            "show-many",
            paged,
            client,
            "show",
            lambda r: r["bench"]["grants"],
            bench=name(BENCHES + 1),
        )
        check(len(shown) == MANY, "show", len(shown))
    out = subprocess.run(["benchmon", "ls"], stdout=subprocess.PIPE, check=True, text=True).stdout
    check(len(out.splitlines()) == BENCHES + 2, "lines of `benchmon ls`", out)
    check(max(map(len, out.splitlines())) <= 80, "width of `benchmon ls`", out)


def status(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise SystemExit(f"no {key}")


def resident():
    return status(daemon(), "VmRSS") << 10


def memory(when, begun):
    pid = daemon()
    rss, all_grants = resident(), BENCHES * GRANTS + MANY
    bound = RSS + (BENCHES + 1) * RSS_BENCH + all_grants * RSS_GRANT
    verdict(rss <= bound, "rss", f"{rss >> 10:7} KiB {'':26} {bound >> 10:7} KiB  {when}")
    # What they have grown by is of both; a grant's share is what tests/unit/test_scale.c bounds.
    each = max(0, rss - begun - all_grants * RSS_GRANT * 3 // 4) / (BENCHES + 1)
    of_all = begun + 1000 * (each + 100 * RSS_GRANT * 3 // 4)
    verdict(of_all <= OF_ALL, "1000x100", f"{of_all / 1024:7.0f} KiB {'':26}"
            f" {OF_ALL >> 10:7} KiB  so it would be")
    fds = len(os.listdir(f"/proc/{pid}/fd"))
    bound = FDS + (BENCHES + 1) * FDS_BENCH
    verdict(fds <= bound, "fds", f"{fds:7} {'':30} {bound:7}      {when}")


def restart():
    """Killed, so that nothing is written at its end; a command starts the next one."""
    pid = daemon()
    pidfd = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([pidfd], [], [])
    os.close(pidfd)
    timed("restart", subprocess.run, ["benchmon", "ls"], stdout=subprocess.DEVNULL, check=True)
    check(daemon() != pid, "the same daemon")


def table():
    of_one = {
        **STATED,
        "grant-many": STATED["grant"],
        "revoke-many": STATED["revoke"],
        "ls": OF_LS * BENCHES,
        "show-many": OF_SHOW * MANY,
        "destroy-many": STATED["destroy"] + OF_DESTROY_GRANT * MANY,
        "restart": BENCHES * (OF_RESTART + OF_RESTART_GRANT * GRANTS) + OF_RESTART_GRANT * MANY,
    }
    heads = ("few", "many", "median", "longest", "bound")
    print(f"{'':6} {'':12} {'count':>7}", *(f"{head:>10}" for head in heads))
    for what, times in spent.items():
        # The least: whatever else this machine does only adds to it.
        few, many = min(times[:WINDOW]), min(times[-WINDOW:])
        if what in ("revoke", "destroy"):  # these begin with all there is
            few, many = many, few
        if what == "revoke-many":  # and here there are many to the end
            few = min(spent["revoke"])
        median, bound = statistics.median(times), of_one[what] * OFF / FAST
        figures = [f"{ms:7.0f} ms" for ms in (few, many, median, max(times), bound)]
        grows = len(times) >= MOST and many > few * GROWTH
        good = not grows and median <= bound
        verdict(good, f"{what:12}", f"{len(times):7}", *figures, *(["it grows"] if grows else []))


def main():
    rootfs = opened(ROOTFS, os.O_RDONLY | os.O_DIRECTORY)
    begun = resident()
    print(f"       rss of none: {begun >> 10} KiB", flush=True)
    with Client() as client:
        client.socket.settimeout(600)
        for bench in range(1, BENCHES + 2):
            create(client, rootfs, bench)
        for bench in range(1, BENCHES + 1):
            grants(client, bench, GRANTS)
        grants(client, BENCHES + 1, MANY, "grant-many")
        looks(client)
    memory("granted", begun)
    restart()
    memory("restarted", begun)
    with Client() as client:
        client.socket.settimeout(600)
        looks(client)
        for bench in range(1, BENCHES + 1):
            timed("revoke", asked, client, "revoke", grant=f"{name(bench)}/{GRANTS}")
        for number in range(MANY, MANY - MOST, -1):
            timed("revoke-many", asked, client, "revoke", grant=f"{name(BENCHES + 1)}/{number}")
        for bench in range(1, BENCHES + 1):
            timed("destroy", asked, client, "destroy", bench=name(bench))
        timed("destroy-many", asked, client, "destroy", bench=name(BENCHES + 1))
        check(benches(client)[0] == [], "destroyed")
    table()
    print(f"scale: {sum(verdicts)} passed, {len(verdicts) - sum(verdicts)} failed")
    raise SystemExit(not all(verdicts))


main()
