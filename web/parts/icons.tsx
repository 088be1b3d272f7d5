/** Icons of 16 pixels, drawn with one stroke. */
import type { JSX } from "preact";

/** What each icon's stroke goes along. */
const paths = {
  runs: "M2 13h12M2.5 10l3.5-4 2.5 2L13.5 3",
  trajectories: "M3 3.5h10M3 8h7M3 12.5h10M13 8h.01",
  evaluation: "M3 8.5l3 3 7-7.5",
  index:
    "M2.5 4.5c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2zM2.5 4.5v7c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2v-7M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2",
  chat: "M2.5 3h11v8H7l-3 2.5V11H2.5z",
  live: "M8 8h.01M5.2 10.8a4 4 0 010-5.6M10.8 5.2a4 4 0 010 5.6M3 13a7 7 0 010-10M13 3a7 7 0 010 10",
  search: "M7 11.5a4.5 4.5 0 100-9 4.5 4.5 0 000 9zM10.5 10.5l3 3",
  stop: "M4.5 4.5h7v7h-7z",
  play: "M5 3.5v9l7-4.5z",
  warning: "M8 2.5l6 11H2zM8 6.5v3M8 11.5h.01",
  close: "M4 4l8 8M12 4l-8 8",
  back: "M9.5 3.5L5 8l4.5 4.5",
  next: "M6.5 3.5L11 8l-4.5 4.5",
  sun: "M8 11a3 3 0 100-6 3 3 0 000 6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7",
  moon: "M13 9.5A5.5 5.5 0 016.5 3a5.5 5.5 0 106.5 6.5z",
  system: "M2 3.5h12v7.5H2zM6 13.5h4",
  up: "M4.5 7.5v6h-2v-6zM4.5 7.5L7.5 2c1 0 1.6.8 1.4 1.8L8.5 6h4c.8 0 1.3.7 1.1 1.5l-1.2 5c-.2.6-.7 1-1.3 1H4.5",
  down: "M4.5 8.5v-6h-2v6zM4.5 8.5L7.5 14c1 0 1.6-.8 1.4-1.8L8.5 10h4c.8 0 1.3-.7 1.1-1.5l-1.2-5c-.2-.6-.7-1-1.3-1H4.5",
  edit: "M3 13l.7-3L10.5 3.200l2.3 2.300L6 12.300z",
  retry: "M13 8a5 5 0 11-1.5-3.600M13 2.500v2.500h-2.5",
  copy: "M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3",
  plus: "M8 3v10M3 8h10",
  sliders: "M2.5 5h6M11.5 5h2M10 3.500v3M2.5 11h2M7.5 11h6M6 9.500v3",
  send: "M8 13V3.500M4 7l4-4 4 4",
  external: "M6 3.500H3v9.500h9.500v-3M9 3h4v4M13 3L7.5 8.5",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon; screen readers pass over it, so what it stands on needs a label. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): JSX.Element {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.4"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
