/** `seekrl serve --learn` as a user starts it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** What is served. */
interface ServerChoice {
  readonly model: string;
  /** Of the world; the model's own names another. */
  readonly seed: number;
  /** `KEY=VALUE,...` of `--learn`. */
  readonly learn: string;
  readonly out: string;
}

/** A server that is listening. */
interface LearningServer {
  readonly url: string;
  /** The name of what learns. */
  readonly model: string;
  stop(): Promise<void>;
}

/** Starts one; what it says goes to standard error and into `server.log`. */
export async function startServer({ model, seed, learn, out }: ServerChoice): Promise<LearningServer> {
  const folder = join(out, "model");
  await mkdir(out, { recursive: true });
  await cp(model, folder, { recursive: true });
  await writeFile(join(folder, "world.json"), JSON.stringify({ seed, search: "patchy" }));
  const learning = [join(out, "learnt"), ...(learn === "" ? [] : [learn])].join(",");
  const flags = ["--model", folder, "--learn", learning, "--record", join(out, "records"), "--port", "0"];
  process.stderr.write(`seekrl serve ${flags.join(" ")}\n`);
  const child = spawn(process.execPath, ["bin/seekrl.mjs", "serve", ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const log = createWriteStream(join(out, "server.log"));
  const started = performance.now();
  createInterface({ input: child.stderr }).on("line", (line) => {
    const at = ((performance.now() - started) / 1000).toFixed(1);
    log.write(`${at} ${line}\n`);
    process.stderr.write(`${at} ${line}\n`);
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const [, names = "", url = ""] = /^(.*) at (http\S+)$/.exec(line) ?? [];
  const stop = async (): Promise<void> => {
    if (child.exitCode === null) child.kill("SIGINT");
    await exited;
  };
  return { url, model: names.split(", ").at(-1) ?? "", stop };
}
