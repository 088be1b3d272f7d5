/** The head of a panel: where one is, and what can be done there. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";

/** What a head shows. */
interface HeadProps {
  readonly title: string;
  /** What the title stands below, with its address. */
  readonly above?: { readonly label: string; readonly href: string };
  /** Stands behind the title. */
  readonly beside?: ComponentChildren;
  /** Stands at the end. */
  readonly children?: ComponentChildren;
}

/** Title, way up, and actions. */
export function Head({ title, above, beside, children }: HeadProps): JSX.Element {
  useEffect(() => {
    document.title = `${title} · SeekRL`;
  }, [title]);
  return (
    <header class="head">
      <div class="crumbs">
        {above ? (
          <>
            <a href={above.href}>{above.label}</a>
            <span class="sep" aria-hidden="true">
              /
            </span>
          </>
        ) : null}
        <h1 class="cut">{title}</h1>
        {beside}
      </div>
      {children ? <div class="end">{children}</div> : null}
    </header>
  );
}
