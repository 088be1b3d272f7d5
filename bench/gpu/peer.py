"""What bench/gpu/speed.ts measures, by torch on the same GPU: python3 peer.py SPEED [TABLE] [--device cuda|cpu] prints a table
with ratios. SPEED is a file of its lines; TABLE one of bench/gpu/kernels' table, whose products are measured too.

Products are cuBLAS's, attention is FlashAttention's, search is a product and topk over scores rounded to bf16, where ours are f32.
A decoding step is one CUDA graph of eager torch over a cache of fixed length, which draws by the Gumbel trick: norms,
rotation and gates are operators of their own, as without a compiler. A prompt is a graph too. Training keeps f32 masters and
moments beside bf16 weights and clips the gradients' norm, as ours does. On a processor there is neither graph nor FlashAttention:
that is a rehearsal.
"""
import argparse
import contextlib
import json
import re
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from shapes import SHAPES  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("speed", type=Path)
parser.add_argument("table", type=Path, nargs="?")
parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
OPTIONS = parser.parse_args()
DEVICE, IS_GPU = OPTIONS.device, OPTIONS.device == "cuda"
ROUNDS = 5 if IS_GPU else 1
torch.set_grad_enabled(False)


def normal(*shape):
    return torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16)


def synchronise():
    if IS_GPU:
        torch.cuda.synchronize()


def attention(q, k, v, is_causal):
    """FlashAttention or an error; of one row the mask is none."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION) if IS_GPU else contextlib.nullcontext():
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)


class Decoder:
    """A Qwen2 decoder with random weights, as plain products."""

    def __init__(self, name):
        s = SHAPES[name]
        self.heads, self.kv_heads = s["num_attention_heads"], s["num_key_value_heads"]
        hidden, inner = s["hidden_size"], s["intermediate_size"]
        self.head = hidden // self.heads

        def weight(rows, columns):
            return normal(rows, columns) * 0.02

        self.embedding = weight(s["vocab_size"], hidden)
        self.unembedding = self.embedding if s["tie_word_embeddings"] else weight(s["vocab_size"], hidden)
        width = (self.heads + 2 * self.kv_heads) * self.head
        self.layers = [(weight(width, hidden), weight(hidden, self.heads * self.head), weight(2 * inner, hidden),
                        weight(hidden, inner)) for _ in range(s["num_hidden_layers"])]
        self.norm = torch.ones(hidden, device=DEVICE, dtype=torch.bfloat16)
        places = torch.arange(self.head // 2, device=DEVICE) / (self.head / 2)
        angles = torch.arange(8192, device=DEVICE)[:, None] * 1e-4 ** places
        self.cos, self.sin = torch.cos(angles).bfloat16(), torch.sin(angles).bfloat16()

    def parameters(self):
        return [self.embedding, self.norm, *[w for layer in self.layers for w in layer]]

    def rotate(self, x, first):
        a, b = x.chunk(2, -1)
        cos, sin = self.cos[first:first + x.shape[-2]], self.sin[first:first + x.shape[-2]]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def forward(self, ids, caches=None, position=0):
        """ids [B, T]; with caches, pairs of [B, kv heads, L, head] that are written at a position and read whole."""
        x = F.embedding(ids, self.embedding)
        batch, length = ids.shape
        for i, (qkv, out, gate_up, down) in enumerate(self.layers):
            rows = F.rms_norm(x, x.shape[-1:], self.norm, 1e-6) @ qkv.T
            q, k, v = rows.view(batch, length, -1, self.head).transpose(1, 2).split([self.heads, self.kv_heads, self.kv_heads], 1)
            q, k = self.rotate(q, position), self.rotate(k, position)
            if caches is not None:
                keys, values = caches[i]
                keys[:, :, position:position + length], values[:, :, position:position + length] = k, v
                k, v = keys, values
            attended = attention(q, k, v, is_causal=caches is None)
            x = x + attended.transpose(1, 2).reshape(batch, length, -1) @ out.T
            gate, up = (F.rms_norm(x, x.shape[-1:], self.norm, 1e-6) @ gate_up.T).chunk(2, -1)
            x = x + (F.silu(gate) * up) @ down.T
        return F.rms_norm(x, x.shape[-1:], self.norm, 1e-6)


def per_second(run):
    """The median of some rounds, after one that warms up."""
    times = []
    for i in range(ROUNDS + 1):
        synchronise()
        started = time.perf_counter()
        run()
        synchronise()
        if i > 0:
            times.append(time.perf_counter() - started)
    return 1 / statistics.median(times)


def captured(run):
    """The same as a graph, where there is a GPU."""
    if not IS_GPU:
        return run
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def decode(shape, batch, length):
    model, steps = Decoder(shape), 64 if IS_GPU else 2
    caches = [tuple(normal(batch, model.kv_heads, length + steps // 2, model.head) for _ in range(2)) for _ in model.layers]
    ids = torch.zeros(batch, 1, dtype=torch.long, device=DEVICE)

    def step():
        logits = (model.forward(ids, caches, length)[:, -1] @ model.unembedding.T).float()
        ids.copy_((logits - torch.log(-torch.log(torch.rand_like(logits)))).argmax(-1, keepdim=True))

    replay = captured(step)
    return batch * steps * per_second(lambda: [replay() for _ in range(steps)])


def prefill(shape, length):
    model, ids = Decoder(shape), torch.zeros(1, length, dtype=torch.long, device=DEVICE)
    return length * per_second(captured(lambda: model.forward(ids)[:, -1] @ model.unembedding.T))


def train(shape, count, length):
    model = Decoder(shape)
    weights = model.parameters()
    masters = [weight.float() for weight in weights]
    for weight in weights:
        weight.requires_grad_()
    optimiser = torch.optim.AdamW(masters, lr=1e-5, fused=True)
    ids = torch.arange(count * length, device=DEVICE).view(count, length) % 1000

    def step():
        with torch.enable_grad():
            logits = model.forward(ids)[:, :-1] @ model.unembedding.T
            F.cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1)).backward()
        for master, weight in zip(masters, weights):
            master.grad, weight.grad = weight.grad.float(), None
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        optimiser.step()
        torch._foreach_copy_([weight.data for weight in weights], masters)

    return count * length * per_second(step)


def search(count, dim, numQueries):
    rows, queries = normal(count, dim), normal(numQueries, dim)
    return numQueries * per_second(lambda: (queries @ rows.T).topk(10).indices.cpu())


def product_microseconds(m, n, k):
    """As the table's: the median of runs, before each of which twice the second-level cache is written."""
    x, w = normal(m, k), normal(n, k)
    if not IS_GPU:
        return 1e6 / per_second(lambda: x @ w.T)
    cache = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device=DEVICE)
    times = []
    for i in range(23):
        cache.fill_(1)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        x @ w.T
        end.record()
        end.synchronize()
        if i >= 3:
            times.append(1e3 * start.elapsed_time(end))
    return statistics.median(times)


def row(name, ours, unit, peer, is_time=False):
    """A ratio over 1: ours is the faster. What fails costs its own row alone."""
    try:
        theirs = peer()
        ratio = theirs / ours if is_time else ours / theirs
        shown = f"{theirs:.4g} {unit} | {ratio:.2f}"
    except Exception as error:
        shown = f"{type(error).__name__}: {str(error)[:80]} |"
    if IS_GPU:
        torch.cuda.empty_cache()
    print(f"| {name} | {ours:.4g} {unit} | {shown} |", flush=True)


def print_speed(path):
    kinds = {"decode": decode, "prefill": prefill, "train": train, "search": search}
    for line in path.read_text().splitlines():
        if not line.startswith("{"):
            continue
        case = json.loads(line)
        name, kind, rate, unit = (case.pop(key) for key in ("name", "kind", "rate", "unit"))
        row(name, rate, unit, lambda: kinds[kind](**case))


def print_products(path):
    """Rows such as | product 7B qkv, 16 x 4608 x 3584 | GB | TFLOP | 12.3k | ..."""
    units = {"": 1, "k": 1e3, "M": 1e6}
    pattern = r"\| (product [^|]*, (\d+) x (\d+) x (\d+)) \| [^|]* \| [^|]* \| ([\d.]+)([kM]?) \|"
    for name, m, n, k, number, unit in re.findall(pattern, path.read_text()):
        row(name, float(number) * units[unit], "us", lambda: product_microseconds(int(m), int(n), int(k)), is_time=True)


device = torch.cuda.get_device_name() if IS_GPU else "a rehearsal on the processor"
print(f"torch {torch.__version__}, {device}\n\n| case | SeekRL | torch | ratio |\n|---|---|---|---|", flush=True)
print_speed(OPTIONS.speed)
if OPTIONS.table is not None and OPTIONS.table.exists():
    print_products(OPTIONS.table)
