"""mirrors.py SITES: what repo.test, index.test, registry.test and forge.test have: each a "greeter"."""
import base64
import email.utils
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile

SITES = sys.argv[1]


def put(site, path, data):
    path = os.path.join(SITES, site, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def run(*argv, **more):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **more)


def deb(name, files, depends=""):
    """Its entry in Packages."""
    tree = os.path.join(SITES, "tree")
    control = (f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: test <test@repo.test>\n"
               f"{depends}Description: made for a test\n")
    put("tree", "DEBIAN/control", control)
    for path, (mode, text) in files.items():
        put("tree", path, text)
        os.chmod(os.path.join(tree, path), mode)
    pool = f"debian/pool/{name}_1.0_all.deb"
    put("repo.test", pool, "")
    built = os.path.join(SITES, "repo.test", pool)
    run("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, built)
    run("rm", "-r", tree)
    with open(built, "rb") as file:
        data = file.read()
    return (f"{control}Filename: {pool.removeprefix('debian/')}\nSize: {len(data)}\n"
            f"SHA256: {hashlib.sha256(data).hexdigest()}\n\n")


def apt():
    packages = deb("greeter", {"usr/bin/greeter": (0o755, "#!/bin/sh\ncat /usr/share/greeter/words\n")},
                   "Depends: greeter-words (>= 1)\n")
    packages += deb("greeter-words", {"usr/share/greeter/words": (0o644, "hello from apt\n")})
    put("repo.test", "debian/dists/stable/main/binary-amd64/Packages", packages)
    put("repo.test", "debian/dists/stable/Release",
        "Origin: test\nSuite: stable\nCodename: stable\nArchitectures: amd64\nComponents: main\n"
        f"Date: {email.utils.formatdate(usegmt=True)}\nSHA256:\n"
        f" {hashlib.sha256(packages.encode()).hexdigest()} {len(packages)} main/binary-amd64/Packages\n")


def pip():
    name = "greeter-1.0-py3-none-any.whl"
    files = {"greeter.py": b"print('hello from pip')\n",
             "greeter-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n",
             "greeter-1.0.dist-info/WHEEL":
                 b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files["greeter-1.0.dist-info/RECORD"] = (record + "greeter-1.0.dist-info/RECORD,,\n").encode()
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    put("index.test", f"files/{name}", wheel.getvalue())
    digest = hashlib.sha256(wheel.getvalue()).hexdigest()
    put("index.test", "simple/greeter/index.html",
        f'<!DOCTYPE html><html><body><a href="../../files/{name}#sha256={digest}">{name}</a></body></html>')


def npm():
    package = {"name": "greeter", "version": "1.0.0", "main": "index.js"}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in (("package.json", json.dumps(package)),
                           ("index.js", "console.log('hello from npm')\n")):
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    put("registry.test", "files/greeter-1.0.0.tgz", packed.getvalue())
    digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    package["dist"] = {"tarball": "https://registry.test/files/greeter-1.0.0.tgz",
                       "integrity": f"sha512-{digest}"}
    put("registry.test", "greeter", json.dumps({
        "name": "greeter", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": package}}))


def git():
    tree = os.path.join(SITES, "tree")
    put("tree", "words", "hello from git\n")
    environment = {**os.environ, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (("init", "-q", "-b", "main"), ("add", "words"),
                  ("-c", "user.name=test", "-c", "user.email=test@forge.test", "commit", "-qm", "words"),
                  ("config", "core.bare", "true")):
        run("git", "-C", tree, *words, env=environment)
    os.mkdir(os.path.join(SITES, "forge.test"))
    os.rename(os.path.join(tree, ".git"), os.path.join(SITES, "forge.test", "greeter.git"))
    run("rm", "-r", tree)


for make in (apt, pip, npm, git):
    make()
