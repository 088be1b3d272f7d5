/** What a trajectory earned. */
import type { JSX } from "preact";
import type { TrajectoryRow } from "../../apps/studio/api.ts";
import { showNumber } from "../base/numbers.ts";

/** A reward as a number in the colour of its exact match. */
export function Score({ row }: { readonly row: Pick<TrajectoryRow, "em" | "reward"> }): JSX.Element {
  return (
    <span class={`score num ${row.em === 1 ? "good" : "bad"}`} title={row.em === 1 ? "right" : "wrong"}>
      <span class="dot" />
      {showNumber(row.reward)}
      <span class="sr-only">{row.em === 1 ? ", right" : ", wrong"}</span>
    </span>
  );
}
