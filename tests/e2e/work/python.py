"""What Python programs do with files, memory, processes and sockets."""
import asyncio
import ctypes
import fcntl
import mmap
import multiprocessing
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading

here = os.path.join(sys.argv[1], "python")
os.mkdir(here)
os.chdir(here)

with open("lines", "w") as out:
    out.writelines(f"{n}\n" for n in range(5000))
assert sum(map(int, open("lines"))) == 5000 * 4999 // 2

with open("mapped", "w+b") as file:
    file.truncate(8192)
    with mmap.mmap(file.fileno(), 0) as memory:
        memory[4096:4101] = b"hello"
        memory.flush()
    file.seek(4096)
    assert file.read(5) == b"hello"
    fcntl.lockf(file, fcntl.LOCK_EX)
    fcntl.flock(file, fcntl.LOCK_SH)

os.mkdir("tree")
shutil.copy2("lines", "tree/copy")
os.utime("tree/copy", (1, 1))
shutil.copytree("tree", "again")
os.replace("again/copy", "again/moved")
assert os.stat("again/moved").st_mtime == 1
os.sync()
shutil.make_archive("packed", "gztar", "tree")
shutil.unpack_archive("packed.tar.gz", "unpacked")
assert open("unpacked/copy").read() == open("lines").read()
with tempfile.TemporaryFile(dir=".") as file:
    file.write(b"x")

done = subprocess.run(["sort", "-n"], input="3\n1\n2\n", capture_output=True, text=True, check=True)
assert done.stdout == "1\n2\n3\n"
# Semaphores in /dev/shm, pipes, and processes forked.
with multiprocessing.Pool(2) as pool:
    assert pool.map(abs, range(-3, 0)) == [3, 2, 1]
shared = multiprocessing.Value("i", 0)


def add():
    with shared.get_lock():
        shared.value += 1


threads = [threading.Thread(target=add) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert shared.value == 4


async def talk():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        writer.close()

    for start, connect in (
            (lambda: asyncio.start_unix_server(answer, "socket"),
             lambda _: asyncio.open_unix_connection("socket")),
            (lambda: asyncio.start_server(answer, "127.0.0.1", 0),
             lambda address: asyncio.open_connection(*address))):
        server = await start()
        reader, writer = await connect(server.sockets[0].getsockname())
        writer.write(b"hello\n")
        assert await reader.read() == b"HELLO\n"
        writer.close()
        server.close()
    child = await asyncio.create_subprocess_exec("cat", "lines", stdout=subprocess.PIPE)
    assert (await child.communicate())[0] == open("lines", "rb").read()


asyncio.run(talk())
# A callback is code that libffi writes.
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 3)(3, 1, 2)
ctypes.CDLL(None).qsort(numbers, 3, 4, compare(lambda a, b: a[0] - b[0]))
assert list(numbers) == [1, 2, 3]
left, right = socket.socketpair()
socket.send_fds(left, [b"x"], [os.open("lines", os.O_RDONLY)])
assert os.read(socket.recv_fds(right, 1, 1)[1][0], 2) == b"0\n"
base = sqlite3.connect("base")
base.execute("create table t(n)")
base.commit()
base.close()
os.chdir("..")
shutil.rmtree(here)
print("computed")
