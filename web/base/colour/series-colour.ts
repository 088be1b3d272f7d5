/** Colours of curves: told apart by hue and lightness, by every kind of colour vision. */
import { rgbOf } from "./oklch.ts";
import { cssOf, type Theme } from "./token-colour.ts";

const hues = [265, 55, 165, 350, 95, 215, 310, 25] as const;

/** The colour of the run at a place of a comparison; the ninth has the first's again. */
export function seriesColour(place: number, theme: Theme): string {
  const h = hues[place % hues.length] ?? 265;
  const isOdd = place % 2 === 1;
  return cssOf(
    rgbOf(theme === "light" ? { l: isOdd ? 0.62 : 0.52, c: 0.17, h } : { l: isOdd ? 0.8 : 0.7, c: 0.15, h }),
  );
}
