/** Changes files at random: bits, cuts, numbers and blocks of bytes; values and keys of JSON; the headers of safetensors. */

const odd32 = [
  0, 1, 7, 255, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fc00000, 0x7f800000, 0xff7fffff, 0xbf800000,
];
const odd64 = [0n, 1n, 7n, 2n ** 31n, 2n ** 32n, 2n ** 40n, 2n ** 53n, 2n ** 62n, 2n ** 63n, 2n ** 64n - 1n];
const oddValues = [null, true, "", "x", "\ud800", [], {}, [null], { type: "x" }, "__proto__"];
const oddNumbers = [
  0,
  -0,
  1,
  -1,
  2,
  3,
  0.5,
  7,
  64,
  65537,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  1e-320,
  1e38,
  1e308,
];
const oddTexts = [
  "",
  "(",
  ")*",
  "{0,99999}",
  "[^",
  "\\",
  '"',
  "::=",
  "root",
  "|",
  "|||",
  "^$",
  "é",
  "\0",
  "\ud800",
  "()",
];

/** Whole numbers from 0 to below a bound, fixed by the seed; seeds side by side give unlike ones. */
export function rollOf(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return Math.floor((((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32) * below);
  };
}

export const pick = (roll, list) => list[roll(list.length)];

const byteChanges = [
  (bytes, at, roll) => {
    bytes[at] ^= 1 << roll(8);
    return bytes;
  },
  (bytes, at, roll) => {
    bytes[at] = roll(256);
    return bytes;
  },
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at, roll) => {
    if (at + 4 <= bytes.length) bytes.writeUInt32LE(pick(roll, odd32), at);
    return bytes;
  },
  (bytes, at, roll) => {
    if (at + 8 <= bytes.length) bytes.writeBigUInt64LE(pick(roll, odd64), at);
    return bytes;
  },
  (bytes, at, roll) => bytes.copyWithin(at, roll(bytes.length), roll(bytes.length)),
  (bytes, at, roll) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + roll(16))]),
  (bytes, at, roll) =>
    Buffer.concat([bytes.subarray(0, at), Buffer.alloc(1 + roll(16), roll(256)), bytes.subarray(at)]),
];

/** One change; half of them within the first `head` bytes, aligned to four half the time. */
export function mutateBytes(given, roll, head = given.length) {
  if (given.length === 0) return Buffer.of(roll(256));
  const place = roll(2) === 0 ? roll(Math.min(head, given.length)) : roll(given.length);
  return pick(roll, byteChanges)(Buffer.from(given), roll(2) === 0 ? place : place - (place % 4), roll);
}

/** A text with a piece cut, doubled, exchanged or put in. */
export function mutateText(text, roll) {
  const [from, size] = [roll(text.length + 1), roll(8)];
  const [before, piece, after] = [
    text.slice(0, from),
    text.slice(from, from + size),
    text.slice(from + size),
  ];
  const other = text.slice(roll(text.length + 1)).slice(0, roll(12));
  return pick(roll, [
    () => before + after,
    () => before + piece.repeat(1 + roll(200)) + after,
    () => before + other + after,
    () => before + pick(roll, oddTexts) + piece + after,
    () => before + String(pick(roll, oddNumbers)) + after,
  ])();
}

/** Every place of a JSON value: the object or list, and the key there. */
function placesOf(value, found = []) {
  if (typeof value !== "object" || value === null) return found;
  for (const key of Object.keys(value)) {
    found.push([value, key]);
    placesOf(value[key], found);
  }
  return found;
}

/** Within lists and objects. */
export function nested(value, depth) {
  let result = value;
  for (let i = 0; i < depth; i += 1) result = i % 2 === 0 ? [result] : { items: result };
  return result;
}

/** A value of the same kind: half of all changes would else be refused for their types. */
function alike(value, others, roll) {
  if (typeof value === "number")
    return roll(2) === 0 ? value + pick(roll, [-1, 1, 0.5]) : pick(roll, oddNumbers);
  if (typeof value === "string" && roll(2) === 0) return mutateText(value, roll);
  return structuredClone(
    pick(
      roll,
      others.filter((each) => typeof each === typeof value),
    ),
  );
}

/** A copy with one value or key changed. */
export function mutateJson(given, roll) {
  const json = structuredClone(given);
  const places = placesOf(json);
  if (places.length === 0) return pick(roll, oddValues);
  const [holder, key] = pick(roll, places);
  const value = holder[key];
  const values = places.map(([each, name]) => each[name]);
  const change = pick(roll, [
    () => pick(roll, oddValues),
    () => structuredClone(pick(roll, values)),
    () => nested(value, pick(roll, [1, 2, 40, 700])),
    ...Array.from({ length: 5 }, () => () => alike(value, values, roll)),
  ]);
  const kind = roll(8);
  if (kind === 0) delete holder[key];
  else if (kind === 1 && !Array.isArray(holder)) holder[String(pick(roll, places)[1])] = value;
  else holder[key] = change();
  return json;
}

/** JSON as its values or as its bytes. */
function mutateJsonFile(bytes, roll) {
  if (roll(4) === 0) return mutateBytes(bytes, roll);
  return Buffer.from(JSON.stringify(mutateJson(JSON.parse(bytes), roll)) ?? "");
}

/** Some of the data's numbers; the size stays. */
function mutateNumbers(data, roll) {
  const bytes = Buffer.from(data);
  for (let left = 1 + roll(8); left > 0 && bytes.length >= 4; left -= 1) {
    const at = 4 * roll(bytes.length >> 2);
    if (roll(2) === 0) bytes.writeUInt32LE(pick(roll, odd32), at);
    else bytes[at + roll(4)] ^= 1 << roll(8);
  }
  return bytes;
}

/** The header's JSON, with its length set right; any byte; or numbers of the data. */
function mutateSafetensors(bytes, roll) {
  const size = Number(bytes.readBigUInt64LE());
  const data = bytes.subarray(8 + size);
  const kind = roll(3);
  if (kind === 0) return mutateBytes(bytes, roll, 8 + size);
  if (kind === 1) return Buffer.concat([bytes.subarray(0, 8 + size), mutateNumbers(data, roll)]);
  const header = Buffer.from(JSON.stringify(mutateJson(JSON.parse(bytes.subarray(8, 8 + size)), roll)) ?? "");
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, data]);
}

/** One change of a file or two, by its name. */
export function mutateFile(name, given, roll) {
  let bytes = given;
  for (let left = roll(3) === 0 ? 2 : 1; left > 0; left -= 1) {
    try {
      if (name.endsWith(".json")) bytes = mutateJsonFile(bytes, roll);
      else if (name.endsWith(".safetensors")) bytes = mutateSafetensors(bytes, roll);
      else bytes = mutateBytes(bytes, roll, 4096);
    } catch {
      // What was changed before cannot be parsed any more.
      bytes = mutateBytes(bytes, roll);
    }
  }
  return bytes;
}
