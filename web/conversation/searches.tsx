/** What was searched for, round by round, and what was found at which rank. */
import type { JSX } from "preact";
import type { SearchHit, SearchRound } from "../../apps/studio/api.ts";
import { showNumber } from "../base/numbers.ts";
import { Empty, Notice } from "../parts/controls.tsx";
import { Icon } from "../parts/icons.tsx";

interface SearchesProps {
  readonly rounds: readonly SearchRound[];
  readonly failures: readonly string[];
}

/** Rounds of searches. */
export function Searches({ rounds, failures }: SearchesProps): JSX.Element {
  if (rounds.length === 0) return <Empty title="It did not search" />;
  return (
    <div class="searches">
      {failures.map((failure) => (
        <Notice kind="warn" key={failure}>
          {failure}
        </Notice>
      ))}
      {rounds.map(({ queries }, round) => (
        <section key={round} class="round" aria-label={`Round ${round + 1}`}>
          <h3 class="faint">Round {round + 1}</h3>
          {queries.map(({ text, hits }, i) => (
            <div key={i} class="query">
              <p class="query-text">
                <Icon name="search" size={14} /> {text}
              </p>
              <Hits hits={hits} />
            </div>
          ))}
        </section>
      ))}
    </div>
  );
}

function Hits({ hits }: { readonly hits: readonly SearchHit[] | undefined }): JSX.Element {
  if (hits === undefined) return <p class="faint">What it found was not logged.</p>;
  if (hits.length === 0) return <p class="faint">Nothing was found.</p>;
  return (
    <ol class="hits">
      {hits.map(({ rank, id, title, score }) => (
        <li key={`${rank} ${id}`}>
          <span class="faint num">{rank}</span>
          <span class="cut">{title}</span>
          {id === undefined ? null : <span class="faint mono cut">{id}</span>}
          <span class="muted num right">{score === undefined ? "" : showNumber(score)}</span>
        </li>
      ))}
    </ol>
  );
}
