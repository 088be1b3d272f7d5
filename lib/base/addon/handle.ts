/** What native objects look like to JavaScript, and what every search gives back. */

declare const handle: unique symbol;

/** A native object that JavaScript only passes back. */
export interface Handle<Name extends string> {
  readonly [handle]: Name;
}

/** Ids (int32 [Q, K], -1 where there are fewer) and scores (f32 [Q, K]) of Q queries, best first. */
export interface NativeHits {
  readonly ids: Int32Array;
  readonly scores: Float32Array;
}
