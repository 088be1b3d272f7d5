/** One segment of a conversation: who wrote it, its tokens in colour, what it saw. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type Colouring, colourOf, type ShownSegment, type Token } from "../base/colour/tokens.ts";
import { showCount } from "../base/numbers.ts";
import { Icon } from "../parts/icons.tsx";

interface SegmentBlockProps {
  readonly segment: ShownSegment;
  readonly place: number;
  /** Which of the policy's turns it is, or the last before it. */
  readonly turn: number;
  readonly tokens: readonly Token[];
  readonly colouring: Colouring;
  /** Not in the context of the turn that is asked about. */
  readonly isUnseen: boolean;
  readonly isAsked: boolean;
  readonly onAsk: () => void;
}

/** Longer texts that the policy did not write begin folded. */
const foldedChars = 700;

/** A segment with its head. */
export function SegmentBlock(props: SegmentBlockProps): JSX.Element {
  const { segment, place, turn, tokens, isUnseen } = props;
  const { kind, text, numTokens } = segment;
  const [isFolded, setFolded] = useState(kind !== "policy" && text.length > foldedChars);
  const label = kind === "prompt" ? "Prompt" : kind === "policy" ? `Policy, turn ${turn}` : "Observation";
  return (
    <section class={`segment ${kind}${isUnseen ? " unseen" : ""}`} aria-label={label} data-segment={place}>
      <header>
        <span class="segment-kind">{label}</span>
        {numTokens === undefined ? null : <span class="faint num">{showCount(numTokens)} tokens</span>}
        {kind === "policy" ? <SeenButton {...props} /> : null}
        {isUnseen ? <span class="badge">not in its context</span> : null}
      </header>
      <div class={isFolded ? "segment-text folded" : "segment-text"}>
        {tokens.length === 0 ? text : <Tokens {...props} />}
      </div>
      {kind !== "policy" && text.length > foldedChars ? (
        <button
          type="button"
          class="button plain unfold"
          aria-expanded={!isFolded}
          onClick={() => setFolded(!isFolded)}
        >
          {isFolded ? "Show all" : "Show less"}
        </button>
      ) : null}
    </section>
  );
}

function SeenButton({ segment, place, isAsked, onAsk }: SegmentBlockProps): JSX.Element | null {
  if (segment.visible === undefined) return null;
  const count = `${segment.visible.length} of ${place}`;
  return (
    <button type="button" class="button plain seen" aria-pressed={isAsked} onClick={onAsk}>
      <Icon name="index" size={13} /> saw {count} segments
    </button>
  );
}

/** The same element for the same numbers, so that moving the pointer draws nothing anew. */
function Tokens({ tokens, place, colouring }: SegmentBlockProps): JSX.Element {
  return useMemo(
    () => (
      <>
        {tokens.map((token, i) => (
          <span
            key={i}
            class={token.piece === "" ? "tok part" : "tok"}
            data-at={`${place}.${i}`}
            style={{ backgroundColor: colourOf(token, colouring) }}
          >
            {token.piece}
          </span>
        ))}
      </>
    ),
    [tokens, place, colouring],
  );
}
