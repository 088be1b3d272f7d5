/** How the set-up speaks: one line per step with its duration, and errors that name the remedy. */

/** An expected failure of the set-up: printed without a stack. `code` is one of SeekError's. */
export class SetupError extends Error {
  constructor(message, code = "ERR_STATE") {
    super(message);
    this.code = code;
  }
}

/** What the last line of the terminal shows until something else is said. */
let shown = "";

export const isTerminal = () => process.stderr.isTTY === true;

/** Shows a line on the terminal in place of the one before; a narrow terminal gets its beginning. */
export function showLine(line) {
  const text = `seekrl: ${line}`.slice(0, (process.stderr.columns ?? 80) - 1);
  process.stderr.write(`\r${text.padEnd(shown.length)}`);
  shown = text;
}

/** Takes the line off again. */
export function hideLine() {
  if (shown !== "") process.stderr.write(`\r${" ".repeat(shown.length)}\r`);
  shown = "";
}

export function say(line) {
  hideLine();
  process.stderr.write(`seekrl: ${line}\n`);
}

/** Milliseconds between two lines of progress in a log. */
export const silenceMs = 10_000;

/**
 * Runs one named step and says how long it took.
 *
 * @param name - said at its end: `found libtorch`
 * @param run - the step
 */
export async function step(name, run) {
  const start = performance.now();
  const result = await run();
  say(`${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  return result;
}

export function bytesText(bytes) {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** How long something still takes: `75 s`, `12 min`. */
export function durationText(ms) {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

/** Runs a script's work; a failure ends it with exit code 1, an expected one without a stack. */
export async function runMain(work) {
  try {
    await work();
  } catch (error) {
    say(error instanceof SetupError ? error.message : error.stack);
    process.exitCode = 1;
  }
}
