/** Progress on standard error: one line that moves on a terminal, a line now and then elsewhere. */
import type { CommandIo } from "../command.ts";

/** A line that is written over until it ends. */
export interface ProgressLine {
  show(text: string): void;
  end(): void;
}

/** How often a log that is no terminal gets a line. */
const logEveryMs = 10_000;

/** Starts a progress line. */
export function progressLine({ stderr, log }: Pick<CommandIo, "stderr" | "log">): ProgressLine {
  let shown = "";
  if (stderr.isTTY) {
    return {
      show: (text) => {
        stderr.write(`\r${text.padEnd(shown.length)}`);
        shown = text;
      },
      end: () => void (shown !== "" && stderr.write("\n")),
    };
  }
  let next = performance.now() + logEveryMs;
  return {
    show: (text) => {
      if (performance.now() < next) return;
      log(text);
      next = performance.now() + logEveryMs;
    },
    end: () => {},
  };
}
