/** What a file's content hashes to. */

/** A hash of a content: of its bytes, or as git counts them with their length before them. */
export interface Checksum {
  readonly kind: "sha256" | "git-sha1";
  readonly hex: string;
}
