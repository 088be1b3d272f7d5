/** Shows how far a native build is, read from what ninja or make prints: nothing when nothing is compiled. */

/** Between two lines of a log that is no terminal. */
const logEveryMs = 15_000;

function duration(ms) {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

export class BuildProgress {
  #rest = "";
  #shown = "";
  #start;
  #next;
  #write;
  #now;
  #isTerminal;

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
    this.#next = this.#start + logEveryMs;
  }

  /** Takes a piece of the build's output, which may end within a line. */
  feed(chunk) {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const [, done, total] = /^\[ *(\d+)(?:\/(\d+)|%)\]/.exec(line) ?? [];
      if (Number(done) > 0) this.#show(Number(done), total && Number(total));
    }
  }

  /** Takes the line off a terminal: the step's own line says that it is done. */
  end() {
    if (this.#shown !== "") this.#write(`\r${" ".repeat(this.#shown.length)}\r`);
    this.#shown = "";
  }

  #show(done, total) {
    const now = this.#now();
    const left = (now - this.#start) * ((total ?? 100) / done - 1);
    const count = total === undefined ? `${done} %` : `${done} of ${total} steps`;
    const text = `seekrl: building the native addons: ${count}, about ${duration(left)} left`;
    if (this.#isTerminal) {
      this.#write(`\r${text.padEnd(this.#shown.length)}`);
      this.#shown = text;
    } else if (now >= this.#next) {
      this.#write(`${text}\n`);
      this.#next = now + logEveryMs;
    }
  }
}
