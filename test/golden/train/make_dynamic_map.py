"""Writes dynamic-map.json: the 8-bit values of bitsandbytes' create_dynamic_map, with a sign and without.

Run: python make_dynamic_map.py <checkout of github.com/bitsandbytes-foundation/bitsandbytes>/bitsandbytes/functional.py
"""
import ast
import json
import sys
from pathlib import Path

import torch

module = ast.parse(Path(sys.argv[1]).read_text())
function = next(node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "create_dynamic_map")
scope = {"torch": torch}
exec(compile(ast.Module([function], []), sys.argv[1], "exec"), scope)
create = scope["create_dynamic_map"]
maps = {name: [float(f"{value:.9g}") for value in create(signed=name == "signed").tolist()] for name in ("signed", "unsigned")}
Path(__file__).with_name("dynamic-map.json").write_text(json.dumps(maps) + "\n")
