"""scale.py BENCHES GRANTS: makes that many, each with so many files granted, and says what each costs.

A line: what, how often, the median of the first tenth, that of the last tenth, the longest, and the
bound that gatekeeperd(8) states for one. Last line: scale: N passed, N failed"""
import os
import select
import signal
import statistics
import subprocess
import sys
import time

from client import Client, check, daemon, opened

BENCHES, GRANTS = int(sys.argv[1]), int(sys.argv[2])
DISK, ROOTFS = os.environ["E2E_DISK"], os.environ["BENCHMON_ROOTFS"]
# gatekeeperd(8), SCALE: ms of one request, whatever there is already; bytes.
BOUNDS = {"create": 1000, "grant": 200, "revoke": 500, "destroy": 1500}
OF_LS = 2  # of one Bench
OF_SHOW = 1  # of one grant
OF_RESTART = 30  # of one Bench
OF_RESTART_GRANT = 0.3
RSS, RSS_BENCH, RSS_GRANT = 24 << 20, 6 << 10, 440
FDS, FDS_BENCH = 64, 12
# An emulated machine is 20 times as slow as one, and busy with others.
with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
    SLOW = 40 if "QEMU TCG" in cpuinfo.read() else 1
# What is the same for the first and for the last differs by no more than chance.
GROWTH = 2

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
    for number in range(1, GRANTS + 1):
        path = f"{DISK}/{bench}/{number}"
        fd = opened(path)
        timed("grant", grant, client, bench, path, number, fd)
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
    check([b["name"] for b in found] == [name(b) for b in range(1, BENCHES + 1)], "ls", found)
    check(all(b["state"] == "ready" and b["grant_count"] == GRANTS for b in found), "ls", found)
    print(f"       ls: {pages} messages", flush=True)
    for bench in range(1, BENCHES + 1, max(1, BENCHES // 10)):
        shown, _ = timed(
            "show", paged, client, "show", lambda r: r["bench"]["grants"], bench=name(bench)
        )
        check(len(shown) == GRANTS, "show", len(shown))
    out = subprocess.run(["benchmon", "ls"], stdout=subprocess.PIPE, check=True, text=True).stdout
    check(len(out.splitlines()) == BENCHES + 1, "lines of `benchmon ls`", out)
    check(max(map(len, out.splitlines())) <= 80, "width of `benchmon ls`", out)


def status(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise SystemExit(f"no {key}")


def memory(when):
    pid = daemon()
    rss = status(pid, "VmRSS") << 10
    bound = RSS + BENCHES * (RSS_BENCH + GRANTS * RSS_GRANT)
    verdict(rss <= bound, "rss", f"{rss >> 10:7} KiB {'':26} {bound >> 10:7} KiB  {when}")
    fds = len(os.listdir(f"/proc/{pid}/fd"))
    bound = FDS + BENCHES * FDS_BENCH
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
        **BOUNDS,
        "ls": OF_LS * BENCHES,
        "show": OF_SHOW * GRANTS,
        "restart": BENCHES * (OF_RESTART + OF_RESTART_GRANT * GRANTS),
    }
    print(f"{'':6} {'':8} {'count':>7} {'first':>10} {'last':>10} {'most':>10} {'bound':>10}")
    for what, times in spent.items():
        tenth = max(1, len(times) // 10)
        first, last = statistics.median(times[:tenth]), statistics.median(times[-tenth:])
        bound = of_one[what] * SLOW
        figures = [f"{ms:7.0f} ms" for ms in (first, last, max(times), bound)]
        grows = len(times) >= 10 and last > first * GROWTH
        # One of many may meet a moment of the machine's own.
        good = not grows and statistics.median(times) <= bound
        verdict(good, what, f"{len(times):7}", *figures, *(["it grows"] if grows else []))


def main():
    rootfs = opened(ROOTFS, os.O_RDONLY | os.O_DIRECTORY)
    with Client() as client:
        client.socket.settimeout(600)
        for bench in range(1, BENCHES + 1):
            create(client, rootfs, bench)
        looks(client)
    memory("granted")
    restart()
    memory("restarted")
    with Client() as client:
        client.socket.settimeout(600)
        looks(client)
        for bench in range(1, BENCHES + 1):
            timed("revoke", asked, client, "revoke", grant=f"{name(bench)}/{GRANTS}")
        for bench in range(1, BENCHES + 1):
            timed("destroy", asked, client, "destroy", bench=name(bench))
        check(benches(client)[0] == [], "destroyed")
    table()
    print(f"scale: {sum(verdicts)} passed, {len(verdicts) - sum(verdicts)} failed")
    raise SystemExit(not all(verdicts))


main()
