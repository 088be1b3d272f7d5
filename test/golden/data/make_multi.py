"""Writes multi.parquet: rows laid out as MEM1's nq_hotpotqa_train_multi_2 and _8, whose targets are lists of lists.

Usage: make_multi.py OUT
"""

import sys

import pyarrow
import pyarrow.parquet


def row(index, questions, targets):
    asked = "; ".join(questions)
    content = f"You will answer multiple complex questions. Answer the following questions: {asked}\n"
    return {
        "data_source": f"nq_hotpotqa_train_multi_{len(questions)}",
        "prompt": [{"content": content, "role": "user"}],
        "ability": "fact-reasoning",
        "reward_model": {"ground_truth": {"target": targets}, "style": "rule"},
        "extra_info": {"index": index, "split": "train"},
    }


two = row(0, ["who wrote it?", "where is it?"], [["Ada", "A. B."], ["Rome"]])
eight = row(0, [f"what is {i}?" for i in range(8)], [[f"{i}a", f"{i}b", f"{i}c"] for i in range(8)])
pyarrow.parquet.write_table(pyarrow.Table.from_pylist([two, eight]), sys.argv[1])
