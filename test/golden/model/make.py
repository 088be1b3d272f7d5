"""Makes the tiny model folders of this directory with Hugging Face transformers, and what they should compute.

Run: python make.py (torch 2.13, transformers 5.18). Weights are random; references are computed in float64 from the
weights as saved. `reference.json`: ids; the natural log-probability of each id but the first given those before it,
and the entropy of the distribution it stands in; the mean log-probability, negated, as the loss; of each gradient of the loss its Euclidean norm and its first eight elements.
"""
import json
import pathlib

import torch
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

HERE = pathlib.Path(__file__).parent
SHAPE = dict(
    vocab_size=96,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    attention_dropout=0.0,
)
LLAMA3_ROPE = dict(
    rope_type="llama3",
    rope_theta=10000.0,
    factor=4.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=64,
)


def make(name, config, kind, dtype, **save):
    torch.manual_seed(len(name) + config.vocab_size)
    model = kind(config)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            # Large enough that every part matters; norms and biases away from one and zero.
            centre = 1.0 if "norm" in parameter_name else 0.0
            parameter.copy_(centre + 0.2 * torch.randn_like(parameter))
    folder = HERE / name
    model.to(dtype).save_pretrained(folder, **save)
    (folder / "generation_config.json").unlink(missing_ok=True)
    write_reference(folder)


def write_reference(folder):
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager"
    )
    ids = torch.randint(0, 96, (1, 90), generator=torch.Generator().manual_seed(3))
    logprobs = torch.log_softmax(model(ids).logits[0, :-1], -1)
    chosen = logprobs.gather(1, ids[0, 1:, None])[:, 0]
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    loss = -chosen.mean()
    loss.backward()
    gradients = {
        name: dict(norm=parameter.grad.norm().item(), first=parameter.grad.flatten()[:8].tolist())
        for name, parameter in model.named_parameters()
    }
    reference = dict(
        ids=ids[0].tolist(),
        logprobs=chosen.tolist(),
        entropies=entropies.tolist(),
        loss=loss.item(),
        gradients=gradients,
    )
    (folder / "reference.json").write_text(json.dumps(reference))


make("qwen2", Qwen2Config(**SHAPE, tie_word_embeddings=True), Qwen2ForCausalLM, torch.float32)
make("qwen3", Qwen3Config(**SHAPE, head_dim=12, tie_word_embeddings=True), Qwen3ForCausalLM, torch.bfloat16)
make(
    "llama",
    LlamaConfig(**SHAPE, rope_parameters=LLAMA3_ROPE, attention_bias=True, mlp_bias=True, tie_word_embeddings=False),
    LlamaForCausalLM,
    torch.float16,
    max_shard_size="30KB",
)
