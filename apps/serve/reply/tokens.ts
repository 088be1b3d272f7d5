/** Tokens as they were sampled, with the text that they are. */

/** A token that could have been sampled, and how likely it was. */
export interface LikelyToken {
  readonly id: number;
  /** Natural log-probability in the policy's distribution. */
  readonly logprob: number;
  /** What it is of the text; a character may be spread over several tokens. */
  readonly bytes: Uint8Array;
}

/** A token that was sampled. */
export interface SampledToken extends LikelyToken {
  /** The most likely tokens in its place, the first one first; where they were asked for. */
  readonly top?: readonly LikelyToken[] | undefined;
}

/** A piece of text, and the tokens whose last character it holds. */
export interface TextPiece {
  readonly text: string;
  readonly tokens: readonly SampledToken[];
}
