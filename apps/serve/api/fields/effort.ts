/** How much a model is to think, as OpenAI's protocols say it. */
import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";

/** From no thoughts at all to the most. */
export const effortField = lazySchema((z) =>
  z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
);

/** Templates switch thoughts on and off, or print how much effort they shall be. */
export function effortVariables(
  effort: z.output<ReturnType<typeof effortField>> | undefined,
): Record<string, unknown> {
  return effort === undefined ? {} : { enable_thinking: effort !== "none", reasoning_effort: effort };
}
