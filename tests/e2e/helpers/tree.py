"""tree.py DIR...: one line for each file in them: type, mode, owner, size or device, time, xattrs, sum.

A time is told where somebody set it: long ago. What names an inode (origin) is told as being there.
"""
import os
import stat
import sys
import zlib

TYPES = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFIFO: "p", stat.S_IFSOCK: "s",
         stat.S_IFCHR: "c", stat.S_IFBLK: "b"}
LONG_AGO = 1000000001


def attributes(path):
    found = []
    for name in sorted(os.listxattr(path, follow_symlinks=False)):
        value = os.getxattr(path, name, follow_symlinks=False)
        found.append(f"{name}=" + ("..." if name == "trusted.overlay.origin" else value.hex()))
    return found


def content(path, status):
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        return ["to", os.readlink(path)]
    if kind in (stat.S_IFCHR, stat.S_IFBLK):
        return [f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"]
    if kind == stat.S_IFREG:
        with open(path, "rb") as file:
            return [f"{status.st_size} bytes, {status.st_nlink} links, {zlib.crc32(file.read()):08x}"]
    return []


def line(path, name):
    status = os.lstat(path)
    words = [name, TYPES[stat.S_IFMT(status.st_mode)], f"{stat.S_IMODE(status.st_mode):o}",
             f"{status.st_uid}:{status.st_gid}", *content(path, status)]
    if status.st_mtime < LONG_AGO and stat.S_IFMT(status.st_mode) in (stat.S_IFREG, stat.S_IFDIR):
        words.append(f"at {status.st_mtime_ns}")
    print(*words, *attributes(path))


for top in sys.argv[1:]:
    for directory, directories, files in os.walk(top):
        directories.sort()
        line(directory, os.path.relpath(directory, top))
        for entry in sorted(files + [d for d in directories
                                     if os.path.islink(os.path.join(directory, d))]):
            entry = os.path.join(directory, entry)
            line(entry, os.path.relpath(entry, top))
