import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { SpillRef, SpillStore } from "../../tool-output/spill.ts";
import type { DriverUnderTest, TestRunner } from "./test-runner.ts";

/** Tests that a driver keeps the contract of the port SpillStore. */
export function spillStoreContract({ describe, it }: TestRunner, driver: DriverUnderTest<SpillStore>): void {
  describe(`${driver.name} as a SpillStore`, () => {
    it("gives back exactly the text that was put", async () => {
      const store = (await driver.createPlace()).open();
      for (const text of texts) {
        const { handle } = await putStored(store, text);
        assert.ok((await store.get(handle)) === text, `the text of ${text.length} units came back changed`);
      }
    });

    it("counts and hashes the bytes of the text", async () => {
      const store = (await driver.createPlace()).open();
      for (const text of [...texts, "lone \ud800 surrogate"]) {
        const bytes = Buffer.from(text);
        const stored = await putStored(store, text);
        assert.equal(stored.bytes, bytes.byteLength);
        assert.equal(stored.sha256, createHash("sha256").update(bytes).digest("hex"));
      }
    });

    it("gives the replacement character for a lone surrogate", async () => {
      const store = (await driver.createPlace()).open();
      const { handle } = await putStored(store, "a\ud800b\udc00");
      assert.equal(await store.get(handle), "a\ufffdb\ufffd");
    });

    it("gives the same handle for the same content, as text or as bytes", async () => {
      const store = (await driver.createPlace()).open();
      const first = await putStored(store, "the same ✓");
      const again = await putStored(store, "the same ✓");
      const bytes = await putStored(store, new TextEncoder().encode("the same ✓"));
      assert.deepEqual([again.handle, bytes.handle], [first.handle, first.handle]);
      assert.notEqual((await putStored(store, "other")).handle, first.handle);
    });

    it("keeps bytes that are not UTF-8 and decodes them with replacement", async () => {
      const store = (await driver.createPlace()).open();
      const content = Uint8Array.of(0x61, 0xff, 0x62, 0xe2, 0x82);
      const stored = await putStored(store, content);
      assert.equal(stored.sha256, createHash("sha256").update(content).digest("hex"));
      assert.equal(await store.get(stored.handle), "a\ufffdb\ufffd");
    });

    it("does not change when the caller's bytes do", async () => {
      const store = (await driver.createPlace()).open();
      const content = Uint8Array.of(0x61, 0x62, 0x63);
      const { handle } = await putStored(store, content);
      content.fill(0x7a);
      assert.equal(await store.get(handle), "abc");
    });

    it("has nothing under a handle that it did not give", async () => {
      const store = (await driver.createPlace()).open();
      await putStored(store, "something");
      for (const handle of ["", "..", "../x", "a\0b", "__proto__", "f".repeat(64), "x".repeat(450)]) {
        assert.equal(await store.get(handle), undefined);
      }
    });

    it("keeps everything that is put at the same time", async () => {
      const place = await driver.createPlace();
      const stores = [place.open(), place.open()];
      const contents = Array.from({ length: 40 }, (_, index) => `content ${index % 20}`);
      const put = contents.map((content, index) => putStored(stores[index % 2] ?? place.open(), content));
      const handles = (await Promise.all(put)).map((stored) => stored.handle);
      const read = await Promise.all(handles.map((handle) => place.open().get(handle)));
      assert.deepEqual(read, contents);
    });
  });
}

async function putStored(store: SpillStore, content: string | Uint8Array): Promise<SpillRef> {
  const outcome = await store.put(content);
  if (outcome.status === "failed") assert.fail(`${outcome.code}: ${outcome.reason}`);
  return outcome;
}

const texts: readonly string[] = [
  "",
  "plain",
  "line\r\nline\n\n",
  "\ufeffwith a byte order mark",
  "NUL \0 and escape \u001b[31m",
  "e\u0301 é 😀 👩‍👩‍👧 ✓ 漢字",
  // Longer than any driver's piece, with every kind of character at the seams.
  "a😀".repeat(400_000),
  "漢".repeat(500_001),
  `x${"😀".repeat(300_001)}`,
];
