/** The trajectories of a run, read while they are written: an index of some fifty bytes a line, lines by their offsets. */
import { join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import { Column } from "../logs/column.ts";
import { LineLog } from "../logs/line-log.ts";
import { Names } from "../logs/names.ts";
import { sortedRows } from "../logs/sorted-rows.ts";
import {
  headBytesOf,
  headOf,
  type LoggedHead,
  type LoggedTrajectory,
  trajectoryOf,
} from "./logged-trajectory.ts";
import { passes, type TrajectoryFilter, type TrajectorySort } from "./trajectory-filter.ts";

/** Selections that are kept for the next page. */
const maxSelections = 4;

/** The numbers of a line by which it is found. A reward that is not there is NaN. */
function makeColumns() {
  return {
    offset: new Column((n) => new Float64Array(n)),
    bytes: new Column((n) => new Uint32Array(n)),
    headBytes: new Column((n) => new Uint32Array(n)),
    step: new Column((n) => new Uint32Array(n)),
    group: new Column((n) => new Uint32Array(n)),
    question: new Column((n) => new Uint32Array(n)),
    reward: new Column((n) => new Float64Array(n)),
    em: new Column((n) => new Uint8Array(n)),
    stop: new Column((n) => new Uint8Array(n)),
    turns: new Column((n) => new Uint16Array(n)),
    searches: new Column((n) => new Uint16Array(n)),
    tokens: new Column((n) => new Uint32Array(n)),
  };
}

/** The numbers of lines, column by column. */
type TrajectoryColumns = ReturnType<typeof makeColumns>;

/** Rows that a filter lets through, in an order. */
interface TrajectorySelection {
  /** Places in the log, from 0. */
  readonly rows: Uint32Array;
}

/** How rows are ordered. */
interface TrajectoryOrder {
  /** `row` is the order of the log. @default "row" */
  readonly sort?: TrajectorySort | undefined;
  /** @default false */
  readonly isDescending?: boolean | undefined;
}

/** `trajectories.jsonl`. */
export class TrajectoryLog {
  /** Grows by one whenever the log was cut back: rows mean others then. */
  revision = 0;
  readonly columns: TrajectoryColumns = makeColumns();
  readonly #log: LineLog;
  readonly #questions = new Names();
  readonly #stops = new Names();
  readonly #selections = new Map<string, TrajectorySelection>();

  /** @param folder - of the run */
  constructor(folder: string) {
    const reader = {
      onLine: (line: Buffer, offset: number) => this.#add(line, offset),
      onReset: () => {
        this.revision += 1;
        for (const column of Object.values(this.columns)) column.clear();
        this.#questions.clear();
        this.#stops.clear();
      },
    };
    this.#log = new LineLog(join(folder, "trajectories.jsonl"), reader, folder);
  }

  /** Reads what was added; a long log is read piece by piece, and rows can be asked for meanwhile. @throws ERR_IO */
  refresh(): Promise<void> {
    return this.#log.refresh();
  }

  /** Bytes of the log that were read, and all of them. */
  get progress(): { readonly readBytes: number; readonly totalBytes: number } {
    return { readBytes: this.#log.readBytes, totalBytes: this.#log.totalBytes };
  }

  /** Lines so far. */
  get numRows(): number {
    return this.columns.step.length;
  }

  /** Questions, each once; `columns.question` counts them. */
  get questions(): readonly string[] {
    return this.#questions.texts;
  }

  /** Ways in which trajectories ended, each once; `columns.stop` counts them. */
  get stops(): readonly string[] {
    return this.#stops.texts;
  }

  /** The rows that a filter lets through. */
  select(filter: TrajectoryFilter = {}, order: TrajectoryOrder = {}): TrajectorySelection {
    const key = JSON.stringify([this.revision, this.numRows, filter, order]);
    const known = this.#selections.get(key);
    if (known !== undefined) return known;
    const selection = { rows: this.#ordered(this.#filtered(filter), order) };
    this.#selections.set(key, selection);
    const [oldest] = this.#selections.keys();
    if (this.#selections.size > maxSelections && oldest !== undefined) this.#selections.delete(oldest);
    return selection;
  }

  /** All rollouts of a row's question at its step, the row itself included. */
  groupOf(row: number): number[] {
    this.#check(row);
    const { step, group, question } = this.columns;
    const isOne = (other: number): boolean =>
      step.at(other) === step.at(row) &&
      group.at(other) === group.at(row) &&
      question.at(other) === question.at(row);
    // A step's rows stand together.
    let [first, end] = [row, row + 1];
    while (first > 0 && step.at(first - 1) === step.at(row)) first -= 1;
    while (end < this.numRows && step.at(end) === step.at(row)) end += 1;
    return Array.from({ length: end - first }, (_, i) => first + i).filter(isOne);
  }

  /** What rows say before their segments. @throws as {@link row} */
  async heads(rows: readonly number[]): Promise<LoggedHead[]> {
    const lines = await this.#lines(rows, this.columns.headBytes);
    return lines.map((line, i) => headOf(line) ?? trajectoryOf(line) ?? this.#damaged(rows[i]!));
  }

  /** A whole row. @throws ERR_RANGE for one that is not there; ERR_IO; ERR_FORMAT when the log was changed meanwhile */
  async row(row: number): Promise<LoggedTrajectory> {
    const [line = Buffer.alloc(0)] = await this.#lines([row], this.columns.bytes);
    return trajectoryOf(line) ?? this.#damaged(row);
  }

  async #lines(rows: readonly number[], bytes: Column): Promise<Buffer[]> {
    for (const row of rows) this.#check(row);
    return this.#log.readAll(rows.map((row) => [this.columns.offset.at(row), bytes.at(row)] as const));
  }

  #check(row: number): void {
    if (Number.isInteger(row) && row >= 0 && row < this.numRows) return;
    throw new SeekError("ERR_RANGE", `row: expected 0 to ${this.numRows - 1}, got ${row}`);
  }

  #damaged(row: number): never {
    throw new SeekError("ERR_FORMAT", `${this.#log.path}: expected a trajectory in row ${row}`);
  }

  #filtered(filter: TrajectoryFilter): Uint32Array {
    const isWanted = passes(filter, { columns: this.columns, questions: this.questions, stops: this.stops });
    const rows = new Uint32Array(this.numRows);
    let count = 0;
    for (let row = 0; row < rows.length; row += 1) {
      if (!isWanted(row)) continue;
      rows[count] = row;
      count += 1;
    }
    return rows.slice(0, count);
  }

  #ordered(rows: Uint32Array, { sort = "row", isDescending = false }: TrajectoryOrder): Uint32Array {
    if (sort === "row") return isDescending ? rows.reverse() : rows;
    const column = this.columns[sort];
    // Without a reward comes below every reward.
    const keyOf = (row: number): number => {
      const key = column.at(row);
      return Number.isNaN(key) ? Number.NEGATIVE_INFINITY : key;
    };
    return sortedRows(rows, keyOf, isDescending);
  }

  #add(line: Buffer, offset: number): void {
    const cut = headBytesOf(line);
    const ahead = headOf(line.subarray(0, cut));
    const head = ahead ?? trajectoryOf(line);
    if (head === undefined) return;
    const { columns } = this;
    columns.offset.push(offset);
    columns.bytes.push(line.length);
    columns.headBytes.push(ahead === undefined ? line.length : cut);
    columns.step.push(head.step);
    columns.group.push(head.group ?? 0);
    columns.question.push(this.#questions.numberOf(head.question));
    columns.reward.push(head.reward ?? Number.NaN);
    columns.em.push(head.em ?? 0);
    columns.stop.push(this.#stops.numberOf(head.stop));
    columns.turns.push(head.turns);
    columns.searches.push(head.rounds);
    columns.tokens.push(head.generatedTokens ?? 0);
  }
}
