"""Writes verl.parquet: rows in the columns of Search-R1's training data, as Arrow (verl's own writer) lays them out.

Usage: make_verl.py OUT
"""

import sys

import pyarrow
import pyarrow.parquet

answers = [["Ada", "A. B."], ["Où ça"], ["1902"], ["a", "b", "c"]]
rows = [
    {
        "id": f"train_{i}",
        "question": f"Question {i}?",
        "golden_answers": texts,
        "data_source": "nq" if i < 2 else "hotpotqa",
        "prompt": [{"content": f"Answer it. Question: Question {i}?\n", "role": "user"}],
        "ability": "fact-reasoning",
        "reward_model": {"ground_truth": {"target": texts}, "style": "rule"},
        "extra_info": {"index": i % 2, "split": "train"},
        "metadata": None if i % 2 else {"type": "bridge"},
    }
    for i, texts in enumerate(answers)
]
pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sys.argv[1], row_group_size=3, compression="zstd")
