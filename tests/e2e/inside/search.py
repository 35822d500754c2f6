"""Looks for some texts, told as hexadecimal digits from behind, in all that a Bench can read: its files but those that
came with its image, and of each process memory, arguments, environment and what it has open."""
import os
import re
import sys

found = looked = 0
texts = [bytes.fromhex(text)[::-1] for text in sys.argv[1:]]
LONGEST = max(map(len, texts))


def look(name, data):
    global found, looked
    looked += 1
    for number, text in enumerate(texts):
        if text in data:
            found += 1
            print(f"text {number} is in {name}")


def file(name):
    try:
        with open(name, "rb") as opened:
            before = b""
            while data := opened.read(1 << 20):
                look(name, before + data)
                before = data[-LONGEST:]
    except OSError:
        pass


def memory(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for line in maps:
                start, end = (int(at, 16) for at in re.match("([0-9a-f]+)-([0-9a-f]+)", line).groups())
                # What is a file of the image is not looked at again.
                if line.split()[1][0] == "r" and "/usr/" not in line and end - start < 1 << 28:
                    try:
                        mem.seek(start)
                        look(f"memory of {pid}", mem.read(end - start))
                    except (OSError, OverflowError, ValueError):
                        pass
    except OSError:
        pass


for top in ("/etc", "/work", "/run", "/tmp", "/root", "/home", "/var", "/dev/shm", "/dev/mqueue", "/in", "/out"):
    for directory, inner, names in os.walk(top):
        # The image's.
        inner[:] = [name for name in inner if os.path.join(directory, name) not in ("/var/lib/dpkg", "/etc/ssl")]
        for name in names:
            path = os.path.join(directory, name)
            look(path, path.encode())
            if os.path.isfile(path):
                file(path)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "comm", "status", "auxv", "net/tcp", "net/unix", "mountinfo"):
        file(f"/proc/{pid}/{name}")
    for fd in os.listdir(f"/proc/{pid}/fd") if os.access(f"/proc/{pid}/fd", os.R_OK) else ():
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        look(f"descriptor of {pid}", target.encode())
        if os.path.isfile(target):
            file(f"/proc/{pid}/fd/{fd}")
    # We know it ourselves.
    if int(pid) != os.getpid():
        memory(pid)
for name in ("/proc/keys", "/proc/key-users", "/proc/net/tcp", "/proc/self/net/sockstat"):
    file(name)
print(f"looked at {looked}")
sys.exit(found > 0)
