/** How much of its time and of its search an agent may use, as requests say it. */
import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import type { AgentBudget } from "../../reply/reply.ts";

/** Passages of a query: no prompt has room for more, and a large index would be emptied. */
const mostPassages = 100;

/** The field `agent` of a request; no protocol has it but ours. */
export const budgetFields = lazySchema((z) =>
  z.strictObject({
    max_searches: z.int().min(0).optional(),
    top_k: z.int().min(1).max(mostPassages).optional(),
    // What a timer can count.
    deadline_ms: z
      .int()
      .min(1)
      .max(2 ** 31 - 1)
      .optional(),
  }),
);

/** An agent's budget as the library names it. */
export function budgetOf(
  agent: z.output<ReturnType<typeof budgetFields>> | null | undefined,
): AgentBudget | undefined {
  if (agent == null) return undefined;
  return { maxSearches: agent.max_searches, topK: agent.top_k, deadlineMs: agent.deadline_ms };
}
