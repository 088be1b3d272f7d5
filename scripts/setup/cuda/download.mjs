/** Downloads files that may be large: goes on where it was interrupted, says how far it is, believes only a checksum. */
import { open, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { sha256Of } from "../digest.mjs";
import { bytesText, durationText, SetupError, say, silenceMs } from "../report.mjs";

const maxAttempts = 4;
const firstPauseMs = 1000;

/** Between two changes of the line on a terminal. */
const terminalEveryMs = 200;

/** Another attempt meets the same disk. */
const isOfDisk = ({ code }) => ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"].includes(code);

const sizeOf = async (path) => (await stat(path).catch(() => undefined))?.size ?? 0;

/** A line about all files together: how much is here, how fast, how long still. */
export class DownloadProgress {
  #total;
  #done = 0;
  #fresh = 0;
  #start = performance.now();
  #next;
  #shown = "";
  #isTerminal;
  #write;

  constructor(
    total,
    { isTerminal = process.stderr.isTTY === true, write = (text) => process.stderr.write(text) } = {},
  ) {
    this.#total = total;
    this.#isTerminal = isTerminal;
    this.#write = write;
    this.#next = this.#start + (isTerminal ? 0 : silenceMs);
  }

  /** Bytes that an earlier set-up left. */
  resumed(bytes) {
    this.#done += bytes;
  }

  received(bytes) {
    this.#done += bytes;
    this.#fresh += bytes;
    const now = performance.now();
    if (now < this.#next) return;
    this.#next = now + (this.#isTerminal ? terminalEveryMs : silenceMs);
    const perSecond = (this.#fresh / (now - this.#start)) * 1000;
    const time = durationText((1000 * Math.max(0, this.#total - this.#done)) / perSecond);
    const rate = `${bytesText(perSecond)}/s`;
    const line = `seekrl: downloaded ${bytesText(this.#done)} of ${bytesText(this.#total)}, ${rate}, about ${time} left`;
    this.#write(this.#isTerminal ? `\r${line.padEnd(this.#shown.length)}` : `${line}\n`);
    this.#shown = line;
  }

  end() {
    if (this.#isTerminal && this.#shown !== "") this.#write(`\r${" ".repeat(this.#shown.length)}\r`);
  }
}

/** Appends what is missing of a file. */
async function attempt(index, { url }, part, progress) {
  const have = await sizeOf(part);
  const response = await index.fetched(url, have > 0 ? { headers: { range: `bytes=${have}-` } } : {});
  if (response.status === 416) return; // all of it is here: the checksum decides
  if (!response.ok) {
    const problem = new SetupError(`${url}: HTTP ${response.status}`, "ERR_REMOTE");
    problem.isFinal = response.status < 500;
    throw problem;
  }
  const isRest = response.status === 206;
  const file = await open(part, isRest ? "a" : "w");
  try {
    if (!isRest) progress.resumed(-have);
    const expected = Number(response.headers.get("content-length"));
    let count = 0;
    for await (const chunk of response.body) {
      // `write` may write a part and report no error when the disk is nearly full.
      await file.writeFile(chunk);
      progress.received(chunk.length);
      count += chunk.length;
    }
    if (count < expected) throw new Error(`the connection ended after ${count} of ${expected} bytes`);
  } finally {
    await file.close();
  }
}

/**
 * Downloads a wheel into a folder; one that is there is not fetched again.
 *
 * @param index - asked for the file
 * @param wheel - `file`, `url`, and `sha256` where the index states one
 * @returns its path
 */
export async function download(index, wheel, folder, { progress, signal, pauseMs = firstPauseMs }) {
  const path = join(folder, wheel.file);
  const part = `${path}.part`;
  if ((await sizeOf(path)) > 0) {
    progress.resumed(await sizeOf(path));
    return path;
  }
  progress.resumed(await sizeOf(part));
  for (let tried = 1; ; tried += 1) {
    try {
      await attempt(index, wheel, part, progress);
      break;
    } catch (error) {
      if (signal?.aborted)
        throw new SetupError("setup: aborted; the same command goes on where it was", "ERR_ABORTED");
      if (isOfDisk(error)) throw error;
      const why = `${wheel.file}: ${error.cause?.message ?? error.message}`;
      if (tried === maxAttempts || error.isFinal)
        throw new SetupError(
          `${why}. Remedy: run the same command again; it goes on where it was.`,
          "ERR_REMOTE",
        );
      say(`${why}; trying again`);
      await new Promise((done) => setTimeout(done, pauseMs * tried));
    }
  }
  await verify(part, wheel);
  await rename(part, path);
  return path;
}

/** Throws away a file that is another than the index says. */
async function verify(part, { sha256, file }) {
  if (sha256 === undefined) return;
  const actual = await sha256Of(part);
  if (actual === sha256) return;
  await rm(part);
  throw new SetupError(
    `${basename(file)}: expected the sha256 ${sha256}, got ${actual}. Remedy: run the same command again; ` +
      "where it stays so, the index or what stands between is broken: name another with --index.",
    "ERR_FORMAT",
  );
}
