/**
 * Gives how surprising a text is as something people would name or write: words, identifiers and versions
 * stay below zero, generated strings rise by about two for every character.
 */
export function randomness(text: string): number {
  let score = 0;
  let previousCode = 0;
  let previousClass = SEPARATOR;
  let previousStep = Number.NaN;
  let lowerRun = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const step = code - previousCode;
    const currentClass = classOf(code);
    if (currentClass !== SEPARATOR && previousClass !== SEPARATOR) {
      if (step === previousStep && (step === 0 || step === 1)) score -= SEQUENCE_DISCOUNT;
      else if ((currentClass === DIGIT) !== (previousClass === DIGIT)) score += DIGIT_CHANGE;
      else if (previousClass === LOWER && currentClass === UPPER) score += lowerRun === 1 ? SHORT_HUMP : HUMP;
      else if (currentClass !== DIGIT) score += pairSurprise(previousCode, code);
    }
    lowerRun = currentClass === LOWER ? (previousClass === LOWER ? lowerRun + 1 : 1) : 0;
    previousClass = currentClass;
    previousCode = code;
    previousStep = step;
  }
  return score;
}

const SEPARATOR = 0;
const DIGIT = 1;
const LOWER = 2;
const UPPER = 3;

const DIGIT_CHANGE = 1.5;
const HUMP = 0.5;
const SHORT_HUMP = 2;
const SEQUENCE_DISCOUNT = 2;

function classOf(code: number): number {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  return SEPARATOR;
}

function pairSurprise(firstCode: number, secondCode: number): number {
  const pair = ((firstCode | 32) - 97) * 26 + (secondCode | 32) - 97;
  return PAIR_SURPRISE.charCodeAt(pair) - ZERO_SURPRISE;
}

const ZERO_SURPRISE = "e".charCodeAt(0);

// One row a first letter, one column a second: how many bits rarer ("f" is one, "j" five) or commoner
// ("d" is one, "a" four) the pair is in program words and documentation than in evenly drawn letters.
const PAIR_SURPRISE = [
  "dddefgeiehfdediefddcfghhfi",
  "ceffdgggdggcgidggeefdiijfi",
  "chfhciidejdehichgefcejijgj",
  "dfgebfgichifhhdheeegeihhgj",
  "egdcfffhgiieechfgccehfhehj",
  "dffgcchjbjidhgcjieffeiijfj",
  "dgggbfeddjidfdefhdefeihjgi",
  "chhfbjijciigfgcihdfdfjijfj",
  "dfdeeeejijieebdfhfddjejgjf",
  "cefdcghhehghjiehfgbjdjhjij",
  "cgffbgfgcjffhfgffgcffigjhj",
  "cggebghicjidiidghieeegjjdj",
  "cehgbiijcjieehdcjhfgejjjhj",
  "dgdddfcheigggfegjhdcffijhj",
  "ffeehgfjfhgddbfejceedfehij",
  "cihgciheejidhicdjcedeijjgj",
  "cdfhdfgjfejghfhjcffhbgigff",
  "cgffbgfjcjggefdhieddfgijfj",
  "eiehcghecjgfggedhhdcdfhgfj",
  "djfhbhiebjjgfidgjddeejhjej",
  "deefdffiejjddcgdjcddijjhjj",
  "cghiajdicijhijeijiggiijjij",
  "cgggchgdcjhfjddgjddfhjghii",
  "ehdgcfjgcijhegfcggfbgjiggj",
  "efdgdffidjiedcebjgdehjfhih",
  "cfhhahjgdghggjeggjjjijgjfe",
].join("");
