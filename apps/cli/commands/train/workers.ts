/** Servers that roll out for `seekrl train`. */
import { z } from "zod";
import type { WorkerPool } from "../../../../connectors/workers/worker-pool.ts";
import type { ProcessGroup } from "../../../../lib/comm/process-group.ts";
import type { LocalPolicy } from "../../../../lib/engine/local-policy.ts";
import type { PolicyAgent } from "../../../../lib/rollout/agents/agent.ts";
import type { Limits } from "../../../../lib/rollout/limits.ts";
import type { SequenceSource } from "../../../../lib/rollout/seams.ts";
import { parseAssignments } from "../../assignments.ts";
import { type CommandIo, UsageError } from "../../command.ts";
import { inGroup } from "../../fields.ts";

/** Of `train`. */
export const workerOptions = inGroup("Workers", {
  worker: z
    .array(z.string())
    .default([])
    .describe(
      "Server that rolls out too, vLLM, SGLang or seekrl serve: URL, then concurrency=N (64), staleness=N, keyEnv=NAME.",
    ),
  workerFolder: z
    .string()
    .optional()
    .describe(
      "Folder for the weights that workers are given, which vLLM and SGLang see too (a temporary one).",
    ),
  localRollouts: z
    .int()
    .min(0)
    .optional()
    .describe("Rollouts that the local engine makes at once beside workers; 0 leaves all to them."),
});

const schema = z.object(workerOptions);

/** What they say. */
export type WorkerChoice = z.output<typeof schema>;

const worker = z.strictObject({
  url: z.string(),
  concurrency: z.int().min(1).optional(),
  staleness: z.int().min(0).optional(),
  keyEnv: z.string().optional(),
});

function workerOf(text: string) {
  const parsed = worker.safeParse(parseAssignments(text, "url", "--worker"));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new UsageError(`--worker: ${[...(issue?.path ?? []), issue?.message].join(": ")}`);
  }
  const { keyEnv: apiKeyEnv, ...rest } = parsed.data;
  return { ...rest, apiKeyEnv };
}

/** What a pool is made of besides its options. */
interface PoolParts {
  readonly policy: LocalPolicy;
  readonly limits: Limits;
  /** Makes the agent that is trained, over an engine or a worker. */
  readonly agent: (engine: SequenceSource) => Pick<PolicyAgent, "rollouts">;
  readonly io: CommandIo;
  /** The ranks that share the workers. */
  readonly processGroup: ProcessGroup | undefined;
}

/** Opens the workers that were named; nothing for none. @throws UsageError for an option of workers without one */
export async function openWorkers(
  { worker: named, workerFolder: folder, localRollouts: localConcurrency }: WorkerChoice,
  { policy: { engine, tokenizer, policy }, limits, agent, io, processGroup }: PoolParts,
): Promise<WorkerPool | undefined> {
  const workers = named.map(workerOf);
  if (workers.length === 0) {
    const idle =
      folder === undefined ? localConcurrency === undefined || "--local-rollouts" : "--worker-folder";
    if (idle !== true) throw new UsageError(`${idle}: expected only with --worker`);
    return undefined;
  }
  const { WorkerPool: Opened } = await import("../../../../connectors/workers/worker-pool.ts");
  const maxTokens = Math.min(limits.maxTokens, engine.maxTokens);
  return Opened.open({
    ...{ workers, agent, engine, tokenizer, policy, folder, localConcurrency, maxTokens, processGroup },
    onWarning: (message) => io.log(`warning: ${message}`),
    signal: io.signal,
  });
}
