/** The colour of a token by one of its numbers. */
import { type Rgb, rgbOf } from "./oklch.ts";

/** Which number of a token is shown. */
export type Channel = "logprob" | "gap" | "entropy" | "advantage" | "mask";

/** The two themes of the page. */
export type Theme = "light" | "dark";

/** Who wrote a token, and whether the loss sees it. */
export type MaskValue = "prompt" | "observation" | "policy" | "trained";

/** What the ends of a scale stand for. */
export type Domain = readonly [least: number, most: number];

/** How a channel is drawn. */
export interface Scale {
  readonly channel: Channel;
  readonly label: string;
  /** What a number of it says, in a few words. */
  readonly meaning: string;
  readonly unit: string;
  readonly domain: Domain;
  /** Hue of the end of the domain, and for numbers of two signs of its start. */
  readonly hue: number;
  readonly hueBelow?: number;
}

/** Scales with fixed domains, so that colours of different trajectories compare. Hues differ for every kind of colour vision. */
export const scales: Readonly<Record<Exclude<Channel, "mask">, Scale>> = {
  logprob: {
    channel: "logprob",
    label: "Log-prob",
    meaning: "how surprising the sampled token was",
    unit: "nats",
    domain: [0, -4],
    hue: 50,
  },
  gap: {
    channel: "gap",
    label: "Gap",
    meaning: "trainer's minus engine's log-probability",
    unit: "nats",
    domain: [1e-6, 1e-1],
    hue: 355,
  },
  entropy: {
    channel: "entropy",
    label: "Entropy",
    meaning: "how open the choice was",
    unit: "nats",
    domain: [0, 2],
    hue: 305,
  },
  advantage: {
    channel: "advantage",
    label: "Advantage",
    meaning: "pushed up or down by the update",
    unit: "",
    domain: [-2, 2],
    hue: 250,
    hueBelow: 50,
  },
};

const hold = (share: number): number => Math.min(1, Math.max(0, share));

/**
 * How far along its scale a number stands: 0 is the colour of the page, 1 the strongest; below 0 for the other sign of a
 * scale with two.
 *
 * @param value - the token's number
 * @param scale - its channel's
 * @returns from -1 to 1
 */
export function shareOf(
  value: number,
  { channel, domain: [least, most] }: Pick<Scale, "channel" | "domain">,
): number {
  if (Number.isNaN(value)) return 0;
  if (channel === "advantage") return value < 0 ? -hold(value / least) : hold(value / most);
  if (channel === "gap") {
    const size = Math.abs(value);
    return size === 0 ? 0 : hold(Math.log(size / least) / Math.log(most / least));
  }
  return hold((value - least) / (most - least));
}

/** Page and strongest colour of a scale in each theme: lightness falls or rises evenly between them. */
const ends = {
  light: { page: 1, strongest: 0.74, chroma: 0.15 },
  dark: { page: 0.2, strongest: 0.47, chroma: 0.13 },
} as const;

function colourAt(share: number, hue: number, theme: Theme): Rgb {
  const { page, strongest, chroma } = ends[theme];
  return rgbOf({ l: page + share * (strongest - page), c: share * chroma, h: hue });
}

const masks: Readonly<Record<MaskValue, { readonly share: number; readonly hue: number }>> = {
  prompt: { share: 0, hue: 0 },
  observation: { share: 0.45, hue: 85 },
  policy: { share: 0.35, hue: 305 },
  trained: { share: 0.6, hue: 165 },
};

/** Colours that text keeps 4.5:1 on, in every theme. */
export const inks: Readonly<Record<Theme, Rgb>> = {
  light: rgbOf({ l: 0.24, c: 0.01, h: 265 }),
  dark: rgbOf({ l: 0.94, c: 0.005, h: 265 }),
};

/** A colour as CSS and the DOM write it. */
export const cssOf = ([r, g, b]: Rgb): string => `rgb(${r}, ${g}, ${b})`;

/**
 * The colour behind a token.
 *
 * @param value - the number that is stored for the token; null where there is none
 * @param scale - the channel's
 * @param theme - of the page
 * @returns `rgb(r, g, b)`; "transparent" where there is no number
 */
export function tokenColour(value: number | null | undefined, scale: Scale, theme: Theme): string {
  if (value === null || value === undefined) return "transparent";
  const share = shareOf(value, scale);
  const hue = share < 0 ? (scale.hueBelow ?? scale.hue) : scale.hue;
  return cssOf(colourAt(Math.abs(share), hue, theme));
}

/** The colour behind a token by what the loss makes of it. */
export function maskColour(value: MaskValue, theme: Theme): string {
  const { share, hue } = masks[value];
  return share === 0 ? "transparent" : cssOf(colourAt(share, hue, theme));
}

/**
 * Evenly spaced values of a scale and their colours, for its legend.
 *
 * @param scale - of a channel
 * @param count - how many
 */
export function legendOf(
  scale: Scale,
  { theme, count = 9 }: { readonly theme: Theme; readonly count?: number },
): { readonly value: number; readonly colour: string }[] {
  const [least, most] = scale.domain;
  return Array.from({ length: count }, (_, i) => {
    const share = i / (count - 1);
    const value = scale.channel === "gap" ? least * (most / least) ** share : least + share * (most - least);
    return { value, colour: tokenColour(value, scale, theme) };
  });
}
