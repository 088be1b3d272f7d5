/** A passage that was found, and what put it at its rank. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ExplainedHit } from "../../../apps/studio/api.ts";
import { showNumber } from "../../base/numbers.ts";

interface HitCardProps {
  readonly hit: ExplainedHit;
  /** The greatest score by words of all hits, which a whole bar stands for. */
  readonly bestWords: number;
}

const foldedChars = 360;

/** Text on the left, reasons on the right. */
export function HitCard({ hit, bestWords }: HitCardProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const isLong = hit.text.length > foldedChars;
  return (
    <li class="hit-card card">
      <div class="hit-text">
        <h3>
          <span class="faint num">{hit.rank}</span> {hit.title} <span class="faint mono">{hit.id}</span>
        </h3>
        <p>{isLong && !isOpen ? `${hit.text.slice(0, foldedChars)}…` : hit.text}</p>
        {isLong ? (
          <button type="button" class="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Show less" : "Show all"}
          </button>
        ) : null}
      </div>
      <div class="hit-why">
        <p class="hit-score">
          <span class="faint">Score</span> <b class="num">{showNumber(hit.score)}</b>
        </p>
        {hit.fusion ? <Fusion {...hit} /> : null}
        {hit.words ? <Words words={hit.words} best={bestWords} /> : null}
        {hit.vectors ? (
          <p class="why-line">
            <span>Vectors</span>
            <span class="num">
              {showNumber(hit.vectors.score)} <RankOf rank={hit.vectors.rank} />
            </span>
          </p>
        ) : null}
      </div>
    </li>
  );
}

function RankOf({ rank }: { readonly rank: number | null }): JSX.Element {
  return <span class="faint">{rank === null ? "not among the best" : `rank ${rank}`}</span>;
}

function Words({
  words,
  best,
}: {
  readonly words: NonNullable<ExplainedHit["words"]>;
  readonly best: number;
}): JSX.Element {
  return (
    <>
      <p class="why-line">
        <span>Words</span>
        <span class="num">
          {showNumber(words.score)} <RankOf rank={words.rank} />
        </span>
      </p>
      <ul class="terms">
        {words.terms.map(({ term, score }) => (
          <li key={term}>
            <span class="mono cut">{term}</span>
            <span class="bar">
              <i style={{ width: `${(100 * score) / (best || 1)}%` }} />
            </span>
            <span class="num faint">{showNumber(score)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** What each ranking adds to the fused score, as parts of one bar. */
function Fusion({ fusion }: Pick<ExplainedHit, "fusion">): JSX.Element | null {
  if (fusion === undefined) return null;
  const whole = fusion.words + fusion.vectors || 1;
  return (
    <div class="fusion">
      <div class="fusion-bar" aria-hidden="true">
        <i class="by-words" style={{ width: `${(100 * fusion.words) / whole}%` }} />
        <i class="by-vectors" style={{ width: `${(100 * fusion.vectors) / whole}%` }} />
      </div>
      <p class="faint num">
        words {showNumber(fusion.words)} + vectors {showNumber(fusion.vectors)}
      </p>
    </div>
  );
}
