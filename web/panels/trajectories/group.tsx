/** All samples of a question side by side, with what each earned and how it was pushed. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { TrajectoryDetail, TrajectoryGroup } from "../../../apps/studio/api.ts";
import { getGroup } from "../../api/studio.ts";
import { type Colouring, tokensOf } from "../../base/colour/tokens.ts";
import { showNumber } from "../../base/numbers.ts";
import { Conversation } from "../../conversation/conversation.tsx";
import { ColourTools, useColouring } from "../../conversation/legend.tsx";
import { Score } from "../../conversation/score.tsx";
import { Notice } from "../../parts/controls.tsx";
import { useResource } from "../../parts/resource.ts";
import { useQuery } from "../../shell/context.ts";

/** The group of the trajectory at a row. */
export function GroupView({ run, row }: { readonly run: string; readonly row: number }): JSX.Element {
  const { value, error } = useResource(`${run} ${row} group`, (signal) => getGroup(run, row, signal));
  if (error) return <Notice kind="bad">{error.message}</Notice>;
  if (value === undefined) return <p class="detail-wait muted">Reading…</p>;
  return <Samples group={value} row={row} />;
}

function Samples({ group, row }: { readonly group: TrajectoryGroup; readonly row: number }): JSX.Element {
  const tokens = useMemo(() => group.samples.flatMap(({ segments }) => segments.flatMap(tokensOf)), [group]);
  // One scale for all, so that their colours compare.
  const colours = useColouring(tokens);
  const { colouring } = colours;
  const most = Math.max(...group.samples.map(({ advantage = 0 }) => Math.abs(advantage)));
  return (
    <>
      <ColourTools {...colours}>
        <span class="muted num group-mean">
          {group.samples.length} samples, mean reward {showNumber(group.meanReward)}
        </span>
      </ColourTools>
      <div class="samples">
        {group.samples.map((sample) => (
          <Sample key={sample.row} {...{ sample, colouring, most }} isChosen={sample.row === row} />
        ))}
      </div>
    </>
  );
}

interface SampleProps {
  readonly sample: TrajectoryDetail;
  readonly colouring: Colouring;
  /** Greatest advantage of the group. */
  readonly most: number;
  readonly isChosen: boolean;
}

function Sample({ sample, colouring, most, isChosen }: SampleProps): JSX.Element {
  const [, change] = useQuery();
  const spoken = sample.segments.filter(({ kind }) => kind !== "prompt");
  return (
    <article class={isChosen ? "sample chosen" : "sample"} aria-label={`Sample ${sample.id}`}>
      <header>
        <div class="sample-top">
          <button
            type="button"
            class="link mono"
            onClick={() => change({ row: String(sample.row) }, { replace: false })}
          >
            {sample.id.slice(sample.id.lastIndexOf("#"))}
          </button>
          <Score row={sample} />
          <span class="cut">{sample.answer ?? <i class="faint">{sample.stop}</i>}</span>
        </div>
        {sample.advantage === undefined ? null : <AdvantageBar advantage={sample.advantage} most={most} />}
      </header>
      <Conversation segments={spoken} colouring={colouring} />
    </article>
  );
}

/** A bar to the right for what is made likelier, to the left for what is made less likely. */
function AdvantageBar({
  advantage,
  most,
}: {
  readonly advantage: number;
  readonly most: number;
}): JSX.Element {
  const width = most === 0 ? 0 : (50 * Math.abs(advantage)) / most;
  const place = advantage < 0 ? { right: "50%", width: `${width}%` } : { left: "50%", width: `${width}%` };
  return (
    <div class="advantage">
      <span class="faint">advantage</span>
      <div class="advantage-track" aria-hidden="true">
        <i class={advantage < 0 ? "minus" : "plus"} style={place} />
      </div>
      <span class="num">{showNumber(advantage)}</span>
    </div>
  );
}
