/** Which test files are run, and in which order; each is named by its path in `test`. */

const isFull = (file) => file.endsWith(".full.test.ts");

/** Those of the default set, or of both, whose path contains one of the parts; a part that the default set lacks is the full set's. */
export function chooseFiles(files, parts, { full }) {
  const inSet = (file) => full || !isFull(file);
  if (parts.length === 0) return files.filter(inSet);
  const chosen = parts.flatMap((part) => {
    const found = files.filter((file) => file.includes(part));
    return found.some(inSet) ? found.filter(inSet) : found;
  });
  return [...new Set(chosen)];
}

/**
 * So that no long file is left alone at the end. A file that has not run yet may be long: such stand first, those of the
 * full set and large ones before others.
 */
export function longestFirst(files, seconds, sizeOf) {
  const weight = (file) => seconds[file] ?? (isFull(file) ? 2e9 : 1e9) + sizeOf(file);
  return files.toSorted((a, b) => weight(b) - weight(a));
}
