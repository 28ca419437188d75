import { sessionShape } from "../../src/session/options.ts";
import { acceptedKeys, type Rules } from "../../src/text/check.ts";
import { fieldsOf } from "./settings-page.ts";
import { SURFACES } from "./surfaces.ts";

// How many keys are accepted: npm run options:count. A section of docs/settings.md is a surface or a part of one; the tests
// hold that the page has every option, and that types and checks have the same keys.

/** Every key of a shape and of the objects in it, but for the facts about models, which are data. */
function keysIn(shape: Rules): readonly string[] {
  return acceptedKeys(shape).flatMap((key) => {
    const inner = key === "models" ? undefined : shape[key]?.shape;
    return [key, ...(inner === undefined ? [] : keysIn(inner).map((each) => `${key}.${each}`))];
  });
}

const sections = SURFACES.map((surface) => ({
  title: surface.title,
  isDocumented: surface.profile === "documented",
  keys: fieldsOf(surface).map(({ name }) => name),
}));
const line = (count: number, what: string): void => console.log(`${String(count).padStart(4)}  ${what}`);

for (const { title, keys } of sections) line(keys.length, title);
console.log();
line(keysIn(sessionShape({})).length, "keys that a session accepts, those in objects included");
line(
  keysIn(sessionShape({ profile: "documented" })).length,
  'keys that a session with profile "documented" accepts',
);
console.log();

const keysOf = (isDocumented: boolean) =>
  sections.filter((each) => each.isDocumented === isDocumented).flatMap(({ keys }) => keys);
const [documented, others] = [keysOf(true), keysOf(false)];
line(documented.length + others.length, "rows of docs/settings.md");
line(documented.length, 'of them for profile "documented" and carryover/documented alone');
line(others.length, "others");
line(new Set(others).size, "different names among the others");
line(new Set([...documented, ...others]).size, "different names in all");
