import { describe, expect, it } from "vitest";
import type { Message } from "../transcript/message.ts";
import { fileAccess, fileChanges, listFiles, newestFiles, recordFiles } from "./file-access.ts";

const call = (tool: string, input: unknown, output: string | null = ""): Message => ({
  id: "m",
  role: "assistant",
  parts: [
    {
      type: "tool",
      callId: "c",
      tool,
      input,
      outcome:
        output === null ? { status: "failed", error: "no" } : { status: "done", output, attachments: [] },
    },
  ],
});
const NONE = { filesRead: [], filesChanged: [], filesCreated: [], filesDeleted: [] };
const same = (path: string): string => path;

/** What commands do, as `A` written, `M` changed, `D` deleted. */
const changesOf = (tool: string, input: unknown): string =>
  fileChanges({ tool, input, outcome: { status: "done", output: "", attachments: [] } })
    .map(({ type, path }) => `${{ read: "R", write: "A", change: "M", delete: "D" }[type]} ${path}`)
    .join(", ");

describe("the ledger of files", () => {
  it("holds files by what was done to each last, in calls that succeeded", () => {
    const messages = [
      call("read", { filePath: "b.ts" }),
      call("edit", { filePath: "c.ts", oldString: "", newString: "" }),
      call("write", { file_path: "d.ts", content: "" }),
      call("write", { file_path: "new.ts", content: "" }),
      call("Bash", { command: "rm gone.ts" }),
      call("edit", { filePath: "never.ts" }, null),
      call("bash", { command: "cat e.ts" }),
    ];
    expect(recordFiles({ filesRead: ["a.ts", "d.ts"], filesChanged: [] }, messages, same)).toEqual({
      filesRead: ["a.ts", "b.ts"],
      filesChanged: ["c.ts", "d.ts"],
      filesCreated: ["new.ts"],
      filesDeleted: ["gone.ts"],
    });
  });

  it("goes on from what was carried: a created file that is edited stays created, a moved one is at its new place", () => {
    const carried = {
      filesRead: [],
      filesChanged: ["/w/m.ts"],
      filesCreated: ["/w/a.ts"],
      filesDeleted: ["/w/d.ts"],
    };
    const messages = [
      call("edit", { filePath: "/w/a.ts", oldString: "", newString: "" }),
      call("write", { file_path: "/w/d.ts", content: "" }),
      call("bash", { command: "cd /w && git mv m.ts n.ts" }),
    ];
    expect(recordFiles(carried, messages, same)).toEqual({
      filesRead: [],
      filesChanged: [],
      filesCreated: ["/w/a.ts", "/w/d.ts", "/w/n.ts"],
      filesDeleted: ["/w/m.ts"],
    });
  });

  it("believes a tool that says whether a file was there", () => {
    const write = { file_path: "a.ts", content: "" };
    expect(recordFiles(NONE, [call("Write", write, "The file a.ts has been updated.")], same)).toEqual({
      ...NONE,
      filesChanged: ["a.ts"],
    });
  });

  it("takes a relative path of a command for the one file that is known by its whole path", () => {
    const carried = { filesRead: [], filesChanged: ["/w/src/a.ts", "/w/x/b.ts", "/w/y/b.ts"] };
    const messages = [call("bash", { command: "rm src/a.ts b.ts" })];
    expect(recordFiles(carried, messages, same).filesDeleted).toEqual(["/w/src/a.ts", "b.ts"]);
  });

  it("knows that what is in a deleted folder is gone", () => {
    const carried = { filesRead: ["out/r.ts"], filesChanged: ["out/a.ts", "output.ts"] };
    expect(recordFiles(carried, [call("bash", { command: "rm -rf out/" })], same)).toEqual({
      filesRead: [],
      filesCreated: [],
      filesChanged: ["output.ts"],
      filesDeleted: ["out/r.ts", "out/a.ts", "out"],
    });
  });

  it("passes over what the model does not see", () => {
    const [seen, other] = [call("read", { path: "a.ts" }), call("read", { path: "b.ts" })];
    const hidden = { ...seen, metadata: { agentVisible: false } };
    const hiddenPart = {
      ...other,
      parts: other.parts.map((part) => ({ ...part, agentVisible: false as const })),
    };
    expect(recordFiles(NONE, [hidden, hiddenPart], same)).toEqual(NONE);
  });

  it("takes a deleted file that is read for one that is there, a created one for created", () => {
    const carried = {
      ...NONE,
      filesDeleted: ["/w/a.ts"],
      filesCreated: ["/w/b.ts"],
      filesChanged: ["/w/c.ts"],
    };
    const messages = ["/w/a.ts", "/w/b.ts", "/w/c.ts"].map((path) => call("read", { path }));
    expect(recordFiles(carried, messages, same)).toEqual({
      ...NONE,
      filesRead: ["/w/a.ts"],
      filesCreated: ["/w/b.ts"],
      filesChanged: ["/w/c.ts"],
    });
  });

  it("keeps a path of its own apart, and none where nothing is left of it", () => {
    const carried = { ...NONE, filesRead: ["/w/a.ts", "a.ts"] };
    expect(recordFiles(carried, [call("write", { path: "a.ts", content: "" })], same).filesChanged).toEqual([
      "a.ts",
    ]);
    const inRoot = { ...NONE, filesRead: ["/w/a.ts"] };
    expect(recordFiles(inRoot, [call("write", { path: "/a.ts", content: "" })], same).filesCreated).toEqual([
      "/a.ts",
    ]);
    expect(recordFiles(inRoot, [call("read", { path: "b.ts" })], () => "")).toEqual(inRoot);
  });

  it("holds the newest 300 of a kind", () => {
    const messages = Array.from({ length: 320 }, (_, number) => call("read", { path: `${number}.ts` }));
    const { filesRead } = recordFiles(NONE, messages, same);
    expect(filesRead).toHaveLength(300);
    expect(filesRead.at(0)).toBe("20.ts");
  });

  it("gives way for its newest files, those that were only read first", () => {
    const files = {
      filesRead: ["r1", "r2"],
      filesCreated: ["c1", "c2"],
      filesChanged: ["m1"],
      filesDeleted: ["d1"],
    };
    expect(newestFiles(files, 24)).toEqual(files);
    expect(newestFiles(files, 23)).toEqual({ ...files, filesRead: ["r2"] });
    expect(newestFiles(files, 12)).toEqual({ ...files, filesRead: [], filesCreated: ["c2"] });
    expect(newestFiles({ filesRead: ["r1"], filesChanged: [] }, 4)).toEqual({ ...NONE, filesRead: ["r1"] });
  });

  it("is a line for each list with files", () => {
    const files = { filesRead: ["r1", "r2"], filesChanged: [], filesDeleted: ["d1"] };
    expect(listFiles(files, (path) => `<${path}>`)).toEqual([
      "Files deleted: <d1>",
      "Files read: <r1>, <r2>",
    ]);
  });

  it("names no file for inputs that cannot be read", () => {
    const trap = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no");
        },
      },
    );
    const messages = [
      call("apply_patch", trap),
      call("edit", null),
      call("bash", null),
      call("bash", { command: 3 }),
    ];
    expect(recordFiles(NONE, messages, same)).toEqual(NONE);
  });
});

describe("what a patch does to files", () => {
  const patch =
    "*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** Add File: src/b.ts\n+x\n*** Delete File: c.ts\n*** Update File: old.ts\n*** Move to: new.ts\n*** End Patch";
  const expected = "M src/a.ts, A src/b.ts, D c.ts, D old.ts, A new.ts";

  it.each([
    { name: "as a field of the input", tool: "apply_patch", input: { patchText: patch }, changes: expected },
    { name: "as the whole input", tool: "apply_patch", input: patch, changes: expected },
    {
      name: "given to a command",
      tool: "shell",
      input: { command: ["bash", "-lc", `apply_patch <<'EOF'\n${patch}\nEOF`] },
      changes: expected,
    },
    {
      name: "as a unified diff",
      tool: "apply_diff",
      input: {
        diff: "--- a/m.ts\n+++ b/m.ts\n@@\n--- /dev/null\n+++ b/n.ts\n@@\n--- a/d.ts\n+++ /dev/null\n",
      },
      changes: "M m.ts, A n.ts, D d.ts",
    },
  ])("$name", ({ tool, input, changes }) => {
    expect(changesOf(tool, input)).toBe(changes);
  });
});

describe("what commands do to files", () => {
  it.each([
    ["rm a.ts", "D a.ts"],
    ["rm -f ./a.ts 'b c.ts'", "D a.ts, D b c.ts"],
    ["rm -rf dist && npm run build", "D dist"],
    ["git rm --quiet a.ts", "D a.ts"],
    ["git rm --cached a.ts", ""],
    ["mv a.ts b.ts", "A b.ts, D a.ts"],
    ["mv a.ts lib/b.ts src/", "A src/a.ts, D a.ts, A src/b.ts, D lib/b.ts"],
    ["mv /w/todo/a.md /w/done/", "A /w/done/a.md, D /w/todo/a.md"],
    ["git mv -k a.ts b.ts", "A b.ts, D a.ts"],
    ["cp a.ts b.ts", "A b.ts"],
    ["cp a.ts .", "A a.ts"],
    ["touch a.ts b.ts", "A a.ts, A b.ts"],
    ["echo hi > a.txt", "A a.txt"],
    ["echo hi >> a.txt", "M a.txt"],
    ["echo hi>a.txt", "A a.txt"],
    ["make 2>&1 | tee -a log.txt", "M log.txt"],
    ["make > out.log 2> err.log", "A err.log, A out.log"],
    ["make &> all.log", "A all.log"],
    ["make 2>/dev/null >&2", ""],
    ["sort < a.txt > b.txt", "A b.txt"],
    ["tee b.txt < a.txt", "A b.txt"],
    ["sed -i 's/a/b/' x.ts y.ts", "M x.ts, M y.ts"],
    ["sed -i '' 's|a|b|g' x.ts", "M x.ts"],
    ["sed -i.bak -e 's/a/b/' -e 's/c/d/' x.ts", "M x.ts"],
    ["sed -n '1,3p' x.ts", ""],
    ["cd /w/app && rm a.ts", "D /w/app/a.ts"],
    ["cd src; cd lib; rm ./a.ts /b.ts", "D src/lib/a.ts, D /b.ts"],
    ['cd "$ROOT" && rm a.ts', ""],
    ["rm *.log $FILE `ls` {a,b}.ts", ""],
    ['for f in *.ts; do mv "$f" src/; done', ""],
    ["if test -f a; then rm a.ts; fi", "D a.ts"],
    ["FOO=1 sudo rm a.ts", "D a.ts"],
    ["cat > a.sh <<'EOF'\nrm -rf b\necho x > c\nEOF\nrm d", "A a.sh, D d"],
    ["cat <<EOF >> a.md\n> quoted\nEOF", "M a.md"],
    ['git commit -m "$(cat <<\'EOF\'\nSay "rm x" > y\nEOF\n)" && rm z', "D z"],
    ['git commit -m "rm a.ts > b"', ""],
    ["grep -n 'a > b' x.ts", ""],
    ["cat <<< word > a.txt", "A a.txt"],
    ["rm a.ts # and rm b.ts", "D a.ts"],
    ["echo rm a.ts", ""],
    ["if [ 3 -gt 2 ]; then echo; fi", ""],
    ["rm \\\n  a.ts", "D a.ts"],
    ["rm a\\ b.ts", "D a b.ts"],
    ["echo 'unclosed > x", ""],
    ["", ""],
  ])("%s", (command, changes) => {
    expect(changesOf("Bash", { command })).toBe(changes);
  });

  it("are read in the fields and forms that agents use", () => {
    expect(changesOf("exec_command", { cmd: "rm a" })).toBe("D a");
    expect(changesOf("shell", { command: ["rm", "a"] })).toBe("D a");
    expect(changesOf("local_shell", "rm a")).toBe("D a");
    expect(changesOf("web_search", { command: "rm a" })).toBe("");
  });
});

describe("the lines that a read asks for", () => {
  it.each([
    [{ path: "a.ts" }, [0, Infinity]],
    [{ path: "a.ts", offset: 5, limit: 10 }, [5, 10]],
    [{ path: "a.ts", offset: "5", limit: " 10 " }, [5, 10]],
    [{ path: "a.ts", offset: null, limit: null }, [0, Infinity]],
    [{ path: "a.ts", start_line: 3, end_line: 7 }, [3, 5]],
    [{ path: "a.ts", start_line: 3, end_line: 7, limit: 2 }, [3, 2]],
    [{ path: "a.ts", view_range: [3, -1] }, [3, Infinity]],
    [{ path: "a.ts", view_range: [3, 4] }, [3, 2]],
    [{ path: "a.ts", view_range: "3-4" }, undefined],
    [{ path: "a.ts", view_range: ["x", 4] }, undefined],
    [{ path: "a.ts", view_range: [1, "x"] }, undefined],
    [{ path: "a.ts", limit: "many" }, undefined],
    [{ path: "a.ts", offset: " " }, undefined],
    [{ path: "a.ts", offset: [2] }, undefined],
    [{ path: "" }, undefined],
    [{ path: 5 }, undefined],
    [{}, undefined],
  ])("%j", (input, lines) => {
    const access = fileAccess({ tool: "read", input });
    expect(access?.type === "read" ? [access.startLine, access.maxLines] : access).toEqual(lines);
  });

  it("depend on the other settings, and on nothing else", () => {
    const question = (input: object): unknown => {
      const access = fileAccess({ tool: "read", input });
      return access?.type === "read" ? access.question : undefined;
    };
    const plain = question({ path: "a.ts" });
    expect(question({ path: "a.ts", offset: 3, limit: 9, description: "why" })).toBe(plain);
    expect(question({ path: "a.ts", encoding: "latin1" })).not.toBe(plain);
    expect(question({ path: "a.ts", encoding: 1n })).toBeUndefined();
  });
});

describe("what a tool does to its file", () => {
  it.each([
    ["write", { path: "a.ts", content: "x" }, { type: "write", path: "a.ts" }],
    ["write-file", { filePath: ".//./a.ts", contents: "x" }, { type: "write", path: "a.ts" }],
    ["Write", { path: "a/./b.ts", content: "x" }, { type: "write", path: "a/./b.ts" }],
    ["write", { path: "a.ts", content: "x", append: true }, { type: "edit", path: "a.ts" }],
    ["write", { path: "a.ts", content: "x", append: false }, { type: "write", path: "a.ts" }],
    ["write", { path: "a.ts", content: "x", mode: "append" }, { type: "edit", path: "a.ts" }],
    ["write", { path: "a.ts", content: 5 }, { type: "edit", path: "a.ts" }],
    ["write", { path: null, file: "b.ts", content: "x" }, { type: "write", path: "b.ts" }],
    ["write", { path: "./", content: "x" }, { type: "edit" }],
    [
      "str_replace_editor",
      { command: "create", path: "a.ts", file_text: "x" },
      { type: "write", path: "a.ts" },
    ],
    ["str_replace_editor", { command: "insert", path: "a.ts", text: "x" }, { type: "edit", path: "a.ts" }],
    ["str_replace_editor", { command: "view", path: "a.ts" }, expect.objectContaining({ type: "read" })],
    ["think", { path: "a.ts", content: "x" }, undefined],
    ["write", "a.ts", undefined],
  ])("%s %j", (tool, input, expected) => {
    expect(fileAccess({ tool, input })).toEqual(expected);
  });
});
