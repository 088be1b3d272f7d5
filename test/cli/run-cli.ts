/** Calls the command line in this process. */
import { PassThrough, Writable } from "node:stream";
import type { TestContext } from "node:test";
import { main } from "../../apps/cli/main.ts";

/** What a call left behind. */
export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a call has of its own. */
interface CallOptions {
  /** Variables besides those of the process; what the library itself reads, such as HF_TOKEN, it reads of the process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Keeps what is written to it. */
class Kept extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk;
    this.emit("kept");
    done();
  }
}

/** A call that is under way. */
export class CliCall {
  readonly stdin = new PassThrough();
  readonly ended: Promise<CliResult>;
  readonly #stdout = new Kept();
  readonly #stderr = new Kept();
  readonly #abort = new AbortController();

  constructor(args: readonly string[], { env = {} }: CallOptions = {}) {
    const [stdin, stdout, stderr] = [this.stdin, this.#stdout, this.#stderr];
    const { signal } = this.#abort;
    const ended = main(args, { signal, stdin, stdout, stderr, env: { ...process.env, ...env } });
    this.ended = ended.then((code) => ({ code, stdout: stdout.text, stderr: stderr.text }));
  }

  /** As Ctrl-C does. */
  interrupt(): Promise<CliResult> {
    this.#abort.abort(new Error("interrupted"));
    return this.ended;
  }

  /** Waits until standard output, or standard error, says something. @throws where the call ends without */
  async until(pattern: RegExp, from: "stdout" | "stderr" = "stdout"): Promise<string> {
    const kept = from === "stdout" ? this.#stdout : this.#stderr;
    const saying = new Promise<void>((resolve) => {
      const look = (): void => void (pattern.test(kept.text) && resolve());
      kept.on("kept", look);
      look();
    });
    const end = await Promise.race([saying, this.ended]);
    if (pattern.test(kept.text)) return kept.text;
    throw new Error(`ended without ${pattern}: ${JSON.stringify(end)}`);
  }
}

/** Starts a server at a free port; it is stopped with the test, or before it by `call`. */
export async function startServing(
  t: TestContext,
  args: readonly string[],
  options?: CallOptions,
): Promise<{ readonly call: CliCall; readonly url: string }> {
  const call = new CliCall([...args, "--port", "0", "--json"], options);
  t.after(() => call.interrupt());
  return { call, url: (JSON.parse(await call.until(/\n/)) as { url: string }).url };
}

/** Calls `seekrl` with arguments and an empty input. */
export function runCli(...args: string[]): Promise<CliResult> {
  return runCliWith({}, ...args);
}

/** Calls `seekrl` with other variables of the environment too. */
export function runCliWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<CliResult> {
  return answered("", args, { env });
}

/** Calls `seekrl` with lines to read. */
export function runCliOn(input: string, ...args: string[]): Promise<CliResult> {
  return answered(input, args);
}

/** Calls `seekrl` in another working directory, which is the whole process's: one such call at a time. */
export async function runCliIn(cwd: string, ...args: string[]): Promise<CliResult> {
  const before = process.cwd();
  process.chdir(cwd);
  try {
    return await runCli(...args);
  } finally {
    process.chdir(before);
  }
}

function answered(input: string, args: readonly string[], options?: CallOptions): Promise<CliResult> {
  const call = new CliCall(args, options);
  call.stdin.end(input);
  return call.ended;
}

/** The object that a call with `--json` prints. */
export async function runJson<Printed = Record<string, unknown>>(...args: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await runCli(...args, "--json");
  if (code !== 0) throw new Error(`seekrl ${args.join(" ")} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Printed;
}
