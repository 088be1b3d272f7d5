/** A trajectory as the conversation that it was, each token in the colour of one of its numbers. */
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { type Colouring, type ShownSegment, type Token, tokensOf } from "../base/colour/tokens.ts";
import { Inspector } from "./inspector.tsx";
import { ColourTools, useColouring } from "./legend.tsx";
import { SegmentBlock } from "./segment.tsx";

/** A token's place. */
interface TokenPlace {
  readonly segment: number;
  readonly token: number;
}

interface ConversationProps {
  readonly segments: readonly ShownSegment[];
  /** With the choice of colours and the numbers of one token. */
  readonly isWhole?: boolean;
  /** @default made of these segments */
  readonly colouring?: Colouring;
}

/** Where a token is named in the page. */
function placeOf(target: EventTarget | null): TokenPlace | undefined {
  const span = (target as Element | null)?.closest<HTMLElement>("[data-at]");
  const [segment, token] = (span?.dataset.at ?? "").split(".").map(Number);
  return segment === undefined || token === undefined ? undefined : { segment, token };
}

/** The place so many tokens on; segments without numbers are passed over. */
function placeAfter(
  tokens: readonly (readonly Token[])[],
  from: TokenPlace | undefined,
  by: number,
): TokenPlace | undefined {
  const all = tokens.flatMap((each, segment) =>
    each.some(({ logprob }) => logprob !== null) ? each.map((_, token) => ({ segment, token })) : [],
  );
  const at = all.findIndex(({ segment, token }) => segment === from?.segment && token === from.token);
  return all[Math.min(all.length - 1, Math.max(0, at + by))];
}

const keySteps: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowLeft: -1,
  ArrowDown: 10,
  ArrowUp: -10,
};

/** The token that the pointer or the keys are at; the keys move while the box itself has them. */
function useToken(tokens: readonly (readonly Token[])[]) {
  const [place, setPlace] = useState<TokenPlace>();
  const box = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = keySteps[event.key];
    if (by === undefined || event.target !== box.current) return;
    event.preventDefault();
    const next = placeAfter(tokens, place, by);
    setPlace(next);
    markAt(box.current, next);
  };
  const onMouseOver = ({ target }: MouseEvent): void => setPlace((old) => placeOf(target) ?? old);
  return { token: place && tokens[place.segment]?.[place.token], box, handlers: { onKeyDown, onMouseOver } };
}

/** The segments in order. */
export function Conversation({ segments, isWhole = false, colouring }: ConversationProps): JSX.Element {
  const tokens = useMemo(() => segments.map(tokensOf), [segments]);
  const all = useMemo(() => tokens.flat(), [tokens]);
  const own = useColouring(all);
  const shown = colouring ?? own.colouring;
  const [seenBy, setSeenBy] = useState<number>();
  const { token, box, handlers } = useToken(tokens);
  const visible = seenBy === undefined ? undefined : visibleTo(segments, seenBy);
  return (
    <>
      {isWhole ? <ColourTools {...own} /> : null}
      {/* biome-ignore lint/a11y/useSemanticElements: a field set groups fields, and these are words */}
      <div
        class="conversation"
        ref={box}
        role="group"
        aria-label="Conversation; arrow keys move through the sampled tokens"
        tabIndex={isWhole ? 0 : undefined}
        {...(isWhole ? handlers : {})}
      >
        {segments.map((segment, i) => (
          <SegmentBlock
            key={i}
            {...{ segment, place: i, tokens: tokens[i] ?? [], colouring: shown }}
            turn={segments.slice(0, i + 1).filter(({ kind }) => kind === "policy").length}
            isUnseen={visible !== undefined && !visible.has(i)}
            isAsked={seenBy === i}
            onAsk={() => setSeenBy(seenBy === i ? undefined : i)}
          />
        ))}
      </div>
      {isWhole ? <Inspector token={token} /> : null}
    </>
  );
}

/** Segments that stood in the context when one was sampled, itself among them. */
function visibleTo(segments: readonly ShownSegment[], place: number): ReadonlySet<number> {
  return new Set([...(segments[place]?.visible ?? segments.keys()), place].filter((each) => each <= place));
}

/** Outlines the token that the keys lead to. */
function markAt(box: HTMLElement | null, place: TokenPlace | undefined): void {
  box?.querySelector(".tok.at")?.classList.remove("at");
  const span = place && box?.querySelector(`[data-at="${place.segment}.${place.token}"]`);
  span?.classList.add("at");
  span?.scrollIntoView({ block: "nearest" });
}
