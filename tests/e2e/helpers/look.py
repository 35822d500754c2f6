"""look.py fake: what ls, show and top make of a daemon that says whatever it likes.
look.py top BENCH SERVER: top of a Bench that is denied something, while the daemon is started anew.

Each on a terminal of its own, and what is to be seen on it.
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from screen import Terminal

EVIL = "e\x1b]0;owned\x07\x1b[2J\u202e\u200b\x9b31m\n\r" + "x" * 300


def check(holds, what):
    if not holds:
        raise SystemExit(what)


class Fake:
    """One that answers ls and show as it is told."""

    def __init__(self, path, benches):
        self.path = path
        self.benches = benches
        self.looks = 0
        self.server = None
        self.start()

    def start(self):
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(self.path)
        self.server.listen(64)
        threading.Thread(target=self.accept, args=(self.server,), daemon=True).start()

    def stop(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        os.unlink(self.path)

    def accept(self, server):
        while True:
            try:
                client = server.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            while asked := client.recv(1 << 20):
                asked = json.loads(asked)
                reply = {"v": asked["v"], "ok": True}
                if asked["op"] == "ls":
                    self.looks += 1
                    reply["benches"] = self.benches
                elif asked["op"] == "show":
                    reply["bench"] = {**self.benches[0], "grants": self.benches[0].get("all", [])}
                client.send(json.dumps(reply).encode())


def bench(name, number, **more):
    return {"name": name, "id": number, "state": "ready", "owner": os.geteuid(), "origin": "created",
            "created": "2024-01-01T00:00:00.000000000Z", "grant_count": 2, "denied": 0, "lost": 0,
            "egress_bytes": 0, **more}


def cell(screen, name, column):
    """Of a Bench's row; "": it is not there, or half of it."""
    found = [line.split() for line in screen.lines() if line.startswith(name)]
    return found[0][column] if found and len(found[0]) > abs(column) else ""


def fits(screen):
    check(not screen.wrapped, "a line goes on in the next:\n" + "\n".join(screen.lines()))


def restored(terminal, status=0):
    check(terminal.end() == status, f"it ends with {terminal.ended}")
    check(terminal.restored(), "the terminal is not as it was")
    check(terminal.screen.modes.get("1049") == "l", "what was on the terminal is not back")
    check(terminal.screen.modes.get("25") == "h", "there is no cursor")


def top_draws(fake, columns, rows, **environment):
    plain = "NO_COLOR" in environment
    terminal = Terminal("benchmon", "top", rows=rows, columns=columns, **environment)
    terminal.until("each Bench is there", lambda s: cell(s, "quiet", 1) and cell(s, "loud", 1))
    looks = fake.looks
    fake.benches[1]["denied"] += 500
    fake.benches[1]["egress_bytes"] += 1 << 20
    terminal.until("its rate is there", lambda s: cell(s, "loud", 4) not in ("", "0"))
    check(cell(terminal.screen, "quiet", 4) == "0", "one is denied what another is")
    check(cell(terminal.screen, "loud", 3) == str(fake.benches[1]["denied"]), "not the count")
    if columns >= 64:
        check(cell(terminal.screen, "loud", 6) != "0", "no bytes a second")
    terminal.until("it is over", lambda s: cell(s, "loud", 4) == "0" and fake.looks > looks + 2)
    if columns >= 80:
        bars = terminal.screen.lines()[3][66:]
        check(cell(terminal.screen, "loud", -1) in "▁▂▃▄▅▆▇█" if environment.get("LC_ALL") != "C"
              else re.search(r"[.:=+*#@-]", bars), f"no bars: {bars!r}")
    fits(terminal.screen)
    check(terminal.screen.coloured != plain, "coloured" if plain else "without a colour")
    check("e\\x1b]0;owned" in "\n".join(terminal.screen.lines()), "the odd name is not there")
    terminal.type("q")
    restored(terminal)


def top_goes_on(fake):
    terminal = Terminal("benchmon", "top")
    terminal.until("it is there", lambda s: cell(s, "loud", 1))
    for rows, columns in ((10, 40), (50, 132), (3, 20), (24, 80)):
        terminal.screen.resize(rows, columns)
        terminal.resize(rows, columns)
        filled = lambda s: s.line(0).startswith("benchmon") and (s.rows < 5 or
                                                                 s.line(s.rows - 1).startswith("q quits"))
        terminal.until(f"it fills {rows} rows", filled)
        # What was on its way was of the size before.
        cleared = terminal.screen.cleared
        terminal.type("\x0c")
        terminal.until("it is drawn anew", lambda s: s.cleared > cleared and filled(s))
        fits(terminal.screen)
    terminal.type("s")
    terminal.until("another order", lambda s: "by egress" in s.line(23))
    fake.stop()
    terminal.until("it says so", lambda s: "not running" in s.line(1))
    check(cell(terminal.screen, "loud", 1), "what there was is gone")
    fake.start()
    terminal.until("there is one again", lambda s: not s.line(1))
    # The next Bench that is called so is another.
    fake.benches[1] = bench("loud", 77, denied=3)
    terminal.until("it is that one", lambda s: cell(s, "loud", 3) == "3")
    check(cell(terminal.screen, "loud", 4) == "0", "the other's counter is not its own")
    fake.benches.extend(bench(f"more{n}", 100 + n) for n in range(40))
    terminal.until("all that fit", lambda s: "more than fit" in s.line(23))
    del fake.benches[3:]
    terminal.kill(signal.SIGTERM)
    restored(terminal)
    terminal = Terminal("benchmon", "top")
    terminal.until("it is there", lambda s: cell(s, "loud", 1))
    terminal.type("\x03")
    restored(terminal)


def one_table(fake):
    """Where nothing can be drawn, and where nobody looks."""
    for words, environment in ((["top"], {"TERM": "dumb"}), (["top", "--once"], {})):
        terminal = Terminal("benchmon", *words, **environment)
        check(terminal.end() == 0, f"{words} ends with {terminal.ended}")
        check("BENCH" in terminal.screen.stream and "loud" in terminal.screen.stream, "no table")
        check(terminal.screen.coloured != ("TERM" in environment), "its colours")
        check("1049" not in terminal.screen.modes, "it took the screen")
    said = subprocess.run(["benchmon", "top"], capture_output=True, text=True, check=True).stdout
    check("\x1b" not in said and said.startswith("BENCH"), f"not plain: {said!r}")
    looked = threading.Timer(0.3, lambda: fake.benches[1].update(denied=fake.benches[1]["denied"] + 9))
    looked.start()
    said = subprocess.run(["benchmon", "top", "--format", "json"], capture_output=True, text=True,
                          check=True).stdout
    looked.join()
    loud = json.loads(said)["benches"][0]
    check(loud["name"] == "loud" and loud["denied_per_second"] > 0 and
          set(loud) == {"name", "id", "state", "grant_count", "denied", "denied_per_second",
                        "egress_bytes", "egress_bytes_per_second"}, f"not it: {loud}")


def colours(*words):
    """Coloured on a terminal alone; whatever is said, nothing of it reaches the terminal as it is."""
    texts = []
    for environment, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False),
                                ({"NO_COLOR": ""}, True)):
        terminal = Terminal("benchmon", *words, columns=400, rows=60, **environment)
        check(terminal.end() == 0, f"{words} ends with {terminal.ended}")
        check(terminal.screen.coloured == wanted, f"{words} with {environment}: colours")
        texts.append(re.sub(r"\x1b\[[0-9;]*m", "", terminal.screen.stream).replace("\r\n", "\n"))
    said = subprocess.run(["benchmon", *words], capture_output=True, text=True, check=True).stdout
    check("\x1b" not in said, f"{words}: coloured in a pipe")
    check(all(text == said for text in texts), f"{words}: more than the colours differs")
    return said


def aligned(said):
    """Each column begins, or ends, where its title does."""
    lines = said.splitlines()
    state = lines[0].index("STATE")
    check(all(line[state - 2:state] == "  " and line[state] != " " for line in lines[1:]),
          f"not aligned:\n{said}")
    denied = lines[0].index("DENIED") + len("DENIED")
    check(all(line[denied - 1].isdigit() and line[denied] == " " for line in lines[1:]),
          f"not aligned:\n{said}")


def fake_daemon():
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/socket"
        os.environ["BENCHMON_SOCKET"] = path
        fake = Fake(path, [bench("quiet", 1), bench("loud", 2, denied=1000), bench(EVIL, 3)])
        top_draws(fake, 80, 24)
        top_draws(fake, 80, 24, NO_COLOR="1")
        top_draws(fake, 80, 24, LC_ALL="C")
        top_draws(fake, 200, 60, TERM="xterm")
        top_goes_on(fake)
        one_table(fake)
        fake.benches[:] = [bench("b1", 1, denied=7), bench("frozen", 2, state="frozen"),
                           bench("b3", 3, denied=12345678), bench(EVIL[:20], 4)]
        aligned(colours("ls"))
        fake.benches[0]["all"] = [
            {"id": "b1/1", "kind": "file", "rights": "ro", "source": "/a\x1b[31m", "dest": "/in/a"},
            {"id": "b1/2", "kind": "net", "profile": "apt", "hosts": []}]
        said = colours("show", "b1")
        check("b1/1    file  ro  /a\\x1b[31m -> /in/a" in said and "b1/2    net       apt" in said,
              f"not aligned:\n{said}")
        fake.stop()


def real(name, server):
    terminal = Terminal("benchmon", "top")
    terminal.until("it is there", lambda s: cell(s, name, 1) and cell(s, name, 1) == "ready")
    script = f"while :; do (cat </dev/tcp/{server}/8081); sleep 0.1; done"
    with subprocess.Popen(["benchmon", "exec", name, "--", "bash", "-c", script],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as loud:
        terminal.until("its rate", lambda s: cell(s, name, 4) not in ("", "0"))
        for pid in subprocess.run(["pgrep", "-x", "gatekeeperd"], capture_output=True, text=True,
                                  check=True).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        terminal.until("the daemon is gone", lambda s: "not running" in s.line(1))
        subprocess.run(["benchmon", "ls"], stdout=subprocess.DEVNULL, check=True)
        terminal.until("it is there again", lambda s: not s.line(1) and cell(s, name, 1))
        loud.kill()
    fits(terminal.screen)
    terminal.type("q")
    restored(terminal)


if sys.argv[1] == "fake":
    fake_daemon()
else:
    real(sys.argv[2], sys.argv[3])
