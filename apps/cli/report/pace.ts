/** The speed of work and its time left, measured over the last seconds rather than since the beginning. */

import { bytesText } from "../../../lib/base/disk/free-space.ts";

/** Where the work stood at a moment, in milliseconds. */
interface Mark {
  readonly at: number;
  readonly done: number;
}

const numMarks = 20;
const markEveryMs = 1000;

/** "2 h 5 min", "40 s". */
export function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Measures a pace. */
export class Pace {
  readonly #now: () => number;
  #marks: Mark[] = [];

  /** @param now the clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Notes where the work stands.
   *
   * @returns units a second, and the seconds that are left; undefined before there are two moments to compare
   */
  at(done: number, total: number): { readonly perSecond: number; readonly secondsLeft: number } | undefined {
    const now = this.#now();
    const oldest = this.#marks[0];
    const last = this.#marks.at(-1);
    if (last === undefined || now - last.at >= markEveryMs)
      this.#marks = [...this.#marks, { at: now, done }].slice(-numMarks);
    if (oldest === undefined || now === oldest.at || done <= oldest.done) return undefined;
    const perSecond = ((done - oldest.done) * 1000) / (now - oldest.at);
    return { perSecond, secondsLeft: (total - done) / perSecond };
  }
}

/** Of work in bytes how fast it goes on and what is left: ", 12 MB/s, 40 s left"; nothing as long as that is not known. */
export function rateText(pace: Pace, done: number, total: number): string {
  const now = pace.at(done, total);
  return now === undefined ? "" : `, ${bytesText(now.perSecond)}/s, ${durationText(now.secondsLeft)} left`;
}
