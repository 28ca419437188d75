/** True for one mutant of `sample`: the same ones in every run of the same code, evenly over kinds. */
export function isInSample(mutantId, sample) {
  return (Math.imul(Number(mutantId), 0x9e3779b1) >>> 16) % sample === 0;
}
