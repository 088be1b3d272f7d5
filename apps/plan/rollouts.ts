/** The rollouts of a step, played through with drawn lengths: who generates, who waits for a search, until all are done. */
import { Dice } from "../../lib/base/random.ts";
import { usualBatchSequences } from "../../lib/engine/engine-options.ts";
import type { Parts } from "./parts.ts";
import type { Workload } from "./workload.ts";

/** Rollouts of one engine. */
interface EngineRollouts {
  readonly questions: number;
  /** Sequences that have room at once. */
  readonly room: number;
  /** Questions that are under way at once. */
  readonly begun: number;
  /** Names its draws. */
  readonly rank: number;
}

/** How long rollouts took. */
export interface RolloutSeconds {
  /** Until the last one ended. */
  readonly whole: number;
  /** In which the device worked. */
  readonly busy: number;
}

interface Sequence {
  /** Tokens that it still writes in this turn. */
  left: number;
  turn: number;
  length: number;
  /** When what it searched for is there. */
  readyAt: number;
}

class Engine {
  readonly #parts: Parts;
  readonly #work: Workload;
  readonly #dice: Dice;
  #clock = 0;
  #busy = 0;
  #writing: Sequence[] = [];
  #searching: Sequence[] = [];

  constructor(parts: Parts, work: Workload, rank: number) {
    this.#parts = parts;
    this.#work = work;
    this.#dice = new Dice(rank, 1);
  }

  play(questions: number, room: number): RolloutSeconds {
    const { samples } = this.#work;
    let waiting = questions * samples;
    while (waiting > 0 || this.#writing.length > 0 || this.#searching.length > 0) {
      const free = room - this.#writing.length - this.#searching.length;
      // A question begins with all of its samples, where so many have room.
      const whole = room < samples ? free : free - (free % samples);
      const begun = Math.min(waiting, Math.max(0, whole));
      waiting -= begun;
      if (begun > 0) this.#begin(begun);
      this.#takeFound();
      if (this.#writing.length > 0) this.#write();
      else if (this.#searching.length > 0) this.#clock = this.#nextFound();
    }
    return { whole: this.#clock, busy: this.#busy };
  }

  #spend(seconds: number): void {
    this.#clock += seconds;
    this.#busy += seconds;
  }

  /** The prompt of a question is read once for its samples. */
  #begin(count: number): void {
    const { samples, promptTokens } = this.#work;
    this.#read(Math.ceil(count / samples) * promptTokens, promptTokens / 2);
    for (let i = 0; i < count; i += 1) {
      this.#writing.push({ left: this.#turnLength(), turn: 0, length: promptTokens, readyAt: 0 });
    }
  }

  #read(tokens: number, context: number): void {
    if (tokens > 0) this.#spend(this.#parts.readSeconds({ tokens, rows: 0, context }));
  }

  #turnLength(): number {
    const { responseTokens, spread } = this.#work;
    return Math.max(1, Math.round(responseTokens * (1 + spread * (2 * this.#dice.next() - 1))));
  }

  #takeFound(): void {
    const found = this.#searching.filter(({ readyAt }) => readyAt <= this.#clock);
    if (found.length === 0) return;
    const { observationTokens } = this.#work;
    this.#searching = this.#searching.filter(({ readyAt }) => readyAt > this.#clock);
    const context = found.reduce((sum, { length }) => sum + length, 0) / found.length + observationTokens / 2;
    this.#read(found.length * observationTokens, context);
    for (const sequence of found) {
      sequence.length += observationTokens;
      sequence.left = this.#turnLength();
      this.#writing.push(sequence);
    }
  }

  #nextFound(): number {
    return this.#searching.reduce((least, { readyAt }) => Math.min(least, readyAt), Number.POSITIVE_INFINITY);
  }

  /** All write until the first has ended its turn, or something is found. */
  #write(): void {
    const sequences = this.#writing.length;
    const shortest = this.#writing.reduce(
      (least, { left }) => Math.min(least, left),
      Number.POSITIVE_INFINITY,
    );
    const context = this.#writing.reduce((sum, { length }) => sum + length, 0) / sequences + shortest / 2;
    const seconds = this.#stepSeconds(sequences, context);
    const untilFound = Math.max(1, Math.ceil((this.#nextFound() - this.#clock) / seconds));
    const steps = Math.min(shortest, untilFound);
    this.#spend(steps * seconds);
    for (const sequence of this.#writing) {
      sequence.left -= steps;
      sequence.length += steps;
    }
    this.#endTurns();
  }

  /** More sequences than a batch holds take turns. */
  #stepSeconds(sequences: number, context: number): number {
    const batches = Math.ceil(sequences / usualBatchSequences);
    return batches * this.#parts.decodeSeconds({ sequences: sequences / batches, context });
  }

  #endTurns(): void {
    const { searches, searchSeconds } = this.#work;
    for (const sequence of this.#writing.filter(({ left }) => left === 0)) {
      sequence.turn += 1;
      if (sequence.turn > searches) continue;
      sequence.readyAt = this.#clock + searchSeconds;
      this.#searching.push(sequence);
    }
    this.#writing = this.#writing.filter(({ left }) => left > 0);
  }
}

/**
 * Plays the rollouts of one engine: all sequences that have room begin at once, those that write share engine steps, one
 * that searches leaves the batch until its passages are there.
 *
 * @param parts - what its steps take
 * @param work - lengths, turns, the time of a search
 * @param options - its questions, how many are under way at once, how many sequences have room
 * @returns seconds; the same for the same arguments
 */
export function rolloutSeconds(
  parts: Parts,
  work: Workload,
  { questions, room, begun, rank }: EngineRollouts,
): RolloutSeconds {
  return new Engine(parts, work, rank).play(questions, Math.max(1, Math.min(room, begun * work.samples)));
}
