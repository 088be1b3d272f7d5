"""Measures which keys of config.json change what transformers computes: config-keys.json.

Run: python make_config_keys.py (torch 2.13, transformers 5.18). For each architecture a tiny random model; then, key by
key, the same weights under a config.json with one key more or with another value of it. `effect`: "same" where all logits
are the same bits in float64, "different" where some are not or where the weights no longer fit, "refused" where transformers
raises an error. `usual`: the value that the class or its base class has by default, or that public files hold it at. `saved`
is the config.json that transformers writes.
"""
import contextlib
import dataclasses
import io
import json
import pathlib
import tempfile

import torch
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, logging
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HERE = pathlib.Path(__file__).parent
logging.set_verbosity_error()
ARCHITECTURES = dict(
    LlamaForCausalLM="llama",
    MistralForCausalLM="mistral",
    MixtralForCausalLM="mixtral",
    Qwen2ForCausalLM="qwen2",
    Qwen3ForCausalLM="qwen3",
    Qwen3MoeForCausalLM="qwen3_moe",
    Phi3ForCausalLM="phi3",
    Gemma2ForCausalLM="gemma2",
    Gemma3ForCausalLM="gemma3_text",
    SmolLM3ForCausalLM="smollm3",
)
SHAPE = dict(
    vocab_size=48,
    hidden_size=32,
    intermediate_size=16,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=8,
    max_position_embeddings=64,
    rms_norm_eps=1e-5,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)
OWN = dict(
    mistral=dict(sliding_window=8),
    mixtral=dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=8),
    qwen3_moe=dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, norm_topk_prob=True),
    phi3=dict(sliding_window=8, original_max_position_embeddings=64),
    gemma2=dict(sliding_window=8, query_pre_attn_scalar=8),
    gemma3_text=dict(sliding_window=8, query_pre_attn_scalar=8, sliding_window_pattern=2),
)
# Written by transformers of all ages into files of any model, at their defaults, and by others into public files.
USUAL = {
    **{k: v for k, v in GenerationConfig._get_default_generation_params().items()},
    **dict(_name_or_path="models/x", name_or_path="models/x", _commit_hash="0f", transformers_version="4.40.1"),
    **dict(torch_dtype="bfloat16", dtype="bfloat16", use_cache=True, initializer_range=0.02, pretraining_tp=1),
    **dict(_attn_implementation_autoset=True, attn_implementation="sdpa", _flash_attn_2_enabled=True),
    **dict(torchscript=False, use_bfloat16=False, tf_legacy_loss=False, pruned_heads={}, is_decoder=False),
    **dict(add_cross_attention=False, tie_encoder_decoder=False, cross_attention_hidden_size=None),
    **dict(output_hidden_states=False, output_attentions=False, return_dict=True, chunk_size_feed_forward=0),
    **dict(is_encoder_decoder=False, id2label={"0": "A", "1": "B"}, label2id={"A": 0, "B": 1}, problem_type=None),
    **dict(finetuning_task=None, task_specific_params=None, tokenizer_class=None, prefix=None, sep_token_id=None),
    **dict(decoder_start_token_id=None, unk_token_id=0, num_labels=2, bad_words_ids=None, temperature=1.0, top_p=0.9),
    **dict(attention_bias=False, mlp_bias=False, attention_dropout=0.0, rope_scaling=None, is_causal=True),
    **dict(gradient_checkpointing=False, neftune_noise_alpha=5, unsloth_version="2025.3", unsloth_fixed=True),
    **{"is_llama_config": True, "rope_interleaved": False, "use_mrope": False, "legacy": True, "model_max_length": 64},
    **{"transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}, "max_sequence_length": 64, "seq_length": 64},
    **dict(qk_layernorm=False, use_qk_norm=False, alibi=False, logit_scale=1.0, embedding_multiplier=1.0),
    **dict(residual_multiplier=1.0, attention_multiplier=None, logits_scaling=1.0, resid_pdrop=0.0, embd_pdrop=0.0),
    **dict(lm_head_bias=False, use_flash_attention=True, experts_implementation="eager", per_layer_config=None),
    **dict(layer_types=None, use_sliding_window=False, max_window_layers=28, tie_last_hidden_states=True),
    **dict(qkv_bias=False, shared_expert_intermediate_size=0, activation="swiglu"),
}
# Values that are not usual, of the keys above and of the classes' own.
OTHER = dict(
    hidden_act="gelu", hidden_activation="gelu", rms_norm_eps=0.1, attention_bias=True, mlp_bias=True, head_dim=16,
    hidden_size=64, intermediate_size=32, vocab_size=64, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=4,
    max_position_embeddings=128, tie_word_embeddings="flip", rope_theta=77.0, rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=10000.0),
    rope_scaling=dict(rope_type="linear", factor=2.0), sliding_window=4, use_sliding_window=True, max_window_layers=1,
    layer_types=["full_attention", "sliding_attention"] * 2, partial_rotary_factor=0.5, is_causal=False, rope_interleaved=True,
    attn_logit_softcapping=1.0, final_logit_softcapping=1.0, query_pre_attn_scalar=64, use_bidirectional_attention=True,
    rope_local_base_freq=77.0, sliding_window_pattern=3, _sliding_window_pattern=2, no_rope_layers=[0, 1, 0, 1],
    no_rope_layer_interval=2, num_local_experts=2, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=32,
    norm_topk_prob=False, decoder_sparse_step=2, mlp_only_layers=[0], router_jitter_noise=0.5, output_router_logits=True,
    router_aux_loss_coef=0.5, original_max_position_embeddings=32, initializer_range=0.5, pretraining_tp=2, use_cache=False,
    pad_token_id=5, eos_token_id=7, bos_token_id=8, dtype="float16", is_decoder=True, is_encoder_decoder=True,
    add_cross_attention=True, chunk_size_feed_forward=2, return_dict=False, qk_layernorm=True, alibi=True, logit_scale=0.5,
    embedding_multiplier=2.0, residual_multiplier=0.5, attention_multiplier=0.5, logits_scaling=4.0, lm_head_bias=True,
    quantization=dict(group_size=64, bits=4), per_layer_config={"0": {"rms_norm_eps": 0.5}}, attention_chunk_size=4, num_labels=3,
)  # fmt: skip


def logits_of(file, state=None):
    """What a config.json computes with some weights, or with random ones; and these weights."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(file))
        config = AutoConfig.from_pretrained(folder)
        torch.manual_seed(1)
        forms = dict(attn_implementation="eager", experts_implementation="eager", dtype=torch.float64)
        model = AutoModelForCausalLM.from_config(config, **forms).eval()
    if state is None:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn(parameter.shape) * 0.3)
    else:
        model.load_state_dict(state)
    ids = torch.arange(40)[None] * 7 % 48
    with torch.no_grad():
        return model(ids, return_dict=True).logits, model.state_dict()


def effect_of(base, file):
    expected, state = base
    try:
        logits, _ = logits_of(file, state)
    except RuntimeError as error:
        return "different" if "state_dict" in str(error) else "refused"
    except Exception:
        return "refused"
    return "same" if torch.equal(logits, expected) else "different"


def cases_of(model_type, file):
    defaults = {
        field.name: field.default
        for field in dataclasses.fields(CONFIG_MAPPING[model_type])
        if field.default is not dataclasses.MISSING
    }
    for key in sorted({*defaults, *USUAL}):
        if key not in file:
            usual = USUAL[key] if key in USUAL else defaults[key]
            yield key, usual, True
    for key in sorted(OTHER):
        value = OTHER[key]
        if value == "flip":
            value = not defaults[key]
        if file.get(key) != value:
            yield key, value, False


if __name__ == "__main__":
    golden = []
    for architecture, model_type in ARCHITECTURES.items():
        file = dict(architectures=[architecture], model_type=model_type, **SHAPE, **OWN.get(model_type, {}))
        base = logits_of(file)
        rows = [
            dict(key=key, value=value, usual=usual, effect=effect_of(base, {**file, key: value}))
            for key, value, usual in cases_of(model_type, file)
        ]
        with tempfile.TemporaryDirectory() as folder:
            CONFIG_MAPPING[model_type](**{k: v for k, v in file.items() if k != "model_type"}).save_pretrained(folder)
            saved = json.loads((pathlib.Path(folder) / "config.json").read_text())
        golden.append(dict(architecture=architecture, file=file, saved=saved, rows=rows))

    lines = []
    for entry in golden:
        rows = ",\n  ".join(json.dumps(row) for row in entry.pop("rows"))
        lines.append(f'{json.dumps(entry)[:-1]}, "rows": [\n  {rows}]}}')
    (HERE / "config-keys.json").write_text("[" + ",\n".join(lines) + "]\n")
