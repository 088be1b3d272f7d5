/** The page of a comparison: what was compared where, a row for each figure, and what could not be compared, and why. */
import { figureAt } from "./measure.mjs";

function median(sample) {
  const sorted = [...sample].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const short = (value) =>
  value >= 1000 ? Math.round(value).toLocaleString("en-US") : `${Number(value.toPrecision(3))}`;

/** Rounded down, so that no ratio is told better than it was. */
const ratioText = (ratio) => {
  const scale = ratio < 10 ? 100 : 10;
  return `${Math.floor(ratio * scale + 1e-9) / scale}`;
};

const cell = (text) => `${text}`.replaceAll("|", "\\|").replaceAll("\n", " ");

/** The best of a figure's peers in each round. */
function theirsOf({ peers, better }, rounds) {
  const best = better === "more" ? Math.max : Math.min;
  return rounds.map(({ peer }) => best(...peers.map((path) => figureAt(peer, path))));
}

/** A row for each figure: medians of both sides, the median of the rounds' ratios, and the worst of them. */
export function rowsOf({ pair, measured }) {
  const { rounds, variant, ratios } = measured;
  const peer = variant === undefined ? pair.peer.name : `${pair.peer.name}; ${variant}`;
  return pair.figures.map((figure, i) => ({
    ...{ name: pair.name, peer, figure: figure.name },
    ours: median(rounds.map((round) => figureAt(round.ours, figure.ours))),
    theirs: median(theirsOf(figure, rounds)),
    ratio: median(ratios[i]),
    worst: Math.min(...ratios[i]),
  }));
}

function headline(rows) {
  if (rows.length === 0) return "# SeekRL beside its peers: nothing was compared";
  const worst = rows.reduce((a, b) => (b.worst < a.worst ? b : a));
  const numBehind = rows.filter(({ worst: ratio }) => ratio < 1).length;
  return (
    `# SeekRL beside its peers: ${ratioText(median(rows.map(({ ratio }) => ratio)))} times in the median of ${rows.length} figures, ` +
    `${ratioText(worst.worst)} in the worst round (${worst.name})\n\n` +
    `Behind its peer in at least one round: ${numBehind} of ${rows.length} figures. Above 1, SeekRL is ahead; ` +
    "ratios are rounded down."
  );
}

function table(rows) {
  const head =
    "| what | figure | SeekRL | peer | ratio, median | ratio, worst | the peer |\n|---|---|---|---|---|---|---|";
  const lines = rows.map(
    ({ name, figure, ours, theirs, ratio, worst, peer }) =>
      `| ${[name, figure, short(ours), short(theirs), ratioText(ratio), `**${ratioText(worst)}**`, peer].map(cell).join(" | ")} |`,
  );
  return [head, ...lines].join("\n");
}

/** Above this share of the processors in the hands of others, figures are not to be quoted. */
const quietShare = 0.05;

function loadSentence(others) {
  if (others.length === 0) return "nothing was measured";
  const [middle, most] = [median(others), Math.max(...others)].map((share) => `${Math.round(100 * share)} %`);
  const told = `between runs, other programs used ${middle} of the processors (median; ${most} at most)`;
  return Math.max(...others) > quietShare
    ? `**${told}: these figures are an impression, and not to be quoted**`
    : told;
}

/**
 * The whole page, in Markdown.
 *
 * @param outcomes of each pair that was asked for: `measured`, or `failed` with the reason
 * @param facts command, commit, date, hardware, versions; `others`: shares of the processors that other programs had
 * @param byHand what no package brings, each with the reason
 */
export function pageOf({ outcomes, facts, byHand = [] }) {
  const rows = outcomes.filter(({ measured }) => measured !== undefined).flatMap(rowsOf);
  const missing = [
    ...outcomes
      .filter(({ failed }) => failed !== undefined)
      .map(({ pair, failed }) => ({ name: pair.name, why: failed })),
    ...byHand,
  ];
  const list = (items) => items.map((item) => `- ${item}`).join("\n");
  return `${[
    headline(rows),
    list([
      `Command: \`${facts.command}\`; commit ${facts.commit}; ${facts.date}`,
      `Hardware: ${facts.hardware}${facts.isa === undefined ? "" : `, both sides held to ${facts.isa}`}; ${loadSentence(facts.others)}`,
      `Versions: ${facts.versions}`,
      `Sizes: ${facts.form}; rounds: ${facts.rounds}; the two sides take turns, and who goes first changes from round to round. Peers have as many threads as SeekRL; of a peer's settings the fastest of the first round counts. Compiled variants (\`torch.compile\`) were not tried`,
    ]),
    table(rows),
    "## Not compared",
    missing.length === 0
      ? "Nothing was left out."
      : list(missing.map(({ name, why }) => `${name}: ${why.replaceAll("\n", " ")}`)),
  ].join("\n\n")}\n`;
}
