/** The tokens of a segment with all that is stored of each, and their colours. */
import {
  type Channel,
  type MaskValue,
  maskColour,
  type Scale,
  scales,
  type Theme,
  tokenColour,
} from "./token-colour.ts";

/** A segment as the server sends it; see the studio's `TrajectorySegment`. */
interface TokenSegment {
  readonly kind: "prompt" | "policy" | "observation";
  readonly text: string;
  readonly tokens?: {
    readonly ids: readonly number[];
    readonly pieces?: readonly string[];
    readonly logprobs?: readonly (number | null)[];
    readonly gaps?: readonly (number | null)[];
    readonly entropies?: readonly (number | null)[];
    readonly advantages?: readonly (number | null)[];
    readonly trained?: readonly boolean[];
  };
}

/** A segment with what is shown of it besides. */
export interface ShownSegment extends TokenSegment {
  readonly numTokens?: number;
  /** Segments that were the context when it was sampled. @default all earlier ones */
  readonly visible?: readonly number[];
}

/** One token; what was not measured is null. */
export interface Token {
  readonly id: number;
  /** Its text; `#id` where the text is not known. */
  readonly piece: string;
  readonly logprob: number | null;
  readonly gap: number | null;
  readonly entropy: number | null;
  readonly advantage: number | null;
  readonly mask: MaskValue;
}

/** The tokens of a segment; none where the log has none. */
export function tokensOf({ kind, tokens }: TokenSegment): Token[] {
  if (tokens === undefined) return [];
  return tokens.ids.map((id, i) => ({
    id,
    piece: tokens.pieces?.[i] ?? `#${id} `,
    logprob: tokens.logprobs?.[i] ?? null,
    gap: tokens.gaps?.[i] ?? null,
    entropy: tokens.entropies?.[i] ?? null,
    advantage: tokens.advantages?.[i] ?? null,
    mask: kind === "policy" && tokens.trained?.[i] ? "trained" : kind,
  }));
}

/** How tokens are coloured. */
export interface Colouring {
  readonly channel: Channel;
  readonly scale: Scale | undefined;
  readonly theme: Theme;
}

/**
 * The colour behind a token, from its stored number alone.
 *
 * @param token - with its numbers
 * @param colouring - which number, its scale, the theme
 * @returns `rgb(r, g, b)` or "transparent"
 */
export function colourOf(token: Token, { channel, scale, theme }: Colouring): string {
  if (channel === "mask") return maskColour(token.mask, theme);
  return tokenColour(token[channel], scale ?? scales[channel], theme);
}

/**
 * The scale of a channel over some tokens. Advantages depend on reward and algorithm, so their ends are those of the tokens;
 * all other scales are the same everywhere.
 *
 * @param channel - what is shown
 * @param tokens - all that are shown together
 * @returns undefined for the mask, which has no numbers
 */
export function scaleOf(channel: Channel, tokens: Iterable<Token>): Scale | undefined {
  if (channel === "mask") return undefined;
  if (channel !== "advantage") return scales[channel];
  let most = 0;
  for (const { advantage } of tokens) most = Math.max(most, Math.abs(advantage ?? 0));
  return most === 0 ? scales.advantage : { ...scales.advantage, domain: [-most, most] };
}

/** The channels of which tokens have a number. */
export function channelsOf(tokens: readonly Token[]): ReadonlySet<Channel> {
  const found = new Set<Channel>(tokens.length > 0 ? ["mask"] : []);
  for (const channel of ["logprob", "gap", "entropy", "advantage"] as const)
    if (tokens.some((token) => token[channel] !== null)) found.add(channel);
  return found;
}
