"""Writes documents.parquet: 7 documents in row groups of 3, by pyarrow 25 (pip install pyarrow).

python make_parquet.py
"""

import pyarrow as pa
import pyarrow.parquet as pq

COUNT = 7

table = pa.table(
    {
        "id": pa.array(range(COUNT), pa.int64()),
        "title": [f"Title {i} é" if i != 3 else None for i in range(COUNT)],
        "text": [[f"Paragraph one of {i}.\n", f"Paragraph two of {i}."] for i in range(COUNT)],
        "url": ["unused"] * COUNT,
    }
)
pq.write_table(table, "documents.parquet", row_group_size=3, compression="zstd")
