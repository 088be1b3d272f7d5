/** Numbers, sizes, durations and moments as short text. */

const compact = [
  { least: 1e12, unit: "T" },
  { least: 1e9, unit: "B" },
  { least: 1e6, unit: "M" },
  { least: 1e4, unit: "k" },
] as const;

/**
 * A number in about four significant digits: `0.1235`, `12.35`, `12.3k`; "–" for none, and words for what is not finite.
 *
 * @param value - any number
 */
export function showNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const large = compact.find(({ least }) => size >= least);
  if (large) return signed(`${trimmed(size / (large.unit === "k" ? 1e3 : large.least))}${large.unit}`, value);
  if (size !== 0 && size < 1e-3) return signed(size.toExponential(1).replace("e-", "e−"), value);
  return signed(trimmed(size), value);
}

function trimmed(size: number): string {
  if (Number.isInteger(size)) return String(size);
  const text = size.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4);
  return text.replace(/\.?0+$/, "");
}

const signed = (text: string, value: number): string => (value < 0 ? `−${text}` : text);

/** A share of one in percent: `93.4 %`. */
export function showPercent(share: number | null | undefined, digits = 1): string {
  return share === null || share === undefined || !Number.isFinite(share)
    ? "–"
    : `${(100 * share).toFixed(digits).replace("-", "−")} %`;
}

/** A whole number with thin spaces between thousands. */
export function showCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Bytes as `12.3 MB`, by powers of 1000. */
export function showBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  const at = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const size = bytes / 1000 ** at;
  return `${size >= 100 || at === 0 ? Math.round(size) : size.toFixed(1)} ${units[at]}`;
}

/** A duration in milliseconds in its two largest units: `840 ms`, `12.4 s`, `3 min 05 s`, `2 h 10 min`, `3 d 4 h`. */
export function showDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, "0")} s`;
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** How long ago a moment was, in one unit: `just now`, `5 min ago`, `3 d ago`. */
export function showAge(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3570) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 84_600) return `${Math.max(1, Math.round(seconds / 3600))} h ago`;
  return `${Math.max(1, Math.round(seconds / 86_400))} d ago`;
}
