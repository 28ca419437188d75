import fc from "fast-check";
import { it } from "vitest";
import { anyHistory } from "../../test/support/opencode-arbitrary.ts";
import { opencode } from "../formats/opencode/opencode.ts";
import { planCompaction } from "./plan-compaction.ts";
import { deepFreeze } from "../testing/deep-freeze.ts";
it("x", () => {
  let worst=0;
  for (const [h,l] of fc.sample(fc.tuple(anyHistory,anyHistory), 300)) {
    const t=[...opencode.decode(h), ...opencode.decode(l)];
    const seen=new Set(); const u=t.filter(m=>!seen.has(m.id)&&seen.add(m.id));
    const s=performance.now();
    deepFreeze(u);
    const a = performance.now();
    const p = planCompaction({transcript:u,trigger:"manual",tailTokens:1});
    const d=performance.now()-a;
    if(d>worst){worst=d;console.log(d, a-s, u.length, p.status);}
  }
});
