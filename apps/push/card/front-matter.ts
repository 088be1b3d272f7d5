/** The metadata of a model card, as the hub reads it. */
import { defined } from "../../../lib/base/defined.ts";
import { pinnedCommit } from "./base-model.ts";
import type { CardFacts } from "./card-facts.ts";
import type { ScoreName, SetScores } from "./scores.ts";

/** The hub's names of what is measured. */
const metricTypes: Readonly<Record<ScoreName, string>> = { em: "exact_match", f1: "f1" };

function resultOf({ set, scores }: SetScores): object {
  return {
    task: { type: "question-answering", name: "Question answering with search" },
    dataset: { type: set, name: set },
    metrics: scores.map(({ name, value }) => ({ type: metricTypes[name], name, value: rounded(value) })),
  };
}

const rounded = (value: number): number => Number(value.toFixed(4));

/**
 * The metadata as plain data.
 *
 * @param facts - what the card states
 */
export function frontMatter({ id, kind, library, base, license, training, scores }: CardFacts): object {
  const algorithm = training?.algorithm;
  const datasets = training?.data.flatMap(({ dataset, role }) =>
    dataset !== undefined && (role === "questions" || role === "demonstrations") ? [dataset] : [],
  );
  const isNamed = base?.isOnHub === true;
  return defined({
    license,
    library_name: library ?? "seekrl",
    pipeline_tag: "text-generation",
    base_model: isNamed ? base.name : undefined,
    base_model_relation: isNamed ? (kind === "adapter" ? "adapter" : "finetune") : undefined,
    // The hub's own keys have no place for a commit.
    base_model_revision: isNamed ? pinnedCommit(base) : undefined,
    datasets: datasets?.length ? [...new Set(datasets)] : undefined,
    tags: ["seekrl", "search-agent", training?.recipe?.name, algorithm].filter((tag) => tag !== undefined),
    "model-index":
      scores.length === 0 ? undefined : [{ name: id.split("/")[1], results: scores.map(resultOf) }],
  });
}
