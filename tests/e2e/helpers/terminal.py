"""terminal.py ANSWER COMMAND...: runs it on a terminal of its own and exits as it does.

Where it asks "[y/N] " the answer is typed: "y", "n", "EOF" for ^D, "INT" for ^C; "y,n" answers the
second time otherwise than the first. With "FILE:ANSWER" the script FILE is run before. Prints the device of that terminal, and what appeared on it.
"""
import os
import select
import subprocess
import sys

KEYS = {"EOF": b"\x04", "INT": b"\x03"}
QUESTION = b"[y/N] "

script, _, answers = sys.argv[1].rpartition(":")
answers = answers.split(",")
master, slave = os.openpty()
number = os.fstat(slave).st_rdev
print(f"caller {os.major(number):x}:{os.minor(number):x}", flush=True)
pid = os.fork()
if pid == 0:
    os.close(master)
    os.login_tty(slave)
    os.execvp(sys.argv[2], sys.argv[2:])
os.close(slave)
said = b""
while select.select([master], [], [], 60)[0]:
    try:
        data = os.read(master, 4096)
    except OSError:
        break
    said += data
    if answers and said.endswith(QUESTION):
        answer = answers.pop(0)
        if script:
            subprocess.run(["bash", script], check=True)
        os.write(master, KEYS.get(answer, answer.encode() + b"\n"))
else:
    print("nothing more came within a minute")
    os.kill(pid, 9)
sys.stdout.write(said.decode(errors="replace").replace("\r\n", "\n"))
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
