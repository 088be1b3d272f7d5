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
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
    SmolLM3Config,
    SmolLM3ForCausalLM,
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


def stored_gradients(model):
    """The gradients under the names of the files, where transformers keeps experts together."""
    is_mixtral = model.config.model_type == "mixtral"
    for name, parameter in model.named_parameters():
        if ".mlp.experts." not in name and not (is_mixtral and ".mlp.gate." in name):
            yield name, parameter.grad
            continue
        block = name.split(".mlp.")[0] + (".block_sparse_moe" if is_mixtral else ".mlp")
        if name.endswith("gate.weight"):
            yield f"{block}.gate.weight", parameter.grad
        elif name.endswith("gate_up_proj"):
            for e, grad in enumerate(parameter.grad):
                gate, up = grad.chunk(2)
                yield f"{block}.experts.{e}.{'w1' if is_mixtral else 'gate_proj'}.weight", gate
                yield f"{block}.experts.{e}.{'w3' if is_mixtral else 'up_proj'}.weight", up
        else:
            for e, grad in enumerate(parameter.grad):
                yield f"{block}.experts.{e}.{'w2' if is_mixtral else 'down_proj'}.weight", grad


def write_reference(folder):
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager"
    )
    ids = torch.randint(0, 96, (1, 90), generator=torch.Generator().manual_seed(3))
    logprobs = torch.log_softmax(model(ids).logits[0, :-1], -1)
    chosen = logprobs.gather(1, ids[0, 1:, None])[:, 0]
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    loss = -chosen.mean()
    loss.backward()
    gradients = {
        name: dict(norm=grad.norm().item(), first=grad.flatten()[:8].tolist())
        for name, grad in stored_gradients(model)
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
make(
    "mistral",
    MistralConfig(
        **SHAPE, head_dim=10, sliding_window=24, rope_parameters=dict(rope_type="default", rope_theta=500.0)
    ),
    MistralForCausalLM,
    torch.bfloat16,
)
make(
    "phi3",
    Phi3Config(
        **{**SHAPE, "max_position_embeddings": 256},
        pad_token_id=None,
        eos_token_id=1,
        original_max_position_embeddings=64,
        rope_parameters=dict(
            rope_type="longrope",
            rope_theta=10000.0,
            partial_rotary_factor=0.75,
            short_factor=[1.0, 1.1, 1.3],
            long_factor=[1.0, 2.0, 4.0],
        ),
    ),
    Phi3ForCausalLM,
    torch.bfloat16,
)
# A padding id would have no gradient in the embedding.
GEMMA = dict(SHAPE, pad_token_id=None, head_dim=12, query_pre_attn_scalar=20, sliding_window=16)
make(
    "gemma2",
    Gemma2Config(**GEMMA, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    Gemma2ForCausalLM,
    torch.bfloat16,
)
make(
    "gemma3",
    Gemma3TextConfig(
        **{**GEMMA, "num_hidden_layers": 3},
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        rope_parameters=dict(
            full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
            sliding_attention=dict(rope_type="default", rope_theta=1e4),
        ),
    ),
    Gemma3ForCausalLM,
    torch.bfloat16,
)
make(
    "smollm3",
    SmolLM3Config(**SHAPE, pad_token_id=None, bos_token_id=None, eos_token_id=None, no_rope_layers=[1, 0]),
    SmolLM3ForCausalLM,
    torch.bfloat16,
)
MOE = dict(SHAPE, num_experts_per_tok=2, router_aux_loss_coef=0.0)
make(
    "qwen3_moe",
    Qwen3MoeConfig(**MOE, head_dim=12, num_experts=5, moe_intermediate_size=20, norm_topk_prob=True),
    Qwen3MoeForCausalLM,
    torch.bfloat16,
)
make("mixtral", MixtralConfig(**MOE, num_local_experts=4), MixtralForCausalLM, torch.bfloat16)
