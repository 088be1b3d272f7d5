/** Dates in prompts, as Python's strftime writes them in English. */

function part(time: Date, letter: string): string | undefined {
  const name = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat("en-US", { ...options, timeZone: "UTC" }).format(time);
  const two = (number: number): string => String(number).padStart(2, "0");
  switch (letter) {
    case "Y":
      return String(time.getUTCFullYear());
    case "m":
      return two(time.getUTCMonth() + 1);
    case "d":
      return two(time.getUTCDate());
    case "H":
      return two(time.getUTCHours());
    case "M":
      return two(time.getUTCMinutes());
    case "S":
      return two(time.getUTCSeconds());
    case "b":
      return name({ month: "short" });
    case "B":
      return name({ month: "long" });
    case "a":
      return name({ weekday: "short" });
    case "A":
      return name({ weekday: "long" });
    case "%":
      return "%";
    default:
      return undefined;
  }
}

/** Writes `time` (in UTC) by a format such as `%d %b %Y`; what is not known stays as it is. */
export function formatTime(time: Date, format: string): string {
  return format.replace(/%([A-Za-z%])/g, (whole, letter: string) => part(time, letter) ?? whole);
}
