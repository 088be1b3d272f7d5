"""Writes targets.json: the modules that Hugging Face peft finds for target_modules and the keys beside it.

Each case: the model (its architecture, tiny), the keys of adapter_config.json, and the whole names of the modules that peft
puts an adapter on; null where it raises an error. Made with peft 0.21, transformers 5.18, torch 2.13. Run: python make_targets.py
"""
import json
from pathlib import Path

from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Phi3Config, Phi3ForCausalLM

HERE = Path(__file__).parent
SHAPE = dict(
    vocab_size=32,
    hidden_size=16,
    intermediate_size=24,
    num_attention_heads=2,
    num_key_value_heads=1,
    max_position_embeddings=64,
    pad_token_id=0,
)
MODELS = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(num_hidden_layers=12, **SHAPE)),
    "phi3": lambda: Phi3ForCausalLM(Phi3Config(num_hidden_layers=2, **SHAPE)),
}
CASES = [
    ("llama", rules)
    for rules in [
        dict(target_modules=r".*\.q_proj"),
        dict(target_modules=r".*(q|v)_proj"),
        dict(target_modules=r"q_proj"),
        dict(target_modules=r"model\.layers\.\d+\.self_attn\.[qkvo]_proj"),
        dict(target_modules=r"model\.layers\.(1|11)\.(self_attn|mlp)\.(q|k|v|o|gate|up|down)_proj"),
        dict(target_modules=r"model\.layers\.[0-3]\..*proj"),
        dict(target_modules=r"(?i).*Q_PROJ"),
        dict(target_modules=r".*Q_PROJ"),
        dict(target_modules=r"^.*\.q_proj$"),
        dict(target_modules=r"\A.*\.q_proj\Z"),
        dict(target_modules=r"(?P<at>.*)\.k_proj"),
        dict(target_modules=r".*\.(?!q_proj|k_proj)\w+_proj"),
        dict(target_modules=r".*(?<=self_attn)\.q_proj"),
        dict(target_modules=r".*\.layers\.\d{2}\..*_proj"),
        dict(target_modules=r".*\.q_proj|.*\.layers\.1\.mlp\.up_proj"),
        dict(target_modules=r"(?:.*?(?:language|text).*?(?:self_attn|mlp).*?(?:q_proj|v_proj).*?)|(?:\bmodel\.layers\.[\d]{1,}\.(?:self_attn|mlp)\.(?:(?:q_proj|v_proj)))"),
        dict(target_modules=r"model.layers.1.self_attn.q_proj"),
        dict(target_modules=r".*"),
        dict(target_modules=r".*\.lm_head|lm_head|.*q_proj"),
        dict(target_modules=r"(.*q_proj"),
        dict(target_modules=r".*q_proj)|(.*"),
        dict(target_modules="all-linear"),
        dict(target_modules="ALL-Linear"),
        dict(target_modules="all-linear", exclude_modules=["q_proj", "model.layers.3.mlp.up_proj"]),
        dict(target_modules="all-linear", exclude_modules=r".*\.mlp\..*"),
        dict(target_modules=["q_proj", "v_proj"]),
        dict(target_modules=["self_attn.q_proj"]),
        dict(target_modules=["proj", "q_proj"]),
        dict(target_modules=["proj"]),
        dict(target_modules=["q_proj", "query_key_value"]),
        dict(target_modules=["model.layers.7.self_attn.q_proj", "layers.1.mlp.up_proj"]),
        dict(target_modules=["1.self_attn.q_proj"]),
        dict(target_modules=["q_proj", "lm_head"]),
        dict(target_modules=["q_proj", "embed_tokens"]),
        dict(target_modules=["q_proj", "v_proj"], exclude_modules=["v_proj"]),
        dict(target_modules=["q_proj", "v_proj"], exclude_modules=r".*\.[0-9]\..*"),
        dict(target_modules=["q_proj"], exclude_modules=["q_proj"]),
        dict(target_modules=["q_proj", "up_proj"], layers_to_transform=[0, 11]),
        dict(target_modules=["q_proj"], layers_to_transform=3),
        dict(target_modules=["q_proj"], layers_to_transform=[]),
        dict(target_modules=["q_proj"], layers_to_transform=[1], layers_pattern="layers"),
        dict(target_modules=["q_proj"], layers_to_transform=[1], layers_pattern=["h", "layers"]),
        dict(target_modules=["q_proj"], layers_to_transform=[1], layers_pattern="h"),
        dict(target_modules=["q_proj"], layers_to_transform=[1], layers_pattern="lay.*"),
        dict(target_modules=["q_proj"], layers_to_transform=[99]),
        dict(target_modules=["model.layers.7.self_attn.q_proj", "k_proj"], layers_to_transform=[1]),
    ]
] + [
    ("phi3", rules)
    for rules in [
        dict(target_modules=r".*(qkv_proj|down_proj)"),
        dict(target_modules=["gate_up_proj", "o_proj"]),
        dict(target_modules=["self_attn.qkv_proj"], layers_to_transform=[1]),
        dict(target_modules="all-linear", exclude_modules=r".*\.0\..*"),
        dict(target_modules="all-linear"),
    ]
]


def found(model, rules):
    try:
        adapted = get_peft_model(MODELS[model](), LoraConfig(task_type="CAUSAL_LM", **rules))
    except Exception:
        return None
    prefix = "base_model.model."
    return [name[len(prefix) :] for name, module in adapted.named_modules() if hasattr(module, "lora_A")]


lines = [json.dumps(dict(model=model, rules=rules, modules=found(model, rules))) for model, rules in CASES]
(HERE / "targets.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
