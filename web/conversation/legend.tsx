/** What the colours of tokens mean, and which number they show. */
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Channel, legendOf, type MaskValue, maskColour } from "../base/colour/token-colour.ts";
import { type Colouring, channelsOf, scaleOf, type Token } from "../base/colour/tokens.ts";
import { showNumber } from "../base/numbers.ts";
import { Segmented } from "../parts/controls.tsx";
import { usePage, useQuery } from "../shell/context.ts";

const channels = [
  { value: "logprob", label: "Log-prob" },
  { value: "gap", label: "Gap" },
  { value: "entropy", label: "Entropy" },
  { value: "advantage", label: "Advantage" },
  { value: "mask", label: "Mask" },
] as const;

/** How tokens are coloured, and how else they could be. */
interface ColourChoice {
  readonly colouring: Colouring;
  /** Channels that have numbers. */
  readonly known: ReadonlySet<Channel>;
  readonly choose: (channel: Channel) => void;
}

/** The channel of the address, or the first that the tokens have, on one scale over all of them. */
export function useColouring(tokens: readonly Token[]): ColourChoice {
  const { theme } = usePage();
  const [query, change] = useQuery();
  const known = useMemo(() => channelsOf(tokens), [tokens]);
  const asked = query.colour as Channel | undefined;
  const usual = known.has("logprob") ? "logprob" : "mask";
  const channel = asked !== undefined && known.has(asked) ? asked : usual;
  const colouring = useMemo(
    () => ({ channel, scale: scaleOf(channel, tokens), theme }),
    [channel, tokens, theme],
  );
  return { colouring, known, choose: (colour) => change({ colour }) };
}

/** The choice of a channel, and what its colours mean. */
export function ColourTools(props: ColourChoice & { readonly children?: ComponentChildren }): JSX.Element {
  return (
    <div class="colour-tools">
      <ChannelChoice {...props} />
      <Legend colouring={props.colouring} />
      {props.children}
    </div>
  );
}

/** Channels without numbers cannot be chosen. */
function ChannelChoice({ colouring, known, choose }: ColourChoice): JSX.Element {
  const options = channels.map((each) => ({
    ...each,
    whyNot: known.has(each.value) ? undefined : "The log of this run does not have it",
  }));
  return <Segmented label="Colour of tokens" options={options} value={colouring.channel} onChange={choose} />;
}

const maskNames: Readonly<Record<MaskValue, string>> = {
  trained: "trained",
  policy: "sampled, not trained",
  observation: "observation",
  prompt: "prompt",
};

/** The scale with its ends. */
function Legend({ colouring }: { readonly colouring: Colouring }): JSX.Element {
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
