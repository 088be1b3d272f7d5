/** The memory stack after each action: how frames grow and shrink. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { MemoryView, TrajectorySegment } from "../../../apps/studio/api.ts";
import { stacksOf } from "../../base/frames.ts";
import { showCount } from "../../base/numbers.ts";
import { Stats } from "../../parts/controls.tsx";

interface MemoryFramesProps {
  readonly memory: MemoryView;
  readonly segments: readonly TrajectorySegment[];
}

/** A column for each action, its frames from the bottom up, and the tokens that it saw. */
export function MemoryFrames({ memory, segments }: MemoryFramesProps): JSX.Element {
  const stacks = stacksOf(memory.actions);
  const [chosen, choose] = useState<number>(0);
  const frame = segments[chosen];
  const items = [
    ["Most at once", `${showCount(memory.peakTokens)} tokens`],
    ["At the end", `${showCount(memory.finalTokens)} tokens`],
    ["Had nothing been dropped", `${showCount(memory.totalTokens)} tokens`],
  ] as const;
  return (
    <div class="memory">
      <Stats items={items} />
      <div class="stacks scroll-x">
        {stacks.map((stack, i) => (
          <StackColumn key={i} {...{ memory, place: i, stack, chosen, choose }} />
        ))}
      </div>
      <section class="card frame-text" aria-label="Text of the frame">
        {frame === undefined ? null : frame.text}
      </section>
    </div>
  );
}

interface StackColumnProps {
  readonly memory: MemoryView;
  readonly place: number;
  readonly stack: readonly { readonly kind: string; readonly segment: number }[];
  readonly chosen: number;
  readonly choose: (segment: number) => void;
}

function StackColumn({ memory, place, stack, chosen, choose }: StackColumnProps): JSX.Element | null {
  const action = memory.actions[place];
  if (action === undefined) return null;
  const share = action.visibleTokens / Math.max(1, memory.peakTokens);
  return (
    <div class="stack">
      <ol>
        {Array.from({ length: action.popped }, (_, i) => (
          <li key={`dropped ${i}`} class="frame dropped">
            dropped
          </li>
        ))}
        {[...stack].reverse().map(({ kind, segment }) => (
          <li key={segment}>
            <button
              type="button"
              class="frame"
              data-kind={kind}
              aria-pressed={segment === chosen}
              onClick={() => choose(segment)}
            >
              {kind} <span class="faint num">{segment}</span>
            </button>
          </li>
        ))}
      </ol>
      <div class="progress" title={`${action.visibleTokens} tokens in the context`}>
        <i style={{ width: `${100 * share}%` }} />
      </div>
      <span class="faint num">
        {place + 1}. {action.kind} · {showCount(action.visibleTokens)}
      </span>
    </div>
  );
}
