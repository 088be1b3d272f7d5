/** The model that learns from its traffic, as the options of `seekrl serve` describe it. */
import { messageOf } from "../../../../lib/base/errors.ts";
import type { LocalPolicy } from "../../../../lib/engine/local-policy.ts";
import type { Adapter } from "../../../../lib/model/adapter.ts";
import type { SequenceSource } from "../../../../lib/rollout/seams.ts";
import type { LearningModel } from "../../../serve/learn/learning-model.ts";
import type { LearnEvent } from "../../../serve/learn/options.ts";
import type { LanguageModel } from "../../../serve/model/language-model.ts";
import type { ServedModel } from "../../../serve/reply/reply.ts";
import type { CommandIo } from "../../command.ts";
import type { RequestDefaults } from "./defaults.ts";
import type { LearnChoice } from "./learn-options.ts";
import { type ServedAgentSetting, servedAgent } from "./served-agent.ts";

/** What learns: the agent where there is one, else the language model. */
export interface Learnt {
  readonly policy: LocalPolicy;
  readonly base: LanguageModel;
  readonly setting: ServedAgentSetting | undefined;
  readonly defaults: RequestDefaults;
}

function told(event: LearnEvent): string {
  if (event.type === "failed") return `learning failed: ${messageOf(event.error)}`;
  const { step } = event;
  if (event.type === "step") return `step ${step}: reward ${event.metrics["reward/mean"]?.toFixed(3)}`;
  if ("before" in event) {
    const [before, now] = [event.before.toFixed(3), event.now.toFixed(3)];
    if (event.type === "resumed") return `step ${step}: learning goes on, rewards are ${now} again`;
    return `step ${step}: held and rolled back, what is served earns ${now} after ${before}`;
  }
  const what = event.type === "promoted" ? "promoted" : "rolled back";
  const [candidate, stable] = [event.candidate.toFixed(3), event.stable.toFixed(3)];
  return `step ${step}: ${what}, reward ${candidate} against ${stable}`;
}

/** The engine through an adapter. */
function through({ engine }: LocalPolicy, adapter: Adapter): SequenceSource & { readonly maxTokens: number } {
  return {
    maxTokens: engine.maxTokens,
    open: (ids, options) => engine.open(ids, { ...options, adapter }),
  };
}

/** Opens it, with the adapter of its folder if there is one. */
export async function openLearner(
  { policy, base, setting, defaults }: Learnt,
  { name, rank, ...choice }: LearnChoice,
  { log }: CommandIo,
): Promise<LearningModel> {
  const { LearningModel: Learning } = await import("../../../serve/learn/learning-model.ts");
  const { LanguageModel: Language } = await import("../../../serve/model/language-model.ts");
  const { admission, id: parent } = base;
  const { tokenizer, chatTemplate, model, engine } = policy;
  const id = name ?? `${setting === undefined ? parent : `agent/${setting.name}`}-learning`;
  const serve = (adapter: Adapter): ServedModel | Promise<ServedModel> =>
    setting === undefined
      ? new Language({ ...{ id, parent, engine, tokenizer, chatTemplate, admission, adapter }, ...defaults })
      : servedAgent({ ...policy, engine: through(policy, adapter) }, setting, {
          parent,
          admission,
          ...defaults,
        });
  return Learning.open({
    ...{ ...choice, name: id, model, serve },
    lora: rank === undefined ? undefined : { rank },
    onEvent: (event) => log(told(event)),
  });
}
