"""learns.py ID: somebody writes into the kernel's table that the Bench with that id learns."""
import os
import struct
import sys

import pinned

FLAGS = 16  # in struct bm_bench
LEARN = 512

for key, value in pinned.entries("benches"):
    if struct.unpack("=I", value[:4])[0] != int(sys.argv[1]):
        continue
    flags = struct.unpack_from("=I", value, FLAGS)[0]
    changed = bytearray(value)
    struct.pack_into("=I", changed, FLAGS, flags | LEARN)
    fd = pinned.obj_get(f"{pinned.MAPS}/benches")
    pinned.update(fd, key, bytes(changed))
    os.close(fd)
    break
else:
    sys.exit("there is no such Bench")
