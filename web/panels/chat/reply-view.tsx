/** A reply as it is written: thoughts, searches, text with citations. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { withMarks } from "../../base/chat/markdown.ts";
import { citedPassage, type Passage, type Reply, type ReplyPart, textOf } from "../../base/chat/reply.ts";
import { Icon } from "../../parts/icons.tsx";
import { MarkdownText } from "./markdown-text.tsx";

interface ReplyViewProps {
  readonly reply: Reply;
  readonly isWriting: boolean;
  readonly show: (passage: Passage) => void;
}

/** Its parts in order. */
export function ReplyView({ reply, isWriting, show }: ReplyViewProps): JSX.Element {
  const { parts, citations } = reply;
  const cite = (number: number): void => {
    const citation = citations[number];
    if (citation) show({ ...citedPassage(reply, citation), quote: citation.quote } as Passage);
  };
  let from = 0;
  const views = parts.map((part, i) => {
    const isLast = i === parts.length - 1;
    if (part.kind === "reasoning")
      return <Thoughts key={`t${from}-${i}`} text={part.text} isOpen={isWriting && isLast} />;
    if (part.kind === "search") return <SearchView key={part.id} search={part} show={show} />;
    const start = from;
    from += part.text.length;
    // Citations of this part, at their places in it; those of others stand in theirs.
    const own = citations.map(({ end }) => ({ end: end > start && end <= from ? end - start : -1 }));
    return <MarkdownText key={`s${start}`} text={markedText(part.text, own)} cite={cite} />;
  });
  return (
    <div class="reply">
      {views}
      {isWriting && parts.length === 0 ? (
        <span class="waiting" role="status" aria-label="Waiting for the reply" />
      ) : null}
      {citations.length > 0 ? <Sources {...{ reply, cite }} /> : null}
      {!isWriting && textOf(reply) === "" && parts.length > 0 ? (
        <p class="faint">It said nothing more.</p>
      ) : null}
    </div>
  );
}

/** Marks keep the numbers of all citations; those that are elsewhere have no place here. */
function markedText(text: string, citations: readonly { readonly end: number }[]): string {
  const here = citations.flatMap(({ end }, number) => (end < 0 ? [] : [{ end, number }]));
  const marked = withMarks(text, here);
  return marked.replace(/\uE000(\d+)\uE001/g, (_, i: string) => `\uE000${here[Number(i)]?.number}\uE001`);
}

function Thoughts({ text, isOpen }: { readonly text: string; readonly isOpen: boolean }): JSX.Element {
  const [wanted, setWanted] = useState<boolean>();
  const isShown = wanted ?? isOpen;
  // Kept here and not in the element, which opens and closes while a reply is written too.
  const toggle = (event: Event): void => {
    event.preventDefault();
    setWanted(!isShown);
  };
  return (
    <details class="thoughts" open={isShown}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is what keys and pointers open its details with */}
      <summary onClick={toggle}>{isOpen ? "Thinking…" : "Thoughts"}</summary>
      <p>{text.trim()}</p>
    </details>
  );
}

interface SearchViewProps {
  readonly search: Extract<ReplyPart, { kind: "search" }>;
  readonly show: (passage: Passage) => void;
}

/** Queries, and what they found once it is there. */
function SearchView({ search: { queries, hits }, show }: SearchViewProps): JSX.Element {
  const found = (hits ?? []).flat();
  return (
    <details class="chat-search">
      <summary>
        <Icon name="search" size={13} />
        <span class="cut">{queries.join(" · ")}</span>
        <span class="faint num" role="status">
          {hits === undefined ? "searching…" : found.length === 1 ? "1 passage" : `${found.length} passages`}
        </span>
      </summary>
      <ul>
        {found.map((passage, i) => (
          <li key={i}>
            <button type="button" class="link cut" onClick={() => show(passage)}>
              {passage.title}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Sources({
  reply,
  cite,
}: {
  readonly reply: Reply;
  readonly cite: (number: number) => void;
}): JSX.Element {
  return (
    <ul class="sources" aria-label="Sources">
      {reply.citations.map(({ passage, start, end }, number) => (
        <li key={`${start} ${end} ${passage.title}`}>
          <button type="button" class="badge" onClick={() => cite(number)}>
            <span class="num">{number + 1}</span> {passage.title}
          </button>
        </li>
      ))}
    </ul>
  );
}
