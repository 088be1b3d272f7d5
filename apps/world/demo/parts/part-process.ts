/** A process that runs one part of a demo: told which by its first message, it answers with lines and what it found. */
import { codeOf, type ErrorCode, messageOf } from "../../../../lib/base/errors.ts";
import { openBuiltWorld } from "../world-search.ts";
import { type DemoPlan, type PartName, type PartResults, parts } from "./parts.ts";

/** What a part's process is told. */
export interface PartTask {
  readonly name: PartName;
  readonly plan: DemoPlan;
}

/** What it says. */
export type PartMessage =
  | { readonly line: string }
  | { readonly result: PartResults[PartName] }
  | { readonly failure: { readonly code: ErrorCode | undefined; readonly message: string } };

const abort = new AbortController();
// The demo was interrupted or is gone: what is under way is kept.
process.once("disconnect", () => abort.abort(new Error("the demo ended")));
process.once("message", (task) => void run(task as PartTask));

/** Resolves once the message was sent, or at once where the demo is gone. */
function say(message: PartMessage): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) return resolve();
    process.send(message, () => resolve());
  });
}

async function run({ name, plan }: PartTask): Promise<void> {
  try {
    using opened = await openBuiltWorld(plan.out, plan);
    const onLine = (line: string): void => void say({ line });
    const result = await parts[name](plan, { opened, onLine, signal: abort.signal });
    await say({ result });
  } catch (error) {
    const code = codeOf(error);
    // Of a defect the stack is told too, as the demo's own process would.
    const message =
      code === undefined && error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    await say({ failure: { code, message } });
  }
  if (process.connected) process.disconnect();
}
