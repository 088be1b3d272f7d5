/** How the set-up speaks: one line per step with its duration, and errors that name the remedy. */

/** An expected failure of the set-up: printed without a stack. `code` is one of SeekError's. */
export class SetupError extends Error {
  constructor(message, code = "ERR_STATE") {
    super(message);
    this.code = code;
  }
}

export function say(line) {
  process.stderr.write(`seekrl: ${line}\n`);
}

/** Runs one named step and says how long it took. */
export async function step(name, run) {
  const start = performance.now();
  const result = await run();
  say(`${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  return result;
}

export function bytesText(bytes) {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
