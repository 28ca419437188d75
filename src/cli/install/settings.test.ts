import { parse } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { withOurs, withoutOurs } from "./claude-code.ts";
import { withTrust } from "./codex.ts";

const SETTINGS = [
  "{}",
  '{\n    "model":   "sonnet",\n  "env": { "A": "1" }, "list": [1,\n 2]\n}\n',
  '{\n\t"enabledPlugins": { "other@x": true }\n}\n',
];

describe("the user's settings of Claude Code", () => {
  it.each(SETTINGS)("come back byte for byte: %j", (text) => {
    const ours = withOurs(text, { folder: "/f" });
    expect(parse(ours)).toMatchObject({
      enabledPlugins: { "carryover@carryover": true },
      extraKnownMarketplaces: { carryover: { source: { source: "directory", path: "/f" } } },
    });
    expect(withOurs(ours, { folder: "/f" })).toBe(ours);
    expect(withoutOurs(ours)).toBe(text);
  });
});

describe("the trust of hooks in Codex's configuration", () => {
  const TEXT =
    '# mine\nmodel =   "x"  # keep\n\n[hooks.state."/other:stop:0:0"]\ntrusted_hash = "sha256:1"\n\n[tui]\n a = 1\n';
  const HOOKS = [{ key: "carryover@carryover:hooks/codex.json:stop:0:0", hash: "sha256:2/sha256:3" }];

  it("is added behind everything else, once, and taken out again", () => {
    const trusted = withTrust(TEXT, HOOKS);
    expect(trusted.startsWith(TEXT)).toBe(true);
    expect(trusted).toContain(
      '[hooks.state."carryover@carryover:hooks/codex.json:stop:0:0"]\ntrusted_hash = "sha256:2"\ntrusted_content_hash = "sha256:3"',
    );
    expect(withTrust(trusted, HOOKS)).toBe(trusted);
    expect(withTrust(trusted, []).trim()).toBe(TEXT.trim());
  });
});
