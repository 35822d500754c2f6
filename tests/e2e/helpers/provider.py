"""What a provider of models answers to an agent that is to edit a file of its project: that it be read, then edited, then
a word; each as a stream of events. What is to be done stands in the prompt: `In FILE, WORD becomes WORD`.

provider.py DIRECTORY ADDRESS TOKEN: the same as a program, with TLS for NAME of tests/broker/lab.py; prints "ready"."""
import json
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../broker"))

# pylint: disable=wrong-import-position
import lab

TASK = re.compile(r"In (/[^\s,\"\\]+), ([a-z]+) becomes ([a-z]+)")


def events(handler, parts, names=True):
    handler.begin(content_type="text/event-stream; charset=utf-8", request_id="req_1")
    for part in parts:
        name = f"event: {part['type']}\n" if names else ""
        handler.chunk(f"{name}data: {json.dumps(part)}\n\n".encode())
    handler.chunk(b"")


def pieces(text):
    """A few at a time, as a model writes."""
    return [text[at:at + 7] for at in range(0, len(text), 7)]


# Anthropic's messages.

def message(block, text, stop):
    delta = "input_json_delta" if block["type"] == "tool_use" else "text_delta"
    key = "partial_json" if block["type"] == "tool_use" else "text"
    yield {"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    for piece in pieces(text):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": delta, key: piece}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def messages(handler):
    asked = json.loads(handler.body())
    if not authorized(handler, handler.headers["X-Api-Key"]):
        return
    task = TASK.search(json.dumps(asked["messages"]))
    results = [block for said in asked["messages"] if isinstance(said["content"], list)
               for block in said["content"] if block["type"] == "tool_result"]
    tools = {tool["name"] for tool in asked.get("tools", ())}
    steps, done = [], "It is done."
    if task and {"Read", "Edit"} <= tools:
        path, old, new = task.groups()
        steps = [("Read", {"file_path": path}), ("Edit", {"file_path": path, "old_string": old, "new_string": new})]
        # What has changed since is to be read again.
        steps *= 3
        if results and len(results) % 2 == 0:
            failed = results[-1].get("is_error")
            done = f"It failed: {results[-1]['content']}" if failed else done
            steps = steps if failed else []
    if len(results) < len(steps):
        name, arguments = steps[len(results)]
        block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": name, "input": {}}
        parts = list(message(block, json.dumps(arguments), "tool_use"))
    else:
        parts = list(message({"type": "text", "text": ""}, done, "end_turn"))
    if asked.get("stream"):
        events(handler, parts)
    else:
        whole = dict(parts[0]["message"], content=[{"type": "text", "text": "It is done."}], stop_reason="end_turn")
        handler.answer(json.dumps(whole).encode(), content_type="application/json")


def count(handler):
    handler.body()
    handler.answer(b'{"input_tokens":1}', content_type="application/json")


# OpenAI's responses.

def responses(handler):
    asked = json.loads(handler.body())
    if not authorized(handler, handler.headers["Authorization"].removeprefix("Bearer ")):
        return
    task = TASK.search(json.dumps(asked["input"]))
    results = sum(item.get("type", "").endswith("_call_output") for item in asked["input"])
    tools = {tool.get("name") for tool in asked.get("tools", ())}
    steps = ()
    if task:
        path, old, new = task.groups()
        steps = (f"cat {path}", f"sed -i s/{old}/{new}/ {path}")
    if results < len(steps):
        if "exec_command" in tools:
            name, arguments = "exec_command", {"cmd": steps[results]}
        else:
            name, arguments = "shell", {"command": ["sh", "-c", steps[results]]}
        item = {"type": "function_call", "id": f"fc_{results}", "call_id": f"call_{results}", "name": name,
                "arguments": json.dumps(arguments)}
        deltas = [{"type": "response.function_call_arguments.delta", "item_id": item["id"], "output_index": 0,
                   "delta": piece} for piece in pieces(item["arguments"])]
    else:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "It is done.", "annotations": []}]}
        deltas = [{"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0,
                   "delta": piece} for piece in pieces("It is done.")]
    usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
    events(handler, [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item}, *deltas,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [item], "usage": usage}}])


TOKEN = [""]


def authorized(handler, token):
    if token != TOKEN[0]:
        handler.answer(b'{"error":{"message":"no such key"}}', 401, content_type="application/json")
    return token == TOKEN[0]


SERVE = {"/v1/messages": messages, "/v1/messages/count_tokens": count, "/v1/responses": responses}


def main(directory, address, token):
    TOKEN[0] = token
    lab.certificates(directory)
    upstream = lab.Upstream(directory, at=(address, 443))
    upstream.serve.update(SERVE)
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
