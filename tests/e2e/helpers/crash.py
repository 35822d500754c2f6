"""crash.py ROUNDS DIRECTORY SEED: kills gatekeeperd at some moment of what it was asked for.

A round asks for a Bench, a grant, a revocation or an end, and kills the daemon after the ledger has
grown by some lines and a while that differs from round to round, counted in turns of a loop. Then
benchmon starts another one, and all must be consistent: what `ls` shows, what the ledger says, what
the kernel holds, what is mounted in the Bench. Prints one line a round.
"""
import glob
import json
import os
import random
import signal
import subprocess
import sys

from client import Client, check, daemon, opened
from ledger import LEDGER, verify

ROUNDS, DIRECTORY, SEED = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
BENCH = "k1"


def restart():
    """As anybody does it who asks for something. Nobody else has started one."""
    done = subprocess.run(["benchmon", "ls", "--format", "json"], capture_output=True,
                          stdin=subprocess.DEVNULL, text=True, check=False)
    check(done.returncode == 0, f"benchmon ls: {done.stderr}")
    return {bench["name"]: bench for bench in json.loads(done.stdout)["benches"]}


def ask(client, op, fds=(), **keys):
    """Nobody answers who was killed meanwhile."""
    try:
        return client.ask(op, fds, **keys) or {}
    except (OSError, ValueError):
        return {}


def create(client):
    ask(client, "create", [opened(os.environ["BENCHMON_ROOTFS"])], bench=BENCH)


def grant_file(client):
    rights = random.choice(["ro", "rw"])
    name = f"{DIRECTORY}/g{random.randrange(1000)}"
    os.makedirs(name, exist_ok=True)
    reply = ask(client, "grant", [opened(name)], bench=BENCH, kind="file", source=name,
                rights=rights, idmap=True, dest=f"/in/{os.path.basename(name)}")
    if "confirm" in reply:
        ask(client, "confirm", token=reply["confirm"]["token"], how="yes")


def grant_net(client):
    reply = ask(client, "grant", bench=BENCH, kind="net",
                destination=f"198.51.100.10:{random.randrange(1, 65535)}")
    if "confirm" in reply:
        ask(client, "confirm", token=reply["confirm"]["token"], how="yes")


def revoke(client):
    ask(client, "revoke", bench=BENCH, all=True)


def destroy(client):
    ask(client, "destroy", bench=BENCH)


def killer(pid, lines, turns):
    """Watches the ledger grow, then counts turns and kills. In a process of its own."""
    child = os.fork()
    if child:
        return child
    start = os.stat(LEDGER).st_size
    end = start
    while lines:
        size = os.stat(LEDGER).st_size
        if size != end:
            end = size
            lines -= 1
        if not os.path.exists(f"/proc/{pid}") or os.getppid() == 1:
            os._exit(0)
    for _ in range(turns):
        pass
    try:
        os.kill(pid, signal.SIGKILL)
    finally:
        os._exit(0)


def mounts_of(pid):
    with open(f"/proc/{pid}/mounts", encoding="utf-8") as file:
        return {line.split()[1] for line in file if line.split()[1].startswith("/in/")}


def consistent():
    """After a start. Returns whether the Bench is there, and how many grants it has."""
    shown = restart()
    said = verify()
    check(sorted(name for name, _ in said.values()) == sorted(shown),
          f"ledger: {said}, ls: {list(shown)}")
    place = "/sys/fs/cgroup/benchmon"
    for where in (place, "/run/benchmon/benches", "/var/lib/benchmon/benches",
                  "/sys/fs/bpf/benchmon/benches"):
        there = glob.glob(f"{where}/*/")
        check(len(there) == len(shown), f"{where} has {there}, ls {list(shown)}")
    if BENCH not in shown:
        return False, 0
    with Client() as client:
        bench = client.ask("show", bench=BENCH)["bench"]
    check(bench["state"] == "ready", "adopted half-made", bench)
    wanted = {grant["dest"] for grant in bench["grants"] if grant["kind"] == "file"}
    check(mounts_of(bench["pid"]) == wanted,
          f"mounted: {mounts_of(bench['pid'])}, granted: {wanted}")
    link = any(grant["kind"] == "net" for grant in bench["grants"])
    check(os.path.exists(f"/sys/class/net/bm{bench['id']}") == link, "the link", bench)
    return True, len(bench["grants"])


def main():
    random.seed(SEED)
    there, grants = consistent()
    for number in range(ROUNDS):
        if not there:
            action = create
        elif number % 7 == 6:
            action = destroy
        elif grants > 2 or (grants and number % 3 == 2):
            action = revoke
        else:
            action = random.choice([grant_file, grant_net])
        lines = random.choice([0, 1, 1, 2]) if action is not create else random.choice([0, 1, 2, 3])
        turns = random.choice([0, 1000, 20000, 100000, 400000])
        pid = daemon()
        with Client() as client:
            child = killer(pid, lines, turns)
            action(client)
            # It may have ended before the ledger had grown so far.
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(child, 0)
        print(f"{number}: {action.__name__}, killed after {lines} lines and {turns} turns",
              flush=True)
        there, grants = consistent()
        print(f"    then {'a Bench' if there else 'none'}, {grants} grants", flush=True)
    if there:
        with Client() as client:
            check(client.ask("destroy", bench=BENCH)["ok"], "not destroyed")
    check(not consistent()[0], "there is still a Bench")


if __name__ == "__main__":
    main()
