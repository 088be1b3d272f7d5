/** Processes of `seekrl train` that only generate. */
import { z } from "zod";
import type { ProcessGroup } from "../../../../lib/comm/process-group.ts";
import type { Policy } from "../../../../lib/model/policy.ts";
import type { RlOptions } from "../../../../lib/train/rl-options.ts";
import type { RankRoles } from "../../../../lib/train/roles/rank-roles.ts";
import { UsageError } from "../../command.ts";
import { inGroup } from "../../fields.ts";

/** Of `train`. */
export const rolloutRankOptions = inGroup("Several processes", {
  rolloutRanks: z
    .int()
    .min(0)
    .default(0)
    .describe(
      "Processes that only generate, the last ones; the others only train: give --staleness 1 too, or they take turns (0: all do both).",
    ),
});

/** Who generates and who trains; undefined where all do both. @throws UsageError where nobody is left to train */
export async function openRoles(
  { rolloutRanks }: { readonly rolloutRanks: number },
  job: ProcessGroup | undefined,
): Promise<RankRoles | undefined> {
  if (rolloutRanks === 0) return undefined;
  if (job === undefined || rolloutRanks >= job.size) {
    const expected = `more processes than ${rolloutRanks}, of which at least one trains`;
    throw new UsageError(`--rollout-ranks: expected ${expected}, got ${job?.size ?? 1}`);
  }
  const { RankRoles: Opened } = await import("../../../../lib/train/roles/rank-roles.ts");
  return Opened.open(job, { rolloutRanks });
}

/** Generates for the processes that train. */
export async function generate(
  { task, algorithm, batch, steps, seed, evaluation, signal }: Omit<RlOptions, "learners">,
  { policy, roles }: { readonly policy: Policy; readonly roles: RankRoles },
): Promise<void> {
  const { rollOut } = await import("../../../../lib/train/roles/roll-out.ts");
  await rollOut({ ...{ task, algorithm, batch, steps, seed, evaluation, signal }, policy, roles });
}
