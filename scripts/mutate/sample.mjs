/** Whether a mutant is among one of `sample`: the same ones in every run of the same code, of every kind alike. */
export function isInSample(mutantId, sample) {
  return (Math.imul(Number(mutantId), 0x9e3779b1) >>> 16) % sample === 0;
}
