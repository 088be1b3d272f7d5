/** Colours of tokens: from stored numbers alone, in even steps, with text that can be read on them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contrastOf, type Rgb, rgbOf } from "../../web/base/colour/oklch.ts";
import { seriesColour } from "../../web/base/colour/series-colour.ts";
import {
  inks,
  legendOf,
  maskColour,
  type Scale,
  scales,
  shareOf,
  tokenColour,
} from "../../web/base/colour/token-colour.ts";
import { channelsOf, colourOf, scaleOf, tokensOf } from "../../web/base/colour/tokens.ts";

const themes = ["light", "dark"] as const;
const allScales: readonly Scale[] = Object.values(scales);

const rgbIn = (css: string): Rgb => {
  const [r = 0, g = 0, b = 0] = [...css.matchAll(/\d+/g)].map(Number);
  return [r, g, b];
};

/** Lightness in OKLab of an sRGB colour, after its definition: the inverse of what is tested. */
function lightnessOf(rgb: Rgb): number {
  const [r, g, b] = rgb.map((each) =>
    each <= 10 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4,
  ) as [number, number, number];
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s;
}

test("OKLCH becomes the sRGB that CSS Color 4 gives", () => {
  assert.deepEqual(rgbOf({ l: 1, c: 0, h: 0 }), [255, 255, 255]);
  assert.deepEqual(rgbOf({ l: 0, c: 0, h: 0 }), [0, 0, 0]);
  assert.deepEqual(rgbOf({ l: 0.627955, c: 0.257683, h: 29.2339 }), [255, 0, 0]);
  assert.deepEqual(rgbOf({ l: 0.86644, c: 0.294827, h: 142.4953 }), [0, 255, 0]);
});

test("a colour that no screen shows loses chroma, not lightness", () => {
  const shown = rgbOf({ l: 0.7, c: 0.4, h: 250 });
  assert.ok(Math.abs(lightnessOf(shown) - 0.7) < 0.005, String(shown));
});

test("even steps of a number are even steps of lightness", () => {
  for (const theme of themes)
    for (const scale of allScales) {
      const colours = legendOf(scale, { theme, count: 11 }).map(({ colour }) => lightnessOf(rgbIn(colour)));
      const half = scale.channel === "advantage" ? colours.slice(5) : colours;
      const steps = half.slice(1).map((each, i) => Math.abs(each - (half[i] ?? 0)));
      // A colour of 8 bits a channel is off by at most 0.004.
      assert.ok(Math.max(...steps) - Math.min(...steps) < 0.01, `${theme} ${scale.channel}: ${steps}`);
    }
});

test("text can be read on every colour: 4.5 to 1 and more", () => {
  for (const theme of themes) {
    const legends = allScales.flatMap((scale) => legendOf(scale, { theme, count: 21 }));
    const masks = (["trained", "policy", "observation"] as const).map((mask) => maskColour(mask, theme));
    for (const colour of [...legends.map((each) => each.colour), ...masks])
      assert.ok(contrastOf(rgbIn(colour), inks[theme]) >= 4.5, `${theme} ${colour}`);
  }
});

test("a number stands where it is on its scale, and is held at the ends", () => {
  assert.equal(shareOf(0, scales.logprob), 0);
  assert.equal(shareOf(-2, scales.logprob), 0.5);
  assert.equal(shareOf(-60, scales.logprob), 1);
  assert.equal(shareOf(0, scales.gap), 0);
  assert.equal(shareOf(-1e-1, scales.gap), 1);
  assert.ok(Math.abs(shareOf(Math.sqrt(1e-7), scales.gap) - 0.5) < 1e-12);
  assert.equal(shareOf(-1, scales.advantage), -0.5);
  assert.equal(shareOf(4, scales.advantage), 1);
});

test("what has no number has no colour; advantages of both signs have hues of their own", () => {
  assert.equal(tokenColour(null, scales.entropy, "light"), "transparent");
  const [up, down] = [1.5, -1.5].map((value) => rgbIn(tokenColour(value, scales.advantage, "light")));
  assert.ok(up && down && up[2] > up[0] && down[0] > down[2]);
});

const segment = {
  kind: "policy",
  text: "ab",
  tokens: {
    ids: [4, 5],
    pieces: ["a", "b"],
    logprobs: [-0.5, -3],
    advantages: [null, -4],
    trained: [false, true],
  },
} as const;

test("a token has every number that is stored of it, and its colour is that number's", () => {
  const tokens = tokensOf(segment);
  assert.deepEqual(tokens[1], {
    ...{ id: 5, piece: "b", logprob: -3, gap: null, entropy: null },
    ...{ advantage: -4, mask: "trained" },
  });
  assert.equal(tokens[0]?.mask, "policy");
  assert.deepEqual([...channelsOf(tokens)], ["mask", "logprob", "advantage"]);
  const colouring = { channel: "logprob", scale: scaleOf("logprob", tokens), theme: "dark" } as const;
  assert.equal(colourOf(tokens[1]!, colouring), tokenColour(-3, scales.logprob, "dark"));
  assert.deepEqual(scaleOf("advantage", tokens)?.domain, [-4, 4]);
});

test("eight runs have eight colours", () => {
  for (const theme of themes)
    assert.equal(new Set(Array.from({ length: 8 }, (_, i) => seriesColour(i, theme))).size, 8);
});
