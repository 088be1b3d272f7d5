/** A deadline for synchronous work: regular expressions and templates from files may take for ever. */
import { type Context, createContext, Script } from "node:vm";

const run = new Script("task()");
let context: (Context & { task?: () => unknown }) | undefined;

/** Milliseconds: a clock goes on while a machine is suspended or out of memory, its processor does not. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Runs a function to its end, or until the time is over; then it stops wherever it is, so it must not change anything
 * that lives on. Where the time passed without the process, it runs again from the beginning.
 *
 * @param timeoutMs time, at least 1
 * @param task what to run; it may not call `withinTime` itself
 * @returns what the function returns; undefined when the time was over
 * @throws whatever the function throws
 * @example
 * assert.equal(withinTime(1000, () => 1 + 1), 2);
 */
export function withinTime<T>(timeoutMs: number, task: () => T): T | undefined {
  const start = processorMs();
  do {
    const ended = attempt(timeoutMs, task);
    if (ended !== undefined) return ended.result;
  } while (processorMs() - start < timeoutMs / 2);
  return undefined;
}

function attempt<T>(timeoutMs: number, task: () => T): { readonly result: T } | undefined {
  context ??= createContext({});
  context.task = task;
  try {
    return { result: run.runInContext(context, { timeout: timeoutMs }) };
  } catch (cause) {
    if ((cause as { code?: unknown } | null)?.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw cause;
    return undefined;
  } finally {
    context.task = undefined;
  }
}
