"""Cuts log-schema.json out of the OpenAPI schema that Inspect AI publishes of its types.

    python make_schema.py <inspect_ai>/src/inspect_ai/_view/inspect-openapi.json > log-schema.json

Made from commit 499e6152e7b8fc8cbd8ac5283536572aa6e4ab17 of UKGovernmentBEIS/inspect_ai (MIT, see NOTICE). Kept are the
types that an EvalLog without events reaches, without their descriptions and titles. Beyond what is published, objects
refuse members that they do not name, so that a misspelled one is found.
"""
import json
import sys

WITHOUT = {"events", "events_data", "timelines"}
REF = "#/components/schemas/"


def cut(node):
    """The same without words for people, references rewritten."""
    if isinstance(node, list):
        return [cut(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {key: cut(value) for key, value in node.items() if key not in ("description", "title", "default", "examples")}
    if "$ref" in kept:
        kept["$ref"] = kept["$ref"].replace(REF, "#/$defs/")
    kept.pop("discriminator", None)
    return kept


def definition(schema):
    """An object of named members."""
    properties = schema.get("properties", {})
    kept = cut({key: value for key, value in schema.items() if key != "properties"})
    if not properties:
        return kept
    members = {name: {"const": []} if name == "events" else cut(value) for name, value in properties.items() if name == "events" or name not in WITHOUT}
    return {**kept, "properties": members, "additionalProperties": False}


def names_in(node):
    if isinstance(node, list):
        return {name for each in node for name in names_in(each)}
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"].removeprefix("#/$defs/")} if "$ref" in node else set()
    return own | {name for value in node.values() for name in names_in(value)}


schemas = json.load(open(sys.argv[1]))["components"]["schemas"]
found, waiting = {}, ["EvalLog"]
while waiting:
    name = waiting.pop()
    if name not in found:
        found[name] = definition(schemas[name])
        waiting += sorted(names_in(found[name]))
lines = [f"{json.dumps(name)}: {json.dumps(schema)}" for name, schema in sorted(found.items())]
print('{"$schema": "https://json-schema.org/draft/2020-12/schema",\n"$ref": "#/$defs/EvalLog",\n"$defs": {')
print(",\n".join(lines))
print("}}")
