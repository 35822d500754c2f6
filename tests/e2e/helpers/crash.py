"""crash.py ROUNDS DIRECTORY SEED: kills gatekeeperd at some moment of what it was asked for.

A round asks for a Bench, a grant, a revocation or an end, and kills the daemon after the ledger has
grown by some lines and a while that differs from round to round, counted in turns of a loop. Then
benchmon starts another one, and all must agree (agree.py). Meanwhile others ask without end. Prints the
seed, and one line a round.
"""
import os
import random
import select
import signal
import subprocess
import sys

import pinned
from agree import agree, subset
from client import Client, check, daemon, opened
from ledger import LEDGER

ROUNDS, DIRECTORY, SEED = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
BENCH = "k1"


def restart():
    """As anybody does it who asks for something. Nobody else has started one."""
    done = subprocess.run(["benchmon", "ls", "--format", "json"], capture_output=True,
                          stdin=subprocess.DEVNULL, text=True, check=False)
    check(done.returncode == 0, f"benchmon ls: {done.stderr}")


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


def rotate(client):
    ask(client, "ledger-rotate")


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


def busy():
    """Load: somebody who asks without end, whoever is killed meanwhile. In a process of its own."""
    child = os.fork()
    if child:
        return child
    asks = random.Random(SEED)
    while os.getppid() != 1:
        try:
            with Client() as client:
                for _ in range(asks.randrange(1, 20)):
                    if not asks.choice([look, look, look, execute])(client):
                        break
        except OSError:
            os.sched_yield()
    os._exit(0)


def look(client):
    return ask(client, "ls") and ask(client, "show", bench=BENCH)


def execute(client):
    """Whatever runs in it then: it hangs up, and that ends it."""
    ends = os.pipe()
    ask(client, "exec", [ends[0], ends[1], ends[1]], bench=BENCH, argv=["true"])
    for end in ends:
        os.close(end)
    return False


def consistent(before):
    """After a start. Returns whether the Bench is there, and how many grants it has."""
    restart()
    shown = agree(before)
    return BENCH in shown, shown[BENCH]["grant_count"] if BENCH in shown else 0


def main():
    random.seed(SEED)
    print(f"seed {SEED}", flush=True)
    there, grants = consistent(pinned.authority())
    others = [busy() for _ in range(2)]
    try:
        rounds(there, grants)
    finally:
        for other in others:
            os.kill(other, signal.SIGKILL)
            os.waitpid(other, 0)


def rounds(there, grants):
    for number in range(ROUNDS):
        if not there:
            action = create
        elif number % 50 == 49:
            action = rotate
        elif number % 7 == 6:
            action = destroy
        elif grants > 2 or (grants and number % 3 == 2):
            action = revoke
        else:
            action = random.choice([grant_file, grant_net])
        lines = random.choice([0, 1, 1, 2]) if action is not create else random.choice([0, 1, 2, 3])
        turns = random.choice([0, 1000, 20000, 100000, 400000])
        pid = daemon()
        # One that is dying can't be taken hold of any more.
        end = os.pidfd_open(pid)
        with Client() as client:
            child = killer(pid, lines, turns)
            action(client)
            # It may have ended before the ledger had grown so far.
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(child, 0)
            select.select([end], [], [])
            os.close(end)
        allowed = pinned.authority()
        subset(allowed)
        print(f"{number}: {action.__name__}, killed after {lines} lines and {turns} turns",
              flush=True)
        there, grants = consistent(allowed)
        print(f"    then {'a Bench' if there else 'none'}, {grants} grants", flush=True)
    if there:
        with Client() as client:
            check(client.ask("destroy", bench=BENCH)["ok"], "not destroyed")
    check(not consistent(pinned.authority())[0], "there is still a Bench")


if __name__ == "__main__":
    main()
