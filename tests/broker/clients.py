"""Programs as people have them, through the broker."""
import base64
import http.client
import json
import os
import subprocess
import tempfile
import threading

from cases import is_
from lab import NAME, SECRET, WAIT


def installed_(lab, name, port, **more):
    """A definition as it is installed, with the lab's upstream and CA."""
    repo = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(f"{repo}/profiles/brokers/{name}.json", encoding="utf-8") as file:
        made = json.load(file)
    if made["upstream"] != "setting":
        made["upstream"] = {"host": NAME, "port": port}
        return dict(made, ca=lab.directory + "/ca.pem"), more
    return dict(made, ca=lab.directory + "/ca.pem"), dict(more, upstream=f"{NAME}:{port}")


def program(*argv, env=None, **more):
    return subprocess.run(argv, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(env or {})}, timeout=60,
                          capture_output=True, check=False, **more)


def curl(lab):
    """GET, POST from a file with Expect, an upload in chunks, an error that can be read."""
    lab.upstream.serve["/v1/files"] = lambda handler: handler.answer(str(len(handler.body())).encode())
    broker = lab.broker()
    url = f"http://127.0.0.1:{broker.port}"
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x" * 3000000)
        file.flush()
        done = program("curl", "-sS", "--data-binary", "@" + file.name, url + "/v1/files")
        is_((done.stdout, done.stderr, done.returncode), (b"3000000", b"", 0))
        done = program("curl", "-sS", "-T", "-", url + "/v1/files", input=b"y" * 70000)
        is_((done.stdout, done.stderr), (b"70000", b""))
    done = program("curl", "-sS", "-I", url + "/v1/models/one")
    is_(done.stdout.startswith(b"HTTP/1.1 200"), True)
    done = program("curl", "-sS", "-w", "%{http_code}", "--path-as-is", url + "/v1/../etc/passwd")
    is_(json.loads(done.stdout[:-3])["error"]["rule"], "broker-path")
    done = program("curl", "-sS", "-x", url, f"https://{NAME}/v1/models/one")
    is_((done.returncode, b"405" in done.stderr), (56, True), done.stderr)
    done = program("curl", "-sS", "--http2-prior-knowledge", url + "/v1/models/one")
    is_(done.returncode != 0, True)


def backend(root, token):
    """git's own server, for who has the token."""
    def serve(handler):
        wanted = "Basic " + base64.b64encode(f"oauth2:{token}".encode()).decode()
        body = handler.body()
        if handler.headers.get("Authorization") != wanted:
            handler.answer(b"no", 401, www_authenticate="Basic realm=git")
            return
        path, _, query = handler.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": handler.command, "REMOTE_ADDR": "127.0.0.1",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            "CONTENT_TYPE": handler.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": handler.headers.get("Git-Protocol", "")}
        said = subprocess.run(["git", "http-backend"], input=body, env=environment, check=True,
                              stdout=subprocess.PIPE).stdout
        head, _, rest = said.partition(b"\r\n\r\n")
        lines = dict(line.decode().partition(": ")[::2] for line in head.split(b"\r\n"))
        handler.answer(rest, int(lines.pop("Status", "200")[:3]), **{key.replace("-", "_"): v for key, v in lines.items()})
    return serve


def git(lab):
    """A clone and a fetch from a host that wants a token, by the URL that people know; no push."""
    made, more = installed_(lab, "forge", lab.upstream.port)
    with tempfile.TemporaryDirectory() as root:
        work, bare = root + "/work", root + "/org/tool.git"
        identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a.test", "GIT_COMMITTER_NAME": "a",
                    "GIT_COMMITTER_EMAIL": "a@a.test", "GIT_CONFIG_NOSYSTEM": "1"}
        for argv in (["init", "-q", "-b", "main", work], ["-C", work, "commit", "-q", "--allow-empty", "-m", "first"],
                     ["clone", "-q", "--bare", work, bare]):
            done = program("git", *argv, env=identity)
            is_(done.returncode, 0, done.stderr)
        for path in ("info/refs", "git-upload-pack", "git-receive-pack"):
            lab.upstream.serve["/org/tool.git/" + path] = backend(root, SECRET)
        broker = lab.broker(made=made, **more)
        url, upstream = f"http://127.0.0.1:{broker.port}", f"https://{NAME}:{lab.upstream.port}"
        fill = {"{url}": url, "{upstream}": upstream}
        for key, value in made["environment"].items():
            for what, by in fill.items():
                value = value.replace(what, by)
            identity[key] = value
        identity.update({"GIT_TERMINAL_PROMPT": "0"})
        done = program("git", "clone", "-q", upstream + "/org/tool.git", root + "/clone", env=identity)
        is_((done.returncode, done.stderr), (0, b""))
        done = program("git", "-C", root + "/clone", "log", "--format=%s", env=identity)
        is_(done.stdout, b"first\n")
        is_(program("git", "-C", root + "/clone", "fetch", "-q", env=identity).returncode, 0)
        done = program("git", "-C", root + "/clone", "push", "-q", "origin", "main:other", env=identity)
        is_((done.returncode, b"403" in done.stderr), (128, True), done.stderr)
        found = program("grep", "-r", "-F", "-l", "-e", SECRET, "-e", base64.b64encode(b"oauth2:" + SECRET.encode()).decode(),
                        root + "/clone")
        is_((found.returncode, found.stdout), (1, b""))


def messages_sdk(lab):
    """As a provider's SDK does it: base URL and key from the environment, its headers, events that it parses as they
    come, an error that it shows."""
    made, more = installed_(lab, "anthropic", lab.upstream.port)
    words = ["Hello", ", ", "world"]
    go = threading.Semaphore(0)

    def serve(handler):
        asked = json.loads(handler.body())
        is_((asked["stream"], handler.headers["X-Api-Key"]), (True, SECRET))
        handler.begin(content_type="text/event-stream; charset=utf-8", request_id="req_1")
        handler.chunk(b'event: message_start\ndata: {"type":"message_start"}\n\n')
        for word in words:
            go.acquire(timeout=WAIT)
            event = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": word}}
            handler.chunk(b"event: content_block_delta\ndata: " + json.dumps(event).encode() + b"\n\n")
        handler.chunk(b'event: message_stop\ndata: {"type":"message_stop"}\n\n')
        handler.chunk(b"")
    lab.upstream.serve["/v1/messages"] = serve
    broker = lab.broker(made=made, **more)
    environment = {key: value.replace("{url}", f"http://127.0.0.1:{broker.port}")
                   for key, value in made["environment"].items()}
    host = environment["ANTHROPIC_BASE_URL"].partition("//")[2]
    connection = http.client.HTTPConnection(host, timeout=WAIT)
    body = json.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]})
    connection.request("POST", "/v1/messages?beta=true", body, {
        "accept": "application/json", "anthropic-version": "2023-06-01", "content-type": "application/json",
        "user-agent": "SDK/1", "x-api-key": environment["ANTHROPIC_API_KEY"], "x-stainless-lang": "py",
        "x-stainless-retry-count": "0", "Accept-Encoding": "gzip, deflate, br"})
    response = connection.getresponse()
    is_((response.status, response.headers["request-id"]), (200, "req_1"))
    text, event, ends = [], None, False
    while not ends:
        line = response.readline().decode().rstrip("\n")
        key, _, value = line.partition(": ")
        if key == "event":
            event = value
        elif key == "data" and event == "content_block_delta":
            text.append(json.loads(value)["delta"]["text"])
        ends = event == "message_stop"
        # The next word is said when this one has been heard.
        if key == "data":
            go.release()
    is_(text, words)
    is_(dict(lab.upstream.asked[-1][2]).get("x-stainless-lang"), "py")
    connection.close()
    connection.request("POST", "/v1/complete", body, {"content-type": "application/json"})
    is_(json.load(connection.getresponse())["error"]["rule"], "broker-route")
