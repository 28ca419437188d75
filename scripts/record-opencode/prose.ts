/** Text of about the wanted length that no two topics share: what an agent writes when it explains at length. */
export function explanation(topic: string, chars: number): string {
  const sentences: string[] = [];
  for (let line = 1, length = 0; length < chars; line++) {
    const aspect = ASPECTS[line % ASPECTS.length];
    const sentence = `${line}. On ${topic}, ${aspect}, which I checked in step ${line} and noted for later.`;
    sentences.push(sentence);
    length += sentence.length + 1;
  }
  return sentences.join("\n").slice(0, chars);
}

const ASPECTS = [
  "the callers pass whole cents and never fractions",
  "the rounding happens once, at the end of the sum",
  "the parser keeps the order of the lines as they were written",
  "an empty list gives zero rather than an error",
  "the test names the currency and the code does not",
] as const;
