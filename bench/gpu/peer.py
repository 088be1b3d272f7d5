"""What bench/gpu/speed.ts measures, by torch on the same GPU: python3 peer.py OURS, a file of its lines; prints a table with ratios.

Products are cuBLAS's, attention is scaled_dot_product_attention (FlashAttention), search is a product and topk. A decoding step
is one CUDA graph over a cache of fixed length, as the quickest torch servers have it, and draws by the Gumbel trick.
"""
import json
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from shapes import SHAPES  # noqa: E402

ROUNDS = 5
torch.set_grad_enabled(False)


class Decoder:
    """A Qwen2 decoder with random weights, as plain products."""

    def __init__(self, name):
        s = SHAPES[name]
        self.heads, self.kv_heads = s["num_attention_heads"], s["num_key_value_heads"]
        hidden, inner = s["hidden_size"], s["intermediate_size"]
        self.head = hidden // self.heads

        def weight(rows, columns):
            return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) * 0.02

        self.embedding = weight(s["vocab_size"], hidden)
        self.unembedding = self.embedding if s["tie_word_embeddings"] else weight(s["vocab_size"], hidden)
        width = (self.heads + 2 * self.kv_heads) * self.head
        self.layers = [(weight(width, hidden), weight(hidden, self.heads * self.head), weight(2 * inner, hidden),
                        weight(hidden, inner)) for _ in range(s["num_hidden_layers"])]
        self.norm = torch.ones(hidden, device="cuda", dtype=torch.bfloat16)
        angles = torch.arange(8192, device="cuda")[:, None] * 1e-4 ** (torch.arange(self.head // 2, device="cuda") / (self.head / 2))
        self.cos, self.sin = torch.cos(angles).bfloat16(), torch.sin(angles).bfloat16()

    def parameters(self):
        return [self.embedding, self.norm, *[w for layer in self.layers for w in layer]]

    def turn(self, x, first):
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
            q, k = self.turn(q, position), self.turn(k, position)
            if caches is not None:
                keys, values = caches[i]
                keys[:, :, position:position + length], values[:, :, position:position + length] = k, v
                k, v = keys, values
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=caches is None, enable_gqa=True)
            x = x + attended.transpose(1, 2).reshape(batch, length, -1) @ out.T
            gate, up = (F.rms_norm(x, x.shape[-1:], self.norm, 1e-6) @ gate_up.T).chunk(2, -1)
            x = x + (F.silu(gate) * up) @ down.T
        return F.rms_norm(x, x.shape[-1:], self.norm, 1e-6)


def per_second(run):
    """The median of some rounds, after one that warms up."""
    times = []
    for i in range(ROUNDS + 1):
        torch.cuda.synchronize()
        started = time.perf_counter()
        run()
        torch.cuda.synchronize()
        if i > 0:
            times.append(time.perf_counter() - started)
    return 1 / statistics.median(times)


def decode(shape, batch, tokens):
    model, steps = Decoder(shape), 64
    caches = [tuple(torch.randn(batch, model.kv_heads, tokens + steps // 2, model.head, device="cuda", dtype=torch.bfloat16)
                    for _ in range(2)) for _ in model.layers]
    ids = torch.zeros(batch, 1, dtype=torch.long, device="cuda")

    def step():
        logits = (model.forward(ids, caches, tokens)[:, -1] @ model.unembedding.T).float()
        ids.copy_((logits - torch.log(-torch.log(torch.rand_like(logits)))).argmax(-1, keepdim=True))

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return batch * steps * per_second(lambda: [graph.replay() for _ in range(steps)])


def prefill(shape, length):
    model, ids = Decoder(shape), torch.zeros(1, length, dtype=torch.long, device="cuda")
    return length * per_second(lambda: model.forward(ids)[:, -1] @ model.unembedding.T)


def train(shape, count, length):
    model = Decoder(shape)
    weights = model.parameters()
    for weight in weights:
        weight.requires_grad_()
    optimiser = torch.optim.AdamW(weights, lr=1e-5, fused=True)
    ids = torch.arange(count * length, device="cuda").view(count, length) % 1000

    def step():
        with torch.enable_grad():
            logits = model.forward(ids)[:, :-1] @ model.unembedding.T
            F.cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1)).backward()
        optimiser.step()
        optimiser.zero_grad()

    return count * length * per_second(step)


def search(count, width, num_queries):
    rows = torch.randn(count, width, device="cuda", dtype=torch.bfloat16)
    queries = torch.randn(num_queries, width, device="cuda", dtype=torch.bfloat16)
    return num_queries * per_second(lambda: (queries @ rows.T).topk(10).indices.cpu())


def peer_of(name):
    words = name.replace(",", "").split()
    if words[0] == "decode":
        return decode(words[1], int(words[2]), int(words[5]))
    if words[0] == "prefill":
        return prefill(words[1], int(words[5]))
    if words[0] == "train":
        return train(words[1], int(words[2]), int(words[4]))
    return search(int(words[1]), int(words[3]), int(words[4]))


print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}\n\n| case | SeekRL | torch | ratio |\n|---|---|---|---|")
for line in Path(sys.argv[1]).read_text().splitlines():
    if not line.startswith("{"):
        continue
    ours = json.loads(line)
    try:
        rate = peer_of(ours["name"])
        shown = f"{rate:.4g} {ours['unit']} | {ours['rate'] / rate:.2f}"
    except Exception as error:  # the rest are measured all the same
        shown = f"{type(error).__name__}: {str(error)[:80]} |"
    torch.cuda.empty_cache()
    print(f"| {ours['name']} | {ours['rate']:.4g} {ours['unit']} | {shown} |", flush=True)
