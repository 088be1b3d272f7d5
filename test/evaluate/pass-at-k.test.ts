/** pass@k against counting every choice of k answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { meanPassAtK, passAtK } from "../../lib/evaluate/statistics/pass-at-k.ts";

/** The share of all choices of `k` out of `n` that hold one of the first `c`. */
function byCounting(n: number, c: number, k: number): number {
  let [all, right] = [0, 0];
  for (let choice = 0; choice < 2 ** n; choice += 1) {
    const chosen = Array.from({ length: n }, (_, i) => i).filter((i) => choice & (1 << i));
    if (chosen.length !== k) continue;
    all += 1;
    if (chosen.some((i) => i < c)) right += 1;
  }
  return right / all;
}

test("pass@k is the share of all choices of k answers that hold a right one", () => {
  for (let n = 1; n <= 8; n += 1) {
    for (let c = 0; c <= n; c += 1) {
      for (let k = 1; k <= n; k += 1) {
        assert.ok(Math.abs(passAtK({ n, c }, k) - byCounting(n, c, k)) < 1e-12, `${n} ${c} ${k}`);
      }
    }
  }
});

test("questions count alike, however often each was answered; too few answers are refused by name", () => {
  const attempt = (question: string, em: number) => ({ question, answers: ["x"], em });
  const attempts = [attempt("a", 1), attempt("b", 0), attempt("a", 0), attempt("b", 0), attempt("b", 1)];
  assert.deepEqual(meanPassAtK(attempts, [1, 2]), {
    "pass@1": (1 / 2 + 1 / 3) / 2,
    "pass@2": (1 + 2 / 3) / 2,
  });
  assert.throws(() => meanPassAtK(attempts, [3]), { message: /at least 3 predictions.*got 2 of "a"/ });
  assert.throws(() => passAtK({ n: 3, c: 1 }, 0), { code: "ERR_ARGUMENT" });
});
