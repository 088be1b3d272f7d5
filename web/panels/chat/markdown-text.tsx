/** Text with the little of Markdown that models write. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Block, type Inline, parseMarkdown } from "../../base/chat/markdown.ts";

interface MarkdownTextProps {
  readonly text: string;
  /** Called with the number of a citation, from 0. */
  readonly cite: (number: number) => void;
}

/** Blocks in order. */
export function MarkdownText({ text, cite }: MarkdownTextProps): JSX.Element {
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  return (
    <div class="prose">
      {blocks.map((block, i) => (
        <BlockView key={i} block={block} cite={cite} />
      ))}
    </div>
  );
}

type Cite = Pick<MarkdownTextProps, "cite">;

function BlockView({ block, cite }: { readonly block: Block } & Cite): JSX.Element {
  switch (block.kind) {
    case "code":
      return (
        <pre class="code">
          <code>{block.text}</code>
        </pre>
      );
    case "heading":
      return (
        <h3>
          <Line pieces={block.lines} cite={cite} />
        </h3>
      );
    case "list": {
      const items = block.items.map((pieces, i) => (
        <li key={i}>
          <Line pieces={pieces} cite={cite} />
        </li>
      ));
      return block.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case "paragraph":
      return (
        <p>
          <Line pieces={block.lines} cite={cite} />
        </p>
      );
  }
}

function Line({ pieces, cite }: { readonly pieces: readonly Inline[] } & Cite): JSX.Element {
  return <>{pieces.map((piece, i) => pieceView(piece, i, cite))}</>;
}

function pieceView(piece: Inline, key: number, cite: (number: number) => void): JSX.Element | string {
  switch (piece.kind) {
    case "text":
      return piece.text;
    case "code":
      return <code key={key}>{piece.text}</code>;
    case "strong":
      return <strong key={key}>{piece.text}</strong>;
    case "emphasis":
      return <em key={key}>{piece.text}</em>;
    case "citation":
      return (
        <button
          type="button"
          class="cite num"
          key={key}
          aria-label={`Source ${piece.number + 1}`}
          onClick={() => cite(piece.number)}
        >
          {piece.number + 1}
        </button>
      );
  }
}
