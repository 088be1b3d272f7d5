/** Shows how far a native build is, read from what ninja or make prints: nothing when nothing is compiled. */
import { durationText, silenceMs } from "./report.mjs";

/** Before that much is done, what is left is anybody's guess: the first files come with all that is read once. */
const guessFrom = 0.1;

/** What the last minute's steps took counts too: files of a kind stand together. */
const recentMs = 60_000;

/** Rounded down. */
function passedText(ms) {
  const seconds = Math.floor(ms / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
}

export class BuildProgress {
  #rest = "";
  #shown = "";
  #start;
  #next;
  #write;
  #now;
  #isTerminal;
  #total = 100;
  #isCounted = false;
  /** Times and counts of the steps of the last minute, and of the last step before it. */
  #passed;

  /** `now` is a clock in milliseconds. */
  constructor({
    write = (text) => process.stderr.write(text),
    isTerminal = process.stderr.isTTY === true,
    now = () => performance.now(),
  } = {}) {
    this.#write = write;
    this.#isTerminal = isTerminal;
    this.#now = now;
    this.#start = now();
    this.#next = this.#start + silenceMs;
    this.#passed = [{ at: this.#start, done: 0 }];
  }

  /** Takes a piece of the build's output, which may end within a line. */
  feed(chunk) {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const [, done, total] = /^\[ *(\d+)(?:\/(\d+)|%)\]/.exec(line) ?? [];
      if (Number(done) > 0) this.#pass(Number(done), total && Number(total));
    }
  }

  /** To be called every second: shows that time passes while a file takes long. */
  tick() {
    if (this.#shown !== "" || this.#now() >= this.#next) this.#show();
  }

  /** Takes the line off a terminal: the step's own line says that it is done. */
  end() {
    if (this.#shown !== "") this.#write(`\r${" ".repeat(this.#shown.length)}\r`);
    this.#shown = "";
  }

  #pass(done, total) {
    const at = this.#now();
    this.#isCounted = total !== undefined;
    this.#total = total ?? 100;
    this.#passed.push({ at, done });
    while (this.#passed.length > 2 && this.#passed[1].at <= at - recentMs) this.#passed.shift();
    this.#show();
  }

  #show() {
    const now = this.#now();
    const text = `seekrl: building the native addons: ${this.#text(now)}`;
    if (this.#isTerminal) {
      this.#write(`\r${text.padEnd(this.#shown.length)}`);
      this.#shown = text;
    } else if (now >= this.#next) {
      this.#write(`${text}\n`);
      this.#next = now + silenceMs;
    }
  }

  #text(now) {
    const { done } = this.#passed.at(-1);
    const passed = passedText(now - this.#start);
    if (done === 0) return `looking at what there is, ${passed} so far`;
    const count = this.#isCounted ? `${done} of ${this.#total} steps` : `${done} %`;
    const left = this.#left(done);
    return `${count}, ${passed} so far${left === undefined ? "" : `, about ${durationText(left)} left`}`;
  }

  /** The slower of all steps so far and those of the last minute, for each that is left. */
  #left(done) {
    if (done < guessFrom * this.#total || done >= this.#total) return undefined;
    const [first, last] = [this.#passed[0], this.#passed.at(-1)];
    const all = (last.at - this.#start) / done;
    const recent = (last.at - first.at) / (last.done - first.done);
    return (this.#total - done) * Math.max(all, recent);
  }
}
