"""Writes prompts.json: the prompt layouts of RAG-R1's training data, around a question of our own.

Usage: prompts.py DATA OUT, where DATA/qa/rag-r1 holds the published parquet files.
"""

import json
import pathlib
import sys

import pyarrow.parquet

data, out = pathlib.Path(sys.argv[1]) / "qa" / "rag-r1", sys.argv[2]
question = "Which river runs through Ironroad?"
prompts = {}
for mode, name in (("single", "hotpotqa_train_filter"), ("multi", "hotpotqa_train_filter_mq")):
    row = pyarrow.parquet.read_table(data / name / "test.parquet").slice(0, 1).to_pylist()[0]
    prompts[mode] = row["prompt"][0]["content"].replace(row["question"].strip(), question)
pathlib.Path(out).write_text(json.dumps({"question": question, "prompts": prompts}, indent=1) + "\n")
