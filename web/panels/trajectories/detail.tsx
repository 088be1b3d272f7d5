/** One trajectory: its outcome, its conversation, its searches, its siblings, its memory. */
import type { JSX } from "preact";
import type { TrajectoryDetail } from "../../../apps/studio/api.ts";
import { getTrajectory } from "../../api/studio.ts";
import { showNumber } from "../../base/numbers.ts";
import { Conversation } from "../../conversation/conversation.tsx";
import { Searches } from "../../conversation/searches.tsx";
import { Facts, Notice } from "../../parts/controls.tsx";
import { useResource } from "../../parts/resource.ts";
import { DetailHead } from "../../parts/split.tsx";
import { useQuery } from "../../shell/context.ts";
import { Views } from "../../shell/views.tsx";
import { GroupView } from "./group.tsx";
import { MemoryFrames } from "./memory.tsx";

type View = "conversation" | "searches" | "group" | "memory";

interface TrajectoryPageProps {
  readonly run: string;
  readonly row: number;
  readonly onClose: () => void;
}

/** The trajectory at a row of a run's log. */
export function TrajectoryPage({ run, row, onClose }: TrajectoryPageProps): JSX.Element {
  const [query] = useQuery();
  const { value, error } = useResource(`${run} ${row}`, (signal) => getTrajectory(run, row, signal));
  if (error) return <Notice kind="bad">{error.message}</Notice>;
  if (value === undefined) return <p class="detail-wait muted">Reading…</p>;
  const view = (query.view ?? "conversation") as View;
  const numQueries = value.searchRounds.reduce((sum, { queries }) => sum + queries.length, 0);
  const options = [
    { value: "conversation", label: "Conversation" },
    { value: "searches", label: `Queries ${numQueries}` },
    { value: "group", label: "Group" },
    ...(value.memory ? [{ value: "memory", label: "Memory" } as const] : []),
  ] as const;
  return (
    <>
      <Outcome detail={value} onClose={onClose} />
      <Views name="trajectory" options={options} value={view} kind="detail-body">
        {view === "conversation" ? <Conversation key={value.row} segments={value.segments} isWhole /> : null}
        {view === "searches" ? <Searches rounds={value.searchRounds} failures={value.failures} /> : null}
        {view === "group" ? <GroupView run={run} row={row} /> : null}
        {view === "memory" && value.memory ? (
          <MemoryFrames memory={value.memory} segments={value.segments} />
        ) : null}
      </Views>
    </>
  );
}

function Outcome({
  detail,
  onClose,
}: {
  readonly detail: TrajectoryDetail;
  readonly onClose: () => void;
}): JSX.Element {
  const isRight = detail.em === 1;
  const facts = [
    ["Reward", showNumber(detail.reward)],
    ...(detail.advantage === undefined ? [] : [["Advantage", showNumber(detail.advantage)] as const]),
    ["Stop", detail.stop],
    ["Turns", detail.turns],
    ["Searches", detail.searches],
    ["Tokens", detail.tokens],
    ["Step", detail.step],
    ["Weights", `v${detail.weightsVersion}`],
    ...(detail.isTrained === undefined ? [] : [["Trained on", detail.isTrained ? "yes" : "no"] as const]),
  ] as const;
  return (
    <DetailHead
      title={detail.question}
      onClose={onClose}
      beside={<span class="faint mono only-wide">{detail.id}</span>}
    >
      <p class="outcome-answers">
        <span class={`badge ${isRight ? "good" : "bad"}`}>{isRight ? "right" : "wrong"}</span>
        <span>{detail.answer ?? <i class="faint">no answer</i>}</span>
        {isRight ? null : <span class="muted">expected {detail.answers.join(" or ")}</span>}
      </p>
      <Facts items={facts} />
      {detail.rewardFailure ? <Notice kind="warn">No reward: {detail.rewardFailure}</Notice> : null}
    </DetailHead>
  );
}
