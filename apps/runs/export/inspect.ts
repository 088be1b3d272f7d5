/** Runs as logs of Inspect AI, format 2 (its `EvalLog`): a question or a trajectory is a sample with messages and scores. */
import type { ExportedFigure, ExportedRun, ExportedTrajectory } from "./exported.ts";
import { type ExportedMessage, messagesOf } from "./messages.ts";

/** Tokens as Inspect counts them: what was read, what was written. */
interface ModelUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
}

/** What the head of a log sums up. */
interface Totals {
  numSamples: number;
  input: number;
  output: number;
  readonly scores: Map<string, Moments>;
}

/** Of the values of a score: how many there are, their sum and that of their squares. */
interface Moments {
  count: number;
  sum: number;
  squares: number;
}

/**
 * The text of a log, part by part. The head with the results stands before the samples, so trajectories are read twice.
 *
 * @param run - a training or an evaluation
 * @param options - `version` of the program that exports
 */
export async function* inspectLog(
  run: ExportedRun,
  { version }: { readonly version: string },
): AsyncGenerator<string> {
  const totals = await totalsOf(run);
  const head = JSON.stringify(headOf(run, totals, version));
  yield `${head.slice(0, -1)},"samples":[`;
  let isFirst = true;
  for await (const trajectory of run.trajectories()) {
    yield `${isFirst ? "" : ",\n"}${JSON.stringify(sampleOf(trajectory, modelOf(run)))}`;
    isFirst = false;
  }
  yield "]}\n";
}

async function totalsOf({ trajectories }: ExportedRun): Promise<Totals> {
  const totals: Totals = { numSamples: 0, input: 0, output: 0, scores: new Map() };
  for await (const { scores, numTokens } of trajectories()) {
    totals.numSamples += 1;
    totals.input += inputOf(numTokens);
    totals.output += numTokens.generated;
    for (const [name, value] of Object.entries(scores)) if (value !== null) addTo(totals.scores, name, value);
  }
  return totals;
}

function addTo(scores: Map<string, Moments>, name: string, value: number): void {
  const before = scores.get(name) ?? { count: 0, sum: 0, squares: 0 };
  scores.set(name, {
    count: before.count + 1,
    sum: before.sum + value,
    squares: before.squares + value ** 2,
  });
}

const inputOf = ({ prompt = 0, observed }: ExportedTrajectory["numTokens"]): number => prompt + observed;

function usageOf(input: number, output: number): ModelUsage {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/** Inspect asks for a name. */
const modelOf = ({ model, name }: ExportedRun): string => model || name;

function headOf(run: ExportedRun, totals: Totals, version: string): object {
  const { name, kind, options, hasEnded, endedAt } = run;
  const model = modelOf(run);
  return {
    version: 2,
    status: hasEnded ? "success" : "started",
    eval: {
      ...{ eval_id: name, run_id: name, created: endedAt.toISOString() },
      ...{ task: `seekrl ${kind}`, task_id: name, task_version: 0 },
      ...{ task_attribs: {}, task_args: options, task_args_passed: {} },
      dataset: { name, samples: totals.numSamples },
      ...{ model, model_generate_config: {}, model_args: {}, config: {} },
      packages: { seekrl: version },
    },
    plan: { name: "plan", steps: [{ solver: "search_agent", params: {}, params_passed: {} }], config: {} },
    results: resultsOf(totals, run.figures),
    stats: {
      ...{ started_at: "", completed_at: endedAt.toISOString() },
      ...{ model_usage: { [model]: usageOf(totals.input, totals.output) } },
      ...{ role_usage: {}, connection_limit_history: [] },
    },
    ...{ invalidated: false, tags: [], metadata: {} },
  };
}

function resultsOf({ numSamples, scores }: Totals, figures: readonly ExportedFigure[] = []): object {
  return {
    ...{ total_samples: numSamples, completed_samples: numSamples },
    scores: [...scores].map(([name, moments]) => ({
      ...{ name, scorer: name, params: {} },
      ...{ scored_samples: moments.count, unscored_samples: numSamples - moments.count },
      metrics: Object.fromEntries(
        metricsOf(
          moments,
          figures.find((figure) => figure.name === name),
        ).map(([metric, value]) => [metric, { name: metric, value, params: {} }]),
      ),
    })),
  };
}

/** Mean, its standard error as Inspect has it, and of an evaluation the ends of the bootstrap's interval. */
function metricsOf({ count, sum, squares }: Moments, figure: ExportedFigure | undefined): [string, number][] {
  const mean = sum / count;
  const variance = count < 2 ? 0 : Math.max(0, (squares - count * mean ** 2) / (count - 1));
  const [low, high] = figure?.interval ?? [];
  return [
    ["mean", mean],
    ["stderr", Math.sqrt(variance / count)],
    ...(low === undefined || high === undefined
      ? []
      : ([
          ["low", low],
          ["high", high],
        ] as [string, number][])),
  ];
}

function sampleOf(trajectory: ExportedTrajectory, model: string): object {
  const { questionId: id, epoch, question, answers, numTokens, seconds } = trajectory;
  const messages = messagesOf(trajectory);
  const usage = usageOf(inputOf(numTokens), numTokens.generated);
  return {
    ...{ id, epoch, input: question, target: answers },
    messages: messages.map((message) => messageOf(message, model)),
    output: outputOf(trajectory, messages, { model, usage }),
    scores: Object.fromEntries(
      Object.entries(trajectory.scores).flatMap((score) => scoreOf(score, trajectory)),
    ),
    metadata: metadataOf(trajectory),
    ...{ store: {}, events: [], model_usage: { [model]: usage }, role_usage: {}, attachments: {} },
    total_time: seconds ?? null,
  };
}

function scoreOf([name, value]: [string, number | null], { answer }: ExportedTrajectory): [string, object][] {
  return value === null ? [] : [[name, { value, answer, history: [] }]];
}

function metadataOf({ step, set, stop, rounds, queries, failures }: ExportedTrajectory): object {
  return { step, set, stop, rounds, queries, failures };
}

function messageOf({ role, content, call, callId }: ExportedMessage, model: string): object {
  if (role === "user") return { role, content, source: "input" };
  if (role === "tool") return { role, content, tool_call_id: callId, function: "search" };
  const called = call && [
    { id: call.id, function: "search", arguments: { queries: call.queries }, type: "function" },
  ];
  return { role, content, source: "generate", model, tool_calls: called };
}

/** By our reason why a trajectory ended. */
const stopReasons: Readonly<Record<string, string>> = {
  ...{ answer: "stop", eos: "stop", invalid: "stop", length: "max_tokens", context: "model_length" },
};

function outputOf(
  { stop }: ExportedTrajectory,
  messages: readonly ExportedMessage[],
  { model, usage }: { readonly model: string; readonly usage: ModelUsage },
): object {
  const last = messages.findLast(({ role }) => role === "assistant");
  if (last === undefined) return { model, choices: [], completion: "", usage };
  const choice = { message: messageOf(last, model), stop_reason: stopReasons[stop] ?? "unknown" };
  return { model, choices: [choice], completion: last.content, usage };
}
