/** Says how far a set-up is and how long it still takes: by known parts when it is the first, by counted steps after that. */
import { hideLine, isTerminal, say, showLine, silenceMs } from "./report.mjs";
import { parallelSeconds, partOf, serialSeconds } from "./work.mjs";

/** An estimate of this machine's speed begins with so many seconds at the speed of work.mjs. */
const trustSeconds = 10;

/** When each of the parts would be done on `jobs` cores that begin them in the order of work.mjs. */
function schedule(parts, jobs) {
  const cores = Array.from({ length: jobs }, () => 0);
  const left = Object.entries(parallelSeconds).filter(([part]) => parts.has(part));
  return Object.fromEntries(
    left.map(([part, seconds]) => {
      const core = cores.indexOf(Math.min(...cores));
      cores[core] += seconds;
      return [part, cores[core]];
    }),
  );
}

/** The least that is said to be left while a part is not done. */
const leastSeconds = 3;

const secondsText = (ms) => `${Math.ceil(ms / 5000) * 5} s`;

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

/** The parts of a set-up that are done, and how long the others will take. */
export class Progress {
  #now;
  #isFirst;
  #jobs;
  #start;
  #phaseStart;
  #serial = { ...serialSeconds };
  #expected;
  #undone = new Set(Object.keys(parallelSeconds));
  #reached = 0;
  #slowness = 1;
  #steps = "";
  #begun = [];
  #rest = "";
  #next;

  /** `isFirst`: nothing is there yet; `jobs`: cores that work; `now`: a clock in milliseconds. */
  constructor({ isFirst, jobs, now = () => performance.now() }) {
    this.#now = now;
    this.#isFirst = isFirst;
    this.#jobs = jobs;
    this.#expected = schedule(this.#undone, jobs);
    this.#start = this.#phaseStart = now();
    this.#next = this.#start + silenceMs;
  }

  /** A part of work.mjs is done. */
  finish(part) {
    const isSerial = part in this.#serial;
    if (!isSerial && !this.#undone.delete(part)) return this.tick();
    delete this.#serial[part];
    const now = this.#now();
    if (isSerial) this.#phaseStart = now;
    if (isSerial || Object.keys(this.#serial).length > 0) {
      // What waits for the serial parts begins after them: TypeScript may be done by then.
      this.#expected = schedule(this.#undone, this.#jobs);
    } else {
      this.#reached = Math.max(this.#reached, this.#expected[part]);
      this.#slowness = (trustSeconds + (now - this.#phaseStart) / 1000) / (trustSeconds + this.#reached);
    }
    this.tick();
  }

  /** Takes a piece of the native build's output, which may end within a line. */
  feed(chunk) {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const [, done, total] = /^\[ *(\d+)(?:\/(\d+)|%)\]/.exec(line) ?? [];
      if (done === undefined) continue;
      if (total !== undefined) this.#pass(`${done} of ${total} steps`, partOf(line));
      else if (!line.includes("Built target")) this.#pass(`${done} %`, this.#doneBefore(partOf(line)));
    }
  }

  /** What is built is not what work.mjs knows: no time left is told, only steps. */
  countOnly() {
    this.#isFirst = false;
  }

  /** To be called every second. */
  tick() {
    const now = this.#now();
    if (isTerminal() && (this.#steps !== "" || this.#isFirst)) return showLine(this.#text(now));
    if (now < this.#next) return;
    say(this.#text(now));
    this.#next = now + silenceMs;
  }

  end() {
    hideLine();
  }

  /** How long is left, in milliseconds; undefined when it is not known. */
  left(now = this.#now()) {
    if (!this.#isFirst) return undefined;
    const serial = sum(Object.values(this.#serial));
    const passed = (now - this.#phaseStart) / 1000;
    const end = Math.max(0, ...Object.values(this.#expected));
    if (serial > 0) return (Math.max(serial - passed, 0) + end) * 1000;
    if (this.#undone.size === 0) return 0;
    // A part that takes longer than it should is not over at once: a quarter of the rest stands for what is unknown of it.
    const least = leastSeconds + ((end - this.#reached) * this.#slowness) / 4;
    return Math.max(end * this.#slowness - passed, least) * 1000;
  }

  /** Ninja tells of a part when it is done, make when it begins: by then the part `jobs` before it is done. */
  #doneBefore(part) {
    this.#begun.push(part);
    return this.#begun.at(-1 - this.#jobs);
  }

  #pass(steps, part) {
    this.#steps = steps;
    if ("configuring" in this.#serial) this.finish("configuring");
    this.finish(part ?? "");
  }

  #text(now) {
    const left = this.left(now);
    const steps = this.#steps === "" ? "setting up" : `building, ${this.#steps}`;
    return `${steps}: ${secondsText(now - this.#start)} so far${left === undefined ? "" : `, about ${secondsText(left)} left`}`;
  }
}
