/** Runs changes of an index folder that end by SIGKILL. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import { peoplePassages } from "../people.ts";

/** What is built, and what is added to it. */
export function killedPassages(): { first: Passage[]; second: Passage[] } {
  const all = peoplePassages(1500);
  return { first: all.slice(0, 1000), second: all.slice(1000) };
}

/** A moment: a stage at whose first batch the program kills itself, or milliseconds after its beginning. */
export type Moment = string | number;

/** Runs `change-run.ts`; resolves to whether it was killed before its end. */
export async function runAndKill(operation: string, folder: string, moment: Moment): Promise<boolean> {
  const program = fileURLToPath(new URL("change-run.js", import.meta.url));
  const args = [program, operation, folder, ...(typeof moment === "string" ? [moment] : [])];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let timer: NodeJS.Timeout | undefined;
  child.stdout.once("data", () => {
    if (typeof moment === "number") timer = setTimeout(() => child.kill("SIGKILL"), moment);
  });
  const signal = await new Promise((resolve) => child.on("close", (_, name) => resolve(name)));
  clearTimeout(timer);
  return signal === "SIGKILL";
}
