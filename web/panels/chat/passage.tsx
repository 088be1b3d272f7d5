/** A passage that was found or cited, opened over the conversation. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Passage } from "../../base/chat/reply.ts";
import { writeRoute } from "../../base/route.ts";
import { Icon } from "../../parts/icons.tsx";
import { usePage } from "../../shell/context.ts";

interface PassageDialogProps {
  readonly passage: (Passage & { readonly quote?: string }) | undefined;
  readonly onClose: () => void;
}

/** Addresses of the web alone are links: a passage must not run anything. */
const isWebAddress = (url: string | undefined): url is string =>
  url !== undefined && /^https?:\/\//.test(url);

/** The quote is marked in the text. */
export function PassageDialog({ passage, onClose }: PassageDialogProps): JSX.Element {
  const { studio } = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (passage !== undefined) dialog.current?.showModal();
  }, [passage]);
  const { title = "", text, url, quote } = passage ?? {};
  const search = writeRoute({ panel: "index", query: { q: title } });
  return (
    <dialog class="dialog passage" ref={dialog} aria-labelledby="passage-title" onClose={onClose}>
      <div class="passage-head">
        <h2 id="passage-title">{title}</h2>
        <button
          type="button"
          class="button plain icon"
          aria-label="Close"
          onClick={() => dialog.current?.close()}
        >
          <Icon name="close" />
        </button>
      </div>
      <p class="passage-text">
        <Quoted text={text ?? quote ?? ""} quote={quote ?? ""} />
      </p>
      <p class="passage-links">
        {isWebAddress(url) ? (
          <a href={url} target="_blank" rel="noreferrer">
            {url} <Icon name="external" size={12} />
          </a>
        ) : url ? (
          <span class="faint mono">{url}</span>
        ) : null}
        {studio.capabilities.index ? <a href={search}>Find it in the index</a> : null}
      </p>
    </dialog>
  );
}

function Quoted({ text, quote }: { readonly text: string; readonly quote: string }): JSX.Element {
  const at = quote === "" ? -1 : text.indexOf(quote);
  if (at < 0) return <>{text}</>;
  return (
    <>
      {text.slice(0, at)}
      <mark>{quote}</mark>
      {text.slice(at + quote.length)}
    </>
  );
}
