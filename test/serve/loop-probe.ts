/** Tells on SIGUSR2 what the event loop of a process was held for at most: processor time, which other work of the machine does not change. */
import { readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

function processorMs(): number {
  const [nanoseconds] = readFileSync("/proc/thread-self/schedstat", "latin1").split(" ");
  return Number(nanoseconds) / 1e6;
}

let [last, worst] = [0, 0];

function look(): void {
  const now = processorMs();
  worst = Math.max(worst, now - last);
  last = now;
}

if (isMainThread) {
  last = processorMs();
  setInterval(look, 1).unref();
  process.on("SIGUSR2", () => {
    look();
    process.stderr.write(`held ${worst}\n`);
    worst = 0;
  });
}
