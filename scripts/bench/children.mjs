/** Child processes of the comparison: each in a process group of its own, so that nothing of it outlives the comparison. */
import { spawn } from "node:child_process";

/** A child that takes longer has hung. */
const limitMs = 60 * 60_000;

/** After a polite end, this long until the impolite one. */
const graceMs = 2000;

function end(child, name) {
  try {
    if (process.platform === "win32") child.kill(name);
    else process.kill(-child.pid, name);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/** The last lines that say something, for an error's message. */
function lastWords(text, numLines = 3) {
  const lines = text.split("\n").filter((line) => line.trim().length > 0);
  return lines.slice(-numLines).join(" / ").slice(-400);
}

/** Aborting ends the group, first politely; whoever waits learns of it when the child is gone. */
function endWhenAborted(child, signal) {
  const stop = () => {
    end(child, "SIGTERM");
    setTimeout(() => end(child, "SIGKILL"), graceMs).unref();
  };
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  return () => signal.removeEventListener("abort", stop);
}

/** What a program printed, when it ended well; else an error with its last words. Grandchildren end with it. */
export function runChild(command, args, { signal, cwd, env } = {}) {
  const limit = AbortSignal.timeout(limitMs);
  const child = spawn(command, args, {
    ...{ cwd, env: { ...process.env, ...env }, detached: process.platform !== "win32" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const forget = endWhenAborted(child, signal === undefined ? limit : AbortSignal.any([signal, limit]));
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"])
    child[stream].setEncoding("utf8").on("data", (part) => {
      said[stream] += part;
    });
  return new Promise((resolve, reject) => {
    child.on("error", (error) => reject(new Error(`${command}: ${error.message}`, { cause: error })));
    child.on("close", (status, name) => {
      forget();
      if (child.pid !== undefined) end(child, "SIGKILL");
      if (signal?.aborted) reject(signal.reason);
      else if (status === 0) resolve(said);
      else {
        const how = limit.aborted ? "took over an hour" : `ended with ${name ?? `status ${status}`}`;
        reject(new Error(`${how}: ${lastWords(said.stderr || said.stdout)}`));
      }
    });
  });
}
