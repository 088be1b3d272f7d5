/** The numbers of the token under the pointer, or where the arrow keys lead. */
import type { JSX } from "preact";
import type { Token } from "../base/colour/tokens.ts";
import { showNumber, showPercent } from "../base/numbers.ts";

/** A token's text with its blanks and line ends made visible. */
function shownPiece(piece: string): string {
  return piece.replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll(" ", "·");
}

/** A line that is there from the start, so that nothing moves. */
export function Inspector({ token }: { readonly token: Token | undefined }): JSX.Element {
  return (
    <div class="inspector" role="status" aria-label="Numbers of a token">
      {token === undefined ? (
        <span class="faint">Point at a token, or move through them with the arrow keys.</span>
      ) : (
        <TokenNumbers token={token} />
      )}
    </div>
  );
}

function TokenNumbers({ token }: { readonly token: Token }): JSX.Element {
  const { id, piece, logprob, gap, entropy, advantage, mask } = token;
  const numbers = [
    ["log-prob", logprob, logprob === null ? "" : ` (${showPercent(Math.exp(logprob))})`],
    ["gap", gap, ""],
    ["entropy", entropy, ""],
    ["advantage", advantage, ""],
  ] as const;
  return (
    <>
      <code class="inspected">{shownPiece(piece)}</code>
      <span class="badge">{mask}</span>
      <span class="faint num">id {id}</span>
      {numbers.map(([name, value, more]) =>
        value === null ? null : (
          <span key={name} class="num">
            <span class="faint">{name}</span> {showNumber(value)}
            {more}
          </span>
        ),
      )}
    </>
  );
}
