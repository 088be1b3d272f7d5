/** Asks a server's `/health` again and again on a thread of its own, and tells the worst wait each time it is asked. */
import { Agent, get } from "node:http";
import { parentPort, workerData } from "node:worker_threads";

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let [worstMs, numAsked] = [0, 0];

function ask(): void {
  const begun = performance.now();
  get(`${workerData as string}/health`, { agent }, (answer) => {
    answer.resume().on("end", () => {
      numAsked += answer.statusCode === 200 ? 1 : 0;
      worstMs = Math.max(worstMs, performance.now() - begun);
      setTimeout(ask, 2);
    });
  }).on("error", () => setTimeout(ask, 2));
}

parentPort?.on("message", () => {
  parentPort?.postMessage({ worstMs, numAsked });
  [worstMs, numAsked] = [0, 0];
});
ask();
