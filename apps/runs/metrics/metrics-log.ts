/** The metrics of a run, read while they are written: a column of numbers for each name. */
import { join } from "node:path";
import { Column } from "../logs/column.ts";
import { LineLog } from "../logs/line-log.ts";

/** One line of `metrics.jsonl`; null is a number that is not finite, which JSON cannot say. */
export type MetricsRow = Readonly<Record<string, number | null>>;

/** A step that has no such number. */
const missing = Number.NaN;
/** Stands in a column for what is not finite; no number of a JSON file is this. */
const notFinite = Number.POSITIVE_INFINITY;

const doubles = (length: number): Float64Array => new Float64Array(length);

/** `metrics.jsonl`, eight bytes for each number. */
export class MetricsLog {
  /** Grows by one whenever the log was cut back. */
  revision = 0;
  readonly #log: LineLog;
  readonly #columns = new Map<string, Column<Float64Array>>();
  #numRows = 0;

  /** @param folder - of the run */
  constructor(folder: string) {
    const reader = {
      onLine: (line: Buffer) => this.#add(line),
      onReset: () => {
        this.revision += 1;
        this.#numRows = 0;
        this.#columns.clear();
      },
    };
    this.#log = new LineLog(join(folder, "metrics.jsonl"), reader, folder);
  }

  /** Reads what was added. @throws ERR_IO */
  refresh(): Promise<void> {
    return this.#log.refresh();
  }

  /** Lines so far. */
  get numRows(): number {
    return this.#numRows;
  }

  /** Names of all numbers, in the order in which they came. */
  get names(): string[] {
    return [...this.#columns.keys()];
  }

  /** A number of a row: undefined where the row has none, null where it is not finite. */
  value(name: string, row: number): number | null | undefined {
    const column = this.#columns.get(name);
    if (column === undefined || row < 0 || row >= column.length) return undefined;
    const value = column.at(row);
    if (Number.isNaN(value)) return undefined;
    return value === notFinite ? null : value;
  }

  /** All numbers of a row. */
  row(row: number): MetricsRow {
    const entries = this.names.flatMap((name) => {
      const value = this.value(name, row);
      return value === undefined ? [] : [[name, value] as const];
    });
    return Object.fromEntries(entries);
  }

  /** All numbers of a row; NaN is what is not finite. */
  numbers(row: number): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.row(row)).map(([name, value]) => [name, value ?? Number.NaN]),
    );
  }

  #add(line: Buffer): void {
    const row = parsedRow(line);
    if (row === undefined) return;
    for (const [name, value] of Object.entries(row)) {
      if (typeof value === "number" || value === null) this.#columnOf(name).push(value ?? notFinite);
    }
    this.#numRows += 1;
    for (const column of this.#columns.values()) if (column.length < this.#numRows) column.push(missing);
  }

  #columnOf(name: string): Column<Float64Array> {
    const known = this.#columns.get(name);
    if (known !== undefined) return known;
    const column = new Column(doubles);
    for (let row = 0; row < this.#numRows; row += 1) column.push(missing);
    this.#columns.set(name, column);
    return column;
  }
}

/** A line that holds no object is damaged, and shows nothing. */
function parsedRow(line: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
