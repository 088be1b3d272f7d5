/** Answers of the last step, each beside the first that the same question got. */
import type { JSX } from "preact";
import type { TrajectoryRow } from "../../../apps/studio/api.ts";
import { getTrajectories } from "../../api/studio.ts";
import { writeRoute } from "../../base/route.ts";
import { Score } from "../../conversation/score.tsx";
import { useResource } from "../../parts/resource.ts";

/** A question's latest answer, and its first where that was another step's. */
interface Example {
  readonly now: TrajectoryRow;
  readonly before: TrajectoryRow | undefined;
}

const numExamples = 6;

/** One row of each question, in the order of the log. */
function oneEach(rows: readonly TrajectoryRow[]): TrajectoryRow[] {
  return [...new Map(rows.map((row) => [row.question, row])).values()].slice(0, numExamples);
}

async function loadExamples(run: string, signal: AbortSignal): Promise<Example[]> {
  const { rows } = await getTrajectories(run, { sort: "row", order: "desc", limit: 100 }, signal);
  return Promise.all(
    oneEach(rows).map(async (now) => {
      const earlier = await getTrajectories(run, { text: now.question, sort: "row", limit: 1 }, signal);
      const [first] = earlier.rows;
      return { now, before: first !== undefined && first.step < now.step ? first : undefined };
    }),
  );
}

/** @param step - asked anew whenever it moves on */
export function Examples({ run, step }: { readonly run: string; readonly step: number }): JSX.Element | null {
  const { value } = useResource(`${run} ${step}`, (signal) => loadExamples(run, signal));
  if (value === undefined || value.length === 0) return null;
  return (
    <section aria-label="Examples">
      <h2 class="examples-title">Answers at step {value[0]?.now.step}</h2>
      <div class="examples" aria-live="polite">
        {value.map(({ now, before }) => (
          <article class="example card" key={now.question}>
            <h3>{now.question}</h3>
            {before ? <Moment run={run} row={before} /> : null}
            <Moment key={now.row} run={run} row={now} isNow />
          </article>
        ))}
      </div>
    </section>
  );
}

interface MomentProps {
  readonly run: string;
  readonly row: TrajectoryRow;
  readonly isNow?: boolean;
}

function Moment({ run, row, isNow = false }: MomentProps): JSX.Element {
  const link = writeRoute({ panel: "trajectories", path: [run], query: { row: String(row.row) } });
  return (
    <div class={isNow ? "moment now" : "moment muted"}>
      <span class="faint num">step {row.step}</span>
      <a class="cut" href={link}>
        {row.answer ?? <i>no answer ({row.stop})</i>}
      </a>
      <span class="num">
        <span class="faint">{row.searches === 1 ? "1 search" : `${row.searches} searches`}</span>{" "}
        <Score row={row} />
      </span>
    </div>
  );
}
