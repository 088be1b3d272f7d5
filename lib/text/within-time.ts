/** A deadline for synchronous work: regular expressions and templates from files may take for ever. */
import { type Context, createContext, Script } from "node:vm";

const run = new Script("task()");
let context: (Context & { task?: () => unknown }) | undefined;

/**
 * Runs a function to its end, or until the time is over; then it stops wherever it is, so it must not change anything
 * that lives on.
 *
 * @param timeoutMs time on the clock, at least 1
 * @param task what to run; it may not call `withinTime` itself
 * @returns what the function returns; undefined when the time was over
 * @throws whatever the function throws
 * @example
 * assert.equal(withinTime(1000, () => 1 + 1), 2);
 */
export function withinTime<T>(timeoutMs: number, task: () => T): T | undefined {
  context ??= createContext({});
  context.task = task;
  try {
    return run.runInContext(context, { timeout: timeoutMs });
  } catch (cause) {
    if ((cause as { code?: unknown } | null)?.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw cause;
    return undefined;
  } finally {
    context.task = undefined;
  }
}
