"""What bitsandbytes' NF4 and GGUF's Q4_0 make of one weight: `quantised.json`, read by test/model/quantised.test.ts.

Run: TORCHDYNAMO_DISABLE=1 PYTHONPATH=<bitsandbytes checkout> python make_quantised.py (torch 2.13, bitsandbytes 95f9af3 on its own CPU code).
The weight is a formula of whole numbers, exact in f32. NF4: bitsandbytes.functional.quantize_4bit with blocks of 64 and
compressed statistics, then dequantize_4bit in f32, rounded to bf16. Q4_0: quantize_blocks and dequantize_blocks of
gguf-py/gguf/quants.py (llama.cpp 150f157), written out here. Of each: the SHA-256 of all values as f32 in little endian,
and the first 70 of them.
"""
import hashlib
import json
import pathlib

import bitsandbytes.functional as bitsandbytes
import numpy
import torch

ROWS, COLUMNS = 80, 256


def weight():
    i = numpy.arange(ROWS * COLUMNS, dtype=numpy.int64)
    whole = ((i * 48271) % 65521 - 32760) * ((i // 32 * 37) % 11 + 1)
    return (whole.astype(numpy.float32) / 16384).reshape(ROWS, COLUMNS)


def nf4(plain):
    codes, state = bitsandbytes.quantize_4bit(
        torch.from_numpy(plain), blocksize=64, compress_statistics=True, quant_type="nf4"
    )
    return bitsandbytes.dequantize_4bit(codes, state).to(torch.bfloat16).to(torch.float32).numpy()


def q4_0(plain):
    blocks = plain.reshape(-1, 32)
    furthest = numpy.take_along_axis(blocks, abs(blocks).argmax(axis=-1, keepdims=True), axis=-1)
    d = furthest / -8
    inverse = numpy.where(d == 0, 0, 1 / d)
    codes = numpy.trunc(numpy.float64(blocks) * numpy.float64(inverse) + 8.5).astype(numpy.uint8).clip(0, 15)
    return d.astype(numpy.float16).astype(numpy.float32) * (codes.astype(numpy.float32) - 8)


def described(values):
    flat = numpy.ascontiguousarray(values, dtype="<f4").reshape(-1)
    return dict(sha256=hashlib.sha256(flat.tobytes()).hexdigest(), first=[float(x) for x in flat[:70]])


plain = weight()
result = dict(nf4=described(nf4(plain)), int4=described(q4_0(plain)))
path = pathlib.Path(__file__).parent / "quantised.json"
path.write_text(json.dumps(result, indent=1) + "\n")
