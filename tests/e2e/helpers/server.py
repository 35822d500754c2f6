"""server.py REQUESTS ANSWERS: runs the other helpers, each in a fork of this process.

Starting Python takes ten times as long in an emulated machine. A request is a line of words with tabs
between them and CODED characters in them; its number comes back with the answer:

    NUMBER run HELPER OUT ERR ARGUMENT...    runs it with these files, answers its exit status
    NUMBER state FILE PID                    writes there what machine.py finds
"""
import os
import runpy
import sys
import traceback

import client  # noqa: F401  what the helpers import is there before they are forked
import machine

CODED = {0x1E: "\n", 0x1F: "\t"}
HELPERS = os.path.dirname(os.path.abspath(__file__))


def run(name, out, err, *arguments):
    for path, fd in ((os.devnull, 0), (out, 1), (err, 2)):
        flags = os.O_RDWR if fd == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, fd)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(fd, mode, closefd=False)
                                         for fd, mode in ((0, "r"), (1, "w"), (2, "w")))
    sys.argv = [name, *arguments]
    try:
        runpy.run_path(f"{HELPERS}/{name}.py", run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    return 0


def child(arguments):
    status = 1
    try:
        os.closerange(3, 64)
        status = run(*arguments)
    except BaseException:  # as the interpreter would, whatever it is
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main():
    with open(sys.argv[1], encoding="utf-8", errors="surrogateescape") as requests, \
            open(sys.argv[2], "w", encoding="utf-8") as answers:
        for line in requests:
            words = line.rstrip("\n").split("\t")
            number, what, *arguments = (word.translate(CODED) for word in words)
            status = 0
            if what == "state":
                machine.write_state(*arguments)
            else:
                pid = os.fork()
                if pid == 0:
                    child(arguments)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            print(number, status & 255, file=answers, flush=True)


main()
