"""A terminal of its own for a program, and what is to be seen on it."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

SEQUENCE = re.compile(r"\x1b(\[[?>]?[0-9;]*[A-Za-z@`]|[()][0-9A-B]|[=>78MDEH]|[^\[()=>78MDEH])")


class Screen:
    """As much of xterm as ncurses uses of it; what it doesn't know is an error."""

    def __init__(self, rows, columns):
        self.stream = ""
        self.left = ""
        self.modes = {}
        self.coloured = self.wrapped = False
        self.cleared = 0
        self.row = self.column = 0
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]

    def line(self, row):
        return "".join(self.cells[row]).rstrip()

    def lines(self):
        return [self.line(row) for row in range(self.rows)]

    def put(self, character):
        # Where a line is full the next one would go on.
        if self.column >= self.columns:
            self.wrapped = True
            self.column = 0
            self.row = min(self.row + 1, self.rows - 1)
        self.cells[self.row][self.column] = character
        self.column += 1

    def control(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            if self.row == self.rows - 1:
                self.cells = self.cells[1:] + [[" "] * self.columns]
            else:
                self.row += 1
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character != "\x0f":
            raise SystemExit(f"a control character came: {character!r}")

    def blank(self, row, begin, end):
        for column in range(max(begin, 0), min(end, self.columns)):
            self.cells[row][column] = " "

    def erase(self, what):
        """Of the screen: 0 from here on, 1 up to here, 2 all of it."""
        if what == 2 or (what == 0 and self.row == self.column == 0):
            self.wrapped = False
            self.cleared += 1
        for row in range(self.rows):
            if what == 2 or (what == 0 and row > self.row) or (what == 1 and row < self.row):
                self.blank(row, 0, self.columns)
        self.erase_line(what)

    def erase_line(self, what):
        self.blank(self.row, 0 if what else self.column, self.columns if what != 1 else self.column + 1)

    def edit(self, final, count):
        cells = self.cells[self.row]
        if final == "X":
            self.blank(self.row, self.column, self.column + count)
        elif final == "P":
            self.cells[self.row] = cells[:self.column] + cells[self.column + count:] + [" "] * count
        elif final == "@":
            self.cells[self.row] = (cells[:self.column] + [" "] * count +
                                    cells[self.column:])[:self.columns]
        elif final == "b":
            for _ in range(count):
                self.put(cells[self.column - 1])
        else:
            return False
        return True

    def move(self, final, numbers):
        count = numbers[0] or 1
        if final in "Hf":
            self.row, self.column = count - 1, (numbers + [1])[1] - 1
        elif final == "d":
            self.row = count - 1
        elif final in "G`":
            self.column = count - 1
        elif final in "AB":
            self.row += count if final == "B" else -count
        elif final in "CD":
            self.column += count if final == "C" else -count
        else:
            return False
        self.row = min(max(self.row, 0), self.rows - 1)
        self.column = min(max(self.column, 0), self.columns - 1)
        return True

    def sequence(self, text):
        if not text.startswith("["):
            if text[0] not in "()=>78M":
                raise SystemExit(f"an unknown sequence came: {text!r}")
            return
        final, inner = text[-1], text[1:-1]
        if inner[:1] in ("?", ">"):
            for mode in inner[1:].split(";"):
                self.modes[mode] = final
            return
        numbers = [int(n or 0) for n in inner.split(";")]
        if final == "m":
            self.coloured |= any(30 <= n < 50 and n not in (39, 49) for n in numbers)
        elif final == "J":
            self.erase(numbers[0])
        elif final == "K":
            self.erase_line(numbers[0])
        elif final not in "rlht" and not self.move(final, numbers) and not self.edit(final,
                                                                                  numbers[0] or 1):
            raise SystemExit(f"an unknown sequence came: {text!r}")

    def take(self, text):
        self.stream += text
        text = self.left + text
        self.left = ""
        while text:
            if text[0] == "\x1b":
                found = SEQUENCE.match(text)
                if not found:
                    self.left = text
                    return
                self.sequence(found[1])
                text = text[found.end():]
                continue
            if text[0] < " ":
                self.control(text[0])
            else:
                self.put(text[0])
            text = text[1:]


class Terminal:
    """A program on it."""

    def __init__(self, *command, rows=24, columns=80, **environment):
        self.screen = Screen(rows, columns)
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        environment = {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", **environment}
        kept = {key: value for key, value in os.environ.items()
                if key not in ("NO_COLOR", "LINES", "COLUMNS")}
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.master)
            os.login_tty(self.slave)
            # Who was started in the background has it ignored, and so has all that it starts.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execvpe(command[0], command, {**kept, **environment})
        self.ended = None
        self.partial = b""

    def resize(self, rows, columns):
        """The kernel tells who has it."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)

    def read(self, seconds):
        """False: nothing came. The slave stays open here, so the end of the program is no end of it."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        data = self.partial + os.read(self.master, 65536)
        text = data.decode(errors="ignore")
        self.partial = data[len(text.encode()):] if len(data) - len(text.encode()) < 4 else b""
        self.screen.take(text)
        return True

    def until(self, what, condition, seconds=120):
        end = time.monotonic() + seconds
        while not condition(self.screen):
            self.read(0.1)
            if time.monotonic() > end:
                self.kill()
                raise SystemExit(f"never: {what}; it shows\n" + "\n".join(self.screen.lines()) +
                                 f"\n{self.screen.stream[-2000:]!r}")

    def end(self, seconds=120):
        """Its exit status, once all that it said has been read."""
        end = time.monotonic() + seconds
        while self.ended is None:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.ended = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                self.kill()
                raise SystemExit(f"it does not end; it shows\n" + "\n".join(self.screen.lines()))
        while self.read(0):
            pass
        return self.ended

    def restored(self):
        return termios.tcgetattr(self.slave) == self.before
