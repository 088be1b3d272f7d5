/** Versions as lists of numbers, and the specifiers that Python's packages put on them (PEP 440, release numbers only). */

/** `"2.13.0+cu130"` is `[2, 13, 0]`. */
function numbersOf(version) {
  return (/^\d+(?:\.\d+)*/.exec(version.trim())?.[0] ?? "").split(".").map(Number);
}

/** Negative, zero, positive as `a` is before, the same as, after `b`; missing numbers are 0. */
export function compareVersions(a, b) {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function startsWith(version, wanted) {
  const numbers = numbersOf(version);
  return numbersOf(wanted).every((number, i) => (numbers[i] ?? 0) === number);
}

const holds = {
  "==": (version, wanted) =>
    wanted.endsWith(".*") ? startsWith(version, wanted) : compareVersions(version, wanted) === 0,
  "!=": (version, wanted) => !holds["=="](version, wanted),
  ">=": (version, wanted) => compareVersions(version, wanted) >= 0,
  "<=": (version, wanted) => compareVersions(version, wanted) <= 0,
  ">": (version, wanted) => compareVersions(version, wanted) > 0,
  "<": (version, wanted) => compareVersions(version, wanted) < 0,
  "~=": (version, wanted) =>
    compareVersions(version, wanted) >= 0 && startsWith(version, wanted.split(".").slice(0, -1).join(".")),
};

/** Whether a version is within a specifier such as `<=13.1.1.3,>=13.1.0.3`; an empty one takes all. */
export function satisfies(version, specifier) {
  const parts = specifier.split(",").map((part) => /^\s*(==|!=|>=|<=|~=|>|<)\s*([\w.*+!]+)\s*$/.exec(part));
  return specifier.trim() === "" || parts.every((part) => part !== null && holds[part[1]](version, part[2]));
}
