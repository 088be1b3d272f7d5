/** The part of the stopword package that is used; it ships no types. */
declare module "stopword" {
  /** English stop words in lower case. */
  export const eng: readonly string[];
}
