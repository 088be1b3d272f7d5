/** The head of a panel: where one is, and what can be done there. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Icon } from "../parts/icons.tsx";
import { usePage } from "./context.ts";

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
      <div class="end">
        {children}
        <ThemeButton />
      </div>
    </header>
  );
}

/** On a phone there is no sidebar for the switch of the theme to stand in. */
function ThemeButton(): JSX.Element {
  const { theme, choose } = usePage();
  const next = theme === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      class="button plain icon only-phone"
      aria-label={`Change to the ${next} theme`}
      onClick={() => choose(next)}
    >
      <Icon name={theme === "dark" ? "sun" : "moon"} />
    </button>
  );
}
