/** What the colours of tokens mean, and which number they show. */
import type { JSX } from "preact";
import { type Channel, legendOf, type MaskValue, maskColour } from "../base/colour/token-colour.ts";
import type { Colouring } from "../base/colour/tokens.ts";
import { showNumber } from "../base/numbers.ts";
import { Segmented } from "../parts/controls.tsx";

const channels = [
  { value: "logprob", label: "Log-prob" },
  { value: "gap", label: "Gap" },
  { value: "entropy", label: "Entropy" },
  { value: "advantage", label: "Advantage" },
  { value: "mask", label: "Mask" },
] as const;

/** The choice of a channel; those without numbers cannot be chosen. */
export function ChannelChoice(props: {
  readonly channel: Channel;
  readonly known: ReadonlySet<Channel>;
  readonly onChange: (channel: Channel) => void;
}): JSX.Element {
  const { channel, known, onChange } = props;
  const options = channels.map((each) => ({
    ...each,
    whyNot: known.has(each.value) ? undefined : "The log of this run does not have it",
  }));
  return <Segmented label="Colour of tokens" options={options} value={channel} onChange={onChange} />;
}

const maskNames: Readonly<Record<MaskValue, string>> = {
  trained: "trained",
  policy: "sampled, not trained",
  observation: "observation",
  prompt: "prompt",
};

/** The scale with its ends. */
export function Legend({ colouring }: { readonly colouring: Colouring }): JSX.Element {
  const { channel, scale, theme } = colouring;
  if (channel === "mask" || scale === undefined) {
    return (
      <ul class="legend">
        {(Object.keys(maskNames) as MaskValue[]).map((mask) => (
          <li key={mask}>
            <i class="swatch" style={{ background: maskColour(mask, theme) }} />
            {maskNames[mask]}
          </li>
        ))}
      </ul>
    );
  }
  const steps = legendOf(scale, { theme });
  const gradient = `linear-gradient(to right, ${steps.map(({ colour }) => colour).join(", ")})`;
  return (
    <p class="legend">
      <span class="num">{showNumber(scale.domain[0])}</span>
      <i class="gradient" style={{ background: gradient }} />
      <span class="num">
        {showNumber(scale.domain[1])} {scale.unit}
      </span>
      <span class="faint only-wide">{scale.meaning}</span>
    </p>
  );
}
