import { text } from "node:stream/consumers";
import { PLAIN, type Place, play } from "./play.ts";
import type { Script } from "./script.ts";

// Goes on with scripts where another process left them, and prints what the sessions told.
const given = JSON.parse(await text(process.stdin)) as readonly { script: Script; place: Place }[];
const told: unknown[] = [];
for (const { script, place } of given) told.push((await play(script, PLAIN, place)).told);
process.stdout.write(JSON.stringify(told));
