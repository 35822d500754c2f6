"""A provider's SDK, as it streams: its base URL and key are in the environment. It says that it has heard a word before
the next one is said."""
import http.client
import json
import os

host = os.environ["MODEL_URL"].split("/")[2]
body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]})
headers = {"content-type": "application/json", "x-api-key": os.environ["MODEL_KEY"], "user-agent": "SDK/1",
           "accept-encoding": "gzip, deflate"}
connection = http.client.HTTPConnection(host, timeout=120)
connection.request("POST", "/v1/messages?beta=true", body, headers)
response = connection.getresponse()
print(response.status, response.headers["content-type"])
event = ""
while event != "message_stop":
    key, _, value = response.readline().decode().rstrip("\n").partition(": ")
    if key == "event":
        event = value
    elif key == "data" and event == "content_block_delta":
        print(json.loads(value)["delta"]["text"])
        other = http.client.HTTPConnection(host, timeout=120)
        other.request("POST", "/v1/go", "{}", headers)
        assert other.getresponse().read() == b"{}"
assert response.read() == b"data: {}\n\n"
print("ended")
