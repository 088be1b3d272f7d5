/** Colours of equal perceived steps: OKLCH to sRGB, after Ottosson (https://bottosson.github.io/posts/oklab). */

/** Lightness from 0 to 1, chroma from 0 to about 0.3, hue in degrees. */
interface Oklch {
  readonly l: number;
  readonly c: number;
  readonly h: number;
}

/** Red, green and blue from 0 to 255, whole. */
export type Rgb = readonly [number, number, number];

function linearOf({ l, c, h }: Oklch): readonly [number, number, number] {
  const [a, b] = [c * Math.cos((h * Math.PI) / 180), c * Math.sin((h * Math.PI) / 180)];
  const long = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ];
}

const isInGamut = (colour: Oklch): boolean =>
  linearOf(colour).every((each) => each >= -1e-4 && each <= 1.0001);

/** The most chroma, up to its own, at which a colour can be shown: lightness and hue are kept. */
function fitted(colour: Oklch): Oklch {
  if (isInGamut(colour)) return colour;
  let [low, high] = [0, colour.c];
  for (let i = 0; i < 20; i += 1) {
    const c = (low + high) / 2;
    if (isInGamut({ ...colour, c })) low = c;
    else high = c;
  }
  return { ...colour, c: low };
}

function encoded(linear: number): number {
  const held = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (held <= 0.0031308 ? 12.92 * held : 1.055 * held ** (1 / 2.4) - 0.055));
}

/** A colour as sRGB; one that no screen shows loses chroma until it is shown. */
export function rgbOf(colour: Oklch): Rgb {
  const [r, g, b] = linearOf(fitted(colour));
  return [encoded(r), encoded(g), encoded(b)];
}

function luminance([r, g, b]: Rgb): number {
  const linear = (each: number): number =>
    each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4;
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** The contrast of two colours by WCAG 2, from 1 to 21. */
export function contrastOf(one: Rgb, other: Rgb): number {
  const [light = 1, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}
