/** `retriever serve` in processes of their own, to be killed, paused and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A served index folder. */
export interface ServedFolder {
  readonly url: string;
  readonly child: ChildProcess;
  /** Ends it at once. */
  kill(): Promise<void>;
}

/** Starts a server and waits until it answers. */
export async function serveFolder(folder: string, { mode = "hybrid", port = 0 } = {}): Promise<ServedFolder> {
  const args = ["bin/seekrl.mjs", "retriever", "serve", "--index", `${folder},mode=${mode}`];
  const child = spawn(process.execPath, [...args, "--port", String(port), "--max-cached", "0", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const kill = async (): Promise<void> => {
    const isOver = once(child, "exit");
    child.kill("SIGKILL");
    await isOver;
  };
  return { url, child, kill };
}
