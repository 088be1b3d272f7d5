"""Writes questions.zip: two files of questions in a folder, one deflated and one stored, and the notes that macOS adds.

Usage: make_zip.py OUT
"""

import json
import sys
import zipfile

rows = [{"id": f"q{i}", "question": f"Où est {i} ?", "answer": ["a", "b"][i % 2]} for i in range(200)]
lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr(zipfile.ZipInfo("sets/", (2024, 1, 1, 0, 0, 0)), "")
    for name, text, method in [
        ("sets/dev.jsonl", lines, zipfile.ZIP_DEFLATED),
        ("sets/test.jsonl", lines[: lines.index("\n") + 1], zipfile.ZIP_STORED),
        ("__MACOSX/sets/._dev.jsonl", "note", zipfile.ZIP_STORED),
    ]:
        entry = zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0))
        entry.compress_type = method
        archive.writestr(entry, text)
