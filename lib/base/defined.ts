/** Objects whose members are all there: for rows of files, where a member that is not known is left out. */

/**
 * The members of an object that are not undefined.
 *
 * @param object - left as it is
 * @returns a copy without the members that are undefined
 * @example
 * assert.deepEqual(defined({ id: "a", source: undefined }), { id: "a" });
 */
export function defined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const known = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as { [K in keyof T]: Exclude<T[K], undefined> };
}
