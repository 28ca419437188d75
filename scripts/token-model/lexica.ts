import { englishWords } from "./english-words.ts";
import { heldOutEnglish } from "./held-out-english.ts";
import { heldOutPhrases } from "./held-out-phrases.ts";
import type { Lexicon } from "./lexicon.ts";
import { scriptPhrases } from "./script-phrases.ts";

/** What the constants are fitted on. */
export const fittedLexicon: Lexicon = { english: englishWords, scripts: scriptPhrases };

/** What the constants are judged on. */
export const heldOutLexicon: Lexicon = { english: heldOutEnglish, scripts: heldOutPhrases };
