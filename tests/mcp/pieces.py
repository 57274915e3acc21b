"""What the servers of the tests list and ask, over pipes and over HTTP alike."""

import json
from pathlib import Path

FORM = {
    "type": "object",
    "properties": {"target": {"type": "string", "enum": ["staging", "production"]}, "sure": {"type": "boolean"}},
    "required": ["target"],
}
SECRET = {"type": "object", "properties": {"password": {"type": "string"}}}


def tool(name, **more):
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **more}


def tools(mode, starts, cursor, calls=0):
    """A page of the list of tools of a server that was started, and called, so many times."""
    if mode.startswith("relisting"):
        return {"tools": [tool("echo"), *[tool(f"new{at}") for at in range(calls)]]}
    if mode == "large":
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return {"tools": [tool(f"t{at}", description="word " * 300, inputSchema=schema) for at in range(20)]}
    if mode == "endless":
        return {"tools": [tool(f"t{cursor or 0}")], "nextCursor": str(int(cursor or 0) + 1)}
    if mode == "empty cursor":
        return {"tools": [tool("echo")], "nextCursor": ""}
    if mode == "circle":
        return {"tools": [tool("echo") if cursor is None else tool(f"t{cursor}")], "nextCursor": "a" if cursor != "a" else "b"}
    if mode == "typeless":
        return {"tools": [tool("echo", inputSchema={"properties": {"n": {"type": "integer"}}})]}
    if mode == "odd":
        return {"tools": [tool("echo"), tool("bad", inputSchema={"type": "array"}), {"name": 7}]}
    if mode == "deep":
        schema = {"type": "object"}
        for _ in range(300):
            schema = {"type": "object", "properties": {"x": schema}}
        return {"tools": [tool("echo"), tool("deep", inputSchema=schema)]}
    if mode == "of others":
        lines = (Path(__file__).parent / "many/schemas.jsonl").read_text().splitlines()
        return {"tools": [tool(f"{it['server']}-{it['name']}", inputSchema=it["schema"]) for it in map(json.loads, lines)]}
    if mode == "one":
        return {"tools": [tool("echo")]}
    if mode == "changing":
        return {"tools": [tool("echo", description=f"Start {starts}.")]}
    return {"tools": [tool("echo"), tool("ask")]}


def text(words, **more):
    return {"resultType": "complete", "content": [{"type": "text", "text": words}], **more}


def form(schema):
    return {"message": "Where to?", "requestedSchema": schema}


def asked(schema, params):
    """A call of the newer protocol that asks first; nothing where the answers are there."""
    if "inputResponses" not in params:
        request = {"method": "elicitation/create", "params": form(schema)}
        return {"resultType": "input_required", "inputRequests": {"where": request}, "requestState": "s1"}
    if params.get("requestState") != "s1":
        return text("no state", isError=True)
    return None
