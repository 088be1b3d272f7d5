/** What a run that was started from the page printed. */
import type { JSX } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { getOutput } from "../../api/studio.ts";
import { Empty } from "../../parts/controls.tsx";
import { useInterval } from "../../parts/resource.ts";

/** The text so far, which grows. */
export function OutputText({ run }: { readonly run: string }): JSX.Element {
  const [{ text, next, isKnown }, setState] = useState({ text: "", next: 0, isKnown: false });
  const read = useCallback(() => {
    getOutput(run, next).then(
      (more) =>
        setState((old) =>
          old.next !== next ? old : { text: old.text + more.text, next: more.next, isKnown: true },
        ),
      () => setState((old) => ({ ...old, isKnown: true })),
    );
  }, [run, next]);
  useEffect(read, [read]);
  useInterval(read, 2000);
  if (!isKnown) return <p class="muted">Reading…</p>;
  if (text === "")
    return <Empty title="Nothing was printed">Only runs that were started from this page keep it.</Empty>;
  return <pre class="output card">{text}</pre>;
}
