/** Runs as CSV (RFC 4180): one table of metrics, one of trajectories. */
import type { ExportedMetrics, ExportedRun, ExportedTrajectory } from "./exported.ts";

type Cell = string | number | null | undefined;

/** A line; a cell with a comma, a quote or a line break stands in quotes. */
function lineOf(cells: readonly Cell[]): string {
  const written = cells.map((cell) => {
    const text = cell === null || cell === undefined ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${written.join(",")}\r\n`;
}

/** Names of all members of some rows, in the order in which they first come. */
async function namesOf(rows: AsyncIterable<Readonly<Record<string, unknown>>>): Promise<string[]> {
  const names = new Set<string>();
  for await (const row of rows) for (const name of Object.keys(row)) names.add(name);
  return [...names];
}

/**
 * A line for each step, a column for each metric that a step has; what a step lacks is empty.
 *
 * @param run - whose metrics are read twice
 */
export async function* metricsCsv({ metrics }: Pick<ExportedRun, "metrics">): AsyncGenerator<string> {
  const names = await namesOf(metrics());
  yield lineOf(names);
  for await (const row of metrics()) yield lineOf(names.map((name) => row[name as keyof ExportedMetrics]));
}

/** Columns beside the scores; lists are JSON. */
const columns: Readonly<Record<string, (row: ExportedTrajectory) => Cell>> = {
  step: ({ step }) => step,
  set: ({ set }) => set,
  id: ({ id }) => id,
  epoch: ({ epoch }) => epoch,
  question: ({ question }) => question,
  answers: ({ answers }) => JSON.stringify(answers),
  answer: ({ answer }) => answer,
  stop: ({ stop }) => stop,
  rounds: ({ rounds }) => rounds,
  queries: ({ queries }) => JSON.stringify(queries),
  failures: ({ failures }) => JSON.stringify(failures),
  promptTokens: ({ numTokens }) => numTokens.prompt,
  generatedTokens: ({ numTokens }) => numTokens.generated,
  observedTokens: ({ numTokens }) => numTokens.observed,
  seconds: ({ seconds }) => seconds,
  text: ({ segments }) => segments.map(({ text }) => text).join(""),
};

/**
 * A line for each trajectory: what it is of, how it ended, its scores, its whole text.
 *
 * @param run - whose trajectories are read twice
 */
export async function* trajectoriesCsv({
  trajectories,
}: Pick<ExportedRun, "trajectories">): AsyncGenerator<string> {
  const scores = await namesOf(scoresOf(trajectories()));
  yield lineOf([...Object.keys(columns), ...scores]);
  for await (const row of trajectories()) {
    const cells = Object.values(columns).map((cell) => cell(row));
    yield lineOf([...cells, ...scores.map((name) => row.scores[name])]);
  }
}

async function* scoresOf(
  rows: AsyncIterable<ExportedTrajectory>,
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  for await (const { scores } of rows) yield scores;
}
