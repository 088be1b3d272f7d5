/** Choices, tabs and fields, usable by keyboard as their ARIA patterns ask. */
import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "./icons.tsx";

/** One of several. */
export interface Option<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** Shown in place of the label. */
  readonly icon?: IconName;
  /** Why it cannot be chosen. */
  readonly whyNot?: string | undefined;
}

/** One of several that is chosen. */
export interface ChoiceProps<Value extends string> {
  /** For screen readers. */
  readonly label: string;
  readonly options: readonly Option<Value>[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

/** The option that an arrow key leads to. */
function neighbour<Value extends string>(
  { options, value }: Pick<ChoiceProps<Value>, "options" | "value">,
  key: string,
): Value | undefined {
  const open = options.filter(({ whyNot }) => whyNot === undefined);
  const at = open.findIndex((option) => option.value === value);
  if (key === "Home") return open[0]?.value;
  if (key === "End") return open.at(-1)?.value;
  const step =
    key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
  return step === 0 ? undefined : open[(at + step + open.length) % open.length]?.value;
}

/** Arrow keys, Home and End choose among the elements that name their value in `data-value`. */
export function useArrows<Value extends string>(props: ChoiceProps<Value>): (event: KeyboardEvent) => void {
  return (event) => {
    const next = neighbour(props, event.key);
    if (next === undefined) return;
    event.preventDefault();
    props.onChange(next);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() =>
      list.querySelector<HTMLElement>(`[data-value="${CSS.escape(next)}"]`)?.focus(),
    );
  };
}

/** A row of which one is chosen. */
export function Segmented<Value extends string>(props: ChoiceProps<Value>): JSX.Element {
  const { label, options, value, onChange } = props;
  return (
    <div class="segmented" role="radiogroup" aria-label={label} onKeyDown={useArrows(props)}>
      {options.map((option) => (
        // biome-ignore lint/a11y/useSemanticElements: the pattern of a radio group, drawn as buttons
        <button
          type="button"
          role="radio"
          key={option.value}
          data-value={option.value}
          aria-checked={option.value === value}
          aria-label={option.icon ? option.label : undefined}
          title={option.whyNot ?? (option.icon ? option.label : undefined)}
          tabIndex={option.value === value ? 0 : -1}
          disabled={option.whyNot !== undefined}
          onClick={() => onChange(option.value)}
        >
          {option.icon ? <Icon name={option.icon} size={14} /> : option.label}
        </button>
      ))}
    </div>
  );
}

/** A field for words to look for. */
export function SearchField(props: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
  readonly isLarge?: boolean;
}): JSX.Element {
  const { label, value, onInput, isLarge = false } = props;
  return (
    <div class={isLarge ? "search large" : "search"}>
      <Icon name="search" size={isLarge ? undefined : 14} />
      <input
        class="input"
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </div>
  );
}

/** A labelled choice of many. */
export function Select<Value extends string>(
  props: ChoiceProps<Value> & { readonly isLabelled?: boolean },
): JSX.Element {
  const { label, options, value, onChange, isLabelled = false } = props;
  return (
    <label class="field">
      <span class={isLabelled ? undefined : "sr-only"}>{label}</span>
      <select
        class="select"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.whyNot !== undefined}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The two ends of a range; an empty one is open. */
export function RangeFields(props: {
  readonly label: string;
  readonly from: string;
  readonly to: string;
  readonly hints?: readonly [string, string];
  readonly onChange: (ends: { readonly from: string; readonly to: string }) => void;
}): JSX.Element {
  const { label, from, to, hints = ["min", "max"], onChange } = props;
  const field = (value: string, hint: string, change: (text: string) => void, end: string): JSX.Element => (
    <input
      class="input short num"
      type="number"
      step="any"
      aria-label={`${label}, ${end}`}
      placeholder={hint}
      value={value}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
  return (
    <div class="field">
      <span>{label}</span>
      {field(from, hints[0], (text) => onChange({ from: text, to }), "at least")}
      <span aria-hidden="true">–</span>
      {field(to, hints[1], (text) => onChange({ from, to: text }), "at most")}
    </div>
  );
}

/** A place where nothing is, with why. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** A sentence that should be read. */
export function Notice(props: {
  readonly kind?: "info" | "warn" | "bad";
  readonly children: ComponentChildren;
}): JSX.Element {
  const { kind = "info", children } = props;
  return (
    <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
      {kind === "info" ? null : <Icon name="warning" />}
      <div>{children}</div>
    </div>
  );
}

interface NamedProps {
  readonly items: readonly (readonly [string, ComponentChildren])[];
}

/** Numbers with their names, to be seen first. */
export const Stats = ({ items }: NamedProps): JSX.Element => named("stats", items);

/** Names and values in one line. */
export const Facts = ({ items }: NamedProps): JSX.Element => named("facts", items);

function named(kind: "stats" | "facts", items: NamedProps["items"]): JSX.Element {
  return (
    <dl class={kind}>
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="num">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
