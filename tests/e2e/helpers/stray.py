"""stray.py PID CGROUP: a process in the mount namespace of PID and in that cgroup, one thread of
which has a mount namespace of its own. Says so, and ends with its standard input."""
import ctypes
import os
import sys
import threading

CLONE_NEWNS = 0x20000

libc = ctypes.CDLL(None, use_errno=True)
ready = threading.Event()


def checked(value):
    if value < 0:
        sys.exit(os.strerror(ctypes.get_errno()))


def elsewhere():
    checked(libc.unshare(CLONE_NEWNS))
    ready.set()
    threading.Event().wait()


group = os.open(f"{sys.argv[2]}/cgroup.procs", os.O_WRONLY)
checked(libc.setns(os.open(f"/proc/{sys.argv[1]}/ns/mnt", os.O_RDONLY), CLONE_NEWNS))
threading.Thread(target=elsewhere, daemon=True).start()
ready.wait()
os.write(group, b"%d" % os.getpid())
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
