/** Whether the rewards of one and the same model have fallen: then what rewards has changed, and not the model. */

/** What is said of the newest rewards: as before, lower than before, or as before again. */
export type Shift = "none" | "fallen" | "back";

/** Standard errors below which rewards have fallen; as each reward is looked at, fewer would be crossed by chance. */
const errorsFallen = 4;

/** Standard errors down to which they are what they were. */
const errorsBack = 2;

/** The mean of all rewards of a model whose weights stay, beside that of its newest. */
export class Level {
  readonly #numNewest: number;
  #newest: number[] = [];
  #count = 0;
  #sum = 0;
  #squares = 0;
  #hasFallen = false;

  /** @param numNewest - how many are compared with those before them */
  constructor(numNewest: number) {
    this.#numNewest = numNewest;
  }

  /** Mean of the rewards before the newest. */
  get before(): number {
    return this.#sum / this.#count;
  }

  /** Mean of the newest. */
  get now(): number {
    return this.#newest.reduce((sum, each) => sum + each, 0) / this.#newest.length;
  }

  /** Takes a reward. While rewards are lower than before, none counts as one before. */
  add(reward: number): Shift {
    this.#newest.push(reward);
    const oldest = this.#newest.length > this.#numNewest ? this.#newest.shift() : undefined;
    if (oldest !== undefined && !this.#hasFallen) this.#keep(oldest);
    if (Math.min(this.#newest.length, this.#count) < this.#numNewest) return "none";
    return this.#shift();
  }

  /** Begins anew, with rewards of the model that has become the one it is about. */
  restart(rewards: readonly number[]): void {
    [this.#newest, this.#count, this.#sum, this.#squares, this.#hasFallen] = [[], 0, 0, 0, false];
    for (const each of rewards) this.#keep(each);
  }

  #keep(reward: number): void {
    this.#count += 1;
    this.#sum += reward;
    this.#squares += reward ** 2;
  }

  #shift(): Shift {
    const errors = (this.before - this.now) / this.#error();
    if (!this.#hasFallen && errors > errorsFallen) {
      this.#hasFallen = true;
      return "fallen";
    }
    if (!this.#hasFallen || errors > errorsBack) return "none";
    this.#hasFallen = false;
    return "back";
  }

  /** Of the difference, from the variance of all: the newest alone may be equal by chance. */
  #error(): number {
    const [n, m] = [this.#newest.length, this.#count];
    const sum = this.#sum + this.#newest.reduce((all, each) => all + each, 0);
    const squares = this.#squares + this.#newest.reduce((all, each) => all + each ** 2, 0);
    const variance = Math.max(squares / (n + m) - (sum / (n + m)) ** 2, Number.EPSILON);
    return Math.sqrt(variance * (1 / n + 1 / m));
  }
}
