"""Makes sampling.json: what transformers' logits processors and warpers make of the tiny model test/golden/model/qwen2.

Run: python make_sampling.py (torch 2.13, transformers 5.18, float64). `greedy`: for sets of options the ids that
`generate` appends without sampling; presence and frequency penalties, which transformers lacks, by the formula of vLLM
0.11 (vllm/v1/sample/ops/penalties.py: logits -= frequency * count; logits -= presence * (count > 0), over the output).
`kept`: for sets of options the probabilities after the warpers, in their order of `GenerationMixin`, as (id,
probability) of those that are not zero. Options are named as in lib/engine/sampling-options.ts.
"""
import json
import pathlib

import torch
from transformers import (
    AutoModelForCausalLM,
    LogitsProcessor,
    LogitsProcessorList,
    MinPLogitsWarper,
    NoBadWordsLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    SequenceBiasLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

HERE = pathlib.Path(__file__).parent
PROMPT = [5, 17, 42, 5, 80, 33, 17, 2]


class OutputPenalties(LogitsProcessor):
    def __init__(self, presence, frequency):
        self.presence, self.frequency = presence, frequency

    def __call__(self, input_ids, scores):
        counts = torch.bincount(input_ids[0, len(PROMPT):], minlength=scores.shape[1])
        return scores - self.frequency * counts - self.presence * (counts > 0)


def processors(options):
    """In the order of transformers' GenerationMixin and, for the penalties of the output, of vLLM."""
    found = LogitsProcessorList()
    if bias := options.get("logitBias"):
        found.append(SequenceBiasLogitsProcessor({(int(id),): value for id, value in bias.items()}))
    if words := options.get("badWords"):
        found.append(NoBadWordsLogitsProcessor(words))
    if penalty := options.get("repetitionPenalty"):
        found.append(RepetitionPenaltyLogitsProcessor(penalty))
    found.append(OutputPenalties(options.get("presencePenalty", 0), options.get("frequencyPenalty", 0)))
    if temperature := options.get("temperature"):
        found.append(TemperatureLogitsWarper(temperature))
    if top_k := options.get("topK"):
        found.append(TopKLogitsWarper(top_k))
    if top_p := options.get("topP"):
        found.append(TopPLogitsWarper(top_p))
    if min_p := options.get("minP"):
        found.append(MinPLogitsWarper(min_p))
    return found


def greedy(model, options):
    ids = torch.tensor([PROMPT])
    with torch.no_grad():
        for _ in range(40):
            logits = model(ids).logits[:, -1]
            scores = processors(options)(ids, logits)
            ids = torch.cat([ids, scores.argmax(-1, keepdim=True)], 1)
    return ids[0, len(PROMPT):].tolist()


def kept(model, options):
    ids = torch.tensor([PROMPT])
    with torch.no_grad():
        scores = processors(options)(ids, model(ids).logits[:, -1])
    probabilities = scores.softmax(-1)[0]
    return [[id, round(p, 7)] for id, p in enumerate(probabilities.tolist()) if p > 0]


def main():
    folder = HERE.parent / "model" / "qwen2"
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager")
    plain = greedy(model, {})
    greedy_sets = [
        {},
        {"repetitionPenalty": 1.3},
        {"repetitionPenalty": 0.8},
        {"presencePenalty": 1.5},
        {"frequencyPenalty": 0.7},
        {"presencePenalty": -1, "frequencyPenalty": 0.4, "repetitionPenalty": 1.1},
        {"logitBias": {str(plain[0]): -3.5, "11": 2.5}},
        {"badWords": [[plain[1]], [plain[0], plain[2]], [PROMPT[-1], plain[0]]]},
        {"badWords": [[plain[2], plain[3]]], "logitBias": {"60": 1.75}, "repetitionPenalty": 1.2},
    ]
    kept_sets = [
        {"temperature": 0.7, "topK": 7},
        {"topP": 0.6},
        {"temperature": 1.5, "topP": 0.95},
        {"minP": 0.1},
        {"temperature": 1.3, "topK": 40, "topP": 0.9, "minP": 0.05},
        {"repetitionPenalty": 1.4, "logitBias": {"3": 2.0}, "badWords": [[plain[0]]], "topP": 0.8},
    ]
    made = {
        "prompt": PROMPT,
        "greedy": [{"options": options, "ids": greedy(model, options)} for options in greedy_sets],
        "kept": [{"options": options, "probabilities": kept(model, options)} for options in kept_sets],
    }
    lines = [f'"prompt": {json.dumps(made["prompt"])}']
    for name in ("greedy", "kept"):
        rows = ",\n".join(json.dumps(row) for row in made[name])
        lines.append(f'"{name}": [\n{rows}\n]')
    (HERE / "sampling.json").write_text("{" + ",\n".join(lines) + "}\n")


main()
