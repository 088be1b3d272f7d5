/** Views of one thing, of which the address names the one that is shown. */
import type { ComponentChildren, JSX } from "preact";
import { type ChoiceProps, useArrows } from "../parts/controls.tsx";
import { useQuery } from "./context.ts";

interface ViewsProps<View extends string> extends Pick<ChoiceProps<View>, "options" | "value"> {
  /** Of the thing, as ids name it. */
  readonly name: string;
  /** Class of the place that the view has. @default "body" */
  readonly kind?: string;
  /** The view. */
  readonly children: ComponentChildren;
}

/** Tabs, and the view of the chosen one below them. */
export function Views<View extends string>(props: ViewsProps<View>): JSX.Element {
  const { name, options, value, kind = "body", children } = props;
  const [, change] = useQuery();
  const label = "What of it";
  const choose = (view: View): void => change({ view });
  return (
    <>
      <div
        class="tabs"
        role="tablist"
        aria-label={label}
        onKeyDown={useArrows({ label, options, value, onChange: choose })}
      >
        {options.map((option) => (
          <button
            type="button"
            role="tab"
            key={option.value}
            data-value={option.value}
            aria-selected={option.value === value}
            aria-controls={`${name}-panel`}
            tabIndex={option.value === value ? 0 : -1}
            onClick={() => choose(option.value)}
          >
            {option.label}
          </button>
        ))}
      </div>
      <div class={kind} id={`${name}-panel`} role="tabpanel">
        {children}
      </div>
    </>
  );
}
