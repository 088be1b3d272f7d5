/** Formats of strings as expressions: those that structured outputs of OpenAI have, and addresses. */

const date = String.raw`\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`;
const hour = String.raw`([01]\d|2[0-3])`;
const time = String.raw`${hour}:[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]${hour}:[0-5]\d)`;

const days = String.raw`(\d{1,9}Y(\d{1,9}M(\d{1,9}D)?)?|\d{1,9}M(\d{1,9}D)?|\d{1,9}D)`;
const hours = String.raw`T(\d{1,9}H(\d{1,9}M(\d{1,9}S)?)?|\d{1,9}M(\d{1,9}S)?|\d{1,9}S)`;

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const label = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";

const byte = String.raw`(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const ipv4 = `${byte}(\\.${byte}){3}`;
const group = "[0-9A-Fa-f]{1,4}";
/** Groups before the gap, and at most so many behind it that eight would be more than there are. */
const gapped = Array.from({ length: 7 }, (_, i) => `(${group}:){${i + 1}}(:${group}){1,${6 - i}}`).slice(
  0,
  6,
);
const ipv6 = [`(${group}:){7}${group}`, `(${group}:){1,7}:`, ...gapped, `:(:${group}){1,7}`, "::"].join("|");

const inUri = "([A-Za-z0-9._~:/?#@!$&'()*+,;=\\[\\]-]|%[0-9A-Fa-f]{2})";

/** RFC 3339, 5321 in its usual part, 1123, 2673, 4291 without dots, 4122, 3986 in the characters that it has. */
const formats: Readonly<Record<string, string>> = {
  date,
  time,
  "date-time": `${date}T${time}`,
  duration: `P(\\d{1,9}W|${days}(${hours})?|${hours})`,
  email: `${atom}(\\.${atom})*@${label}(\\.${label})+`,
  hostname: `${label}(\\.${label})*`,
  ipv4,
  ipv6,
  uuid: "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
  uri: `[A-Za-z][A-Za-z0-9+.-]*:${inUri}+`,
};

/** The expression that strings of a format match as a whole; undefined for one that says nothing of the text here. */
export function patternOf(format: string): string | undefined {
  return Object.hasOwn(formats, format) ? `^(${formats[format]})$` : undefined;
}
